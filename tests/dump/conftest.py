"""The server of the server's own tests, here with sockets."""

import pytest

from tests.server.conftest import on_loopback, start


@pytest.fixture
async def kcoord(nursery):
    """A server that forms groups at once."""
    return await start(nursery, on_loopback(group_initial_rebalance_delay_ms=0))


@pytest.fixture
async def another(nursery):
    """A second one."""
    return await start(nursery, on_loopback(group_initial_rebalance_delay_ms=0))
