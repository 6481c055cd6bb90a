"""Fixtures of the scenarios: the world each runs in, and the time that goes with it."""

import functools
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.scenarios.harness import open_world


def external_address(config: pytest.Config) -> tuple[str, int] | None:
    bootstrap = config.getoption("--bootstrap")
    if bootstrap is None:
        return None
    host, _, port = bootstrap.rpartition(":")
    return host.strip("[]"), int(port)


def run_in_virtual_time(main, *args, clock=None, instruments=()):
    """`trio.run` on a clock that jumps over every wait."""
    virtual = trio.testing.MockClock(autojump_threshold=0) if clock is None else clock
    return trio.run(main, *args, clock=virtual, instruments=instruments)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if external_address(config) is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.trio(run=run_in_virtual_time))


@pytest.fixture
async def world(request: pytest.FixtureRequest):
    """A world with Kafka's default settings."""
    async with open_world(external_address(request.config)) as opened:
        yield opened


@pytest.fixture
def make_world(request: pytest.FixtureRequest):
    """Open worlds with settings of their own: `async with make_world(group_max_size=2) as world`.

    A foreign broker has the settings it has: the scenario runs there if `--broker-setting` names the same ones.
    """
    external = external_address(request.config)
    if external is None:
        return functools.partial(open_world, None)
    declared = dict(pair.split("=", 1) for pair in request.config.getoption("--broker-setting"))

    def open_external(**settings):
        if {name: str(value) for name, value in settings.items()} != declared:
            pytest.skip(f"needs a broker with {settings}")
        return open_world(external)

    return open_external
