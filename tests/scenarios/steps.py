"""Steps that many scenarios share; those that rules share, too, are `kcoord.check.steps`."""

import os

import pytest

from kcoord.check.steps import (
    Stopwatch,
    assert_refused,
    assert_sync_refused,
    beating,
    generation_of_next,
    start_in_order,
    state_of,
)
from tests.scenarios.harness import World

LONG = "SCENARIOS_LONG"
"""Set this variable to run what takes more than a minute against a foreign broker, too."""


def skip_if_long(world: World, seconds: float) -> None:
    """Skip against a foreign broker what takes more than a minute there."""
    if world.external is not None and seconds > 60 and LONG not in os.environ:
        pytest.skip(f"takes {seconds:.0f} s in real time; set {LONG} to run it")


__all__ = [
    "Stopwatch",
    "assert_refused",
    "assert_sync_refused",
    "beating",
    "generation_of_next",
    "skip_if_long",
    "start_in_order",
    "state_of",
]
