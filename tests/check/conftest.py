"""Fixtures of the tests of `kcoord check`: a server in this process, brokers that are wrong, and scripts to run."""

import importlib.util
import inspect
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from kcoord.check.asserts import Loader
from kcoord.check.rule import make
from kcoord.config import Config
from kcoord.serve import serve
from tests.scenarios.harness import opener_to

SCRIPTS = Path(__file__).parent / "rules" / "scripts.py"


def run_in_virtual_time(main, *args, clock=None, instruments=()):
    virtual = trio.testing.MockClock(autojump_threshold=0) if clock is None else clock
    return trio.run(main, *args, clock=virtual, instruments=instruments)


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents and inspect.iscoroutinefunction(item.obj):
            item.add_marker(pytest.mark.trio(run=run_in_virtual_time))


@pytest.fixture(scope="session")
def scripts():
    """The scripts in rules/scripts.py, loaded as those of the package are."""
    spec = importlib.util.spec_from_file_location("scripts", SCRIPTS, loader=Loader("scripts", str(SCRIPTS)))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rule_of(scripts):
    """Make a rule of one of these scripts."""

    def of(name, **parts):
        usual = {"id": name, "api": "Heartbeat", "says": f"{name} is so.", "source": "KIP-0", "versions": "0-4"}
        return make(getattr(scripts, name), **(usual | parts))

    return of


@asynccontextmanager
async def server(settings=None, topics=None):
    """Run a server in this process; yield what connects to it."""
    config = replace(Config.from_settings(settings or {}, topics or {}), listeners=())
    async with trio.open_nursery() as nursery:
        running = await nursery.start(serve, config)
        yield opener_to(running, nursery)
        nursery.cancel_scope.cancel()
