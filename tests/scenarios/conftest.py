"""The rules are run here under virtual time, so that a wait of 45 s costs nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.scenarios.harness import no_jumps_while_threads_work


def run_in_virtual_time(main, *args, clock=None, instruments=()):
    """`trio.run` on a clock that jumps over every wait."""
    virtual = trio.testing.MockClock(autojump_threshold=0) if clock is None else clock
    return trio.run(main, *args, clock=virtual, instruments=instruments)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.trio(run=run_in_virtual_time))


@pytest.fixture(autouse=True)
def time_stands_still_while_threads_work() -> Iterator[None]:
    """A thread takes real time, in which a clock that jumps would be past every deadline."""
    with no_jumps_while_threads_work():
        yield
