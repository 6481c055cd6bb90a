"""Servers that are like a release, without sockets and under virtual time."""

from dataclasses import replace

import pytest

from kcoord.config import Config
from tests.server.conftest import start


@pytest.fixture
def like(nursery):
    """Start a server that is like a release, with further settings by Kafka's names."""

    async def started(release=None, **settings):
        texts = {name.replace("_", "."): value for name, value in settings.items()}
        if release is not None:
            texts["as.version"] = release
        config = Config.from_settings(texts, {"t": 3, "u": 1})
        return await start(nursery, replace(config, listeners=()))

    return started
