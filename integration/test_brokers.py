"""Three logical brokers with real clients: they find the coordinator again, and their group is the same as before."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from integration.test_fixture import CLIENTS, Process, held, stable
from integration.waiting import eventually
from kcoord.notices import CoordinatorMoved
from kcoord.testing import Kcoord
from kcoord.timeline.events import Beats, Noted

PARTITIONS = 6


@pytest.fixture(scope="module")
def kcoord_config() -> dict[str, Any]:
    return {"topics": {"t": PARTITIONS}, "brokers": 3}


@pytest.fixture(params=list(CLIENTS))
def start(request: pytest.FixtureRequest, kcoord: Kcoord) -> Iterator[Callable[[str], Process]]:
    """Start consumers of one kind."""
    started: list[Process] = []

    def start(name: str) -> Process:
        config = {"bootstrap_servers": kcoord.bootstrap, "group_id": "g", "client_id": name}
        started.append(Process(CLIENTS[request.param], **config))
        return started[-1]

    yield start
    for each in started:
        each.crash()


def both_heartbeat_there(kcoord: Kcoord) -> bool:
    """Whether both members found the broker to which their coordinator moved, and it takes their heartbeats."""
    events = kcoord.timeline("g").events
    moved = max(event.at for event in events if isinstance(event, Noted) and isinstance(event.note, CoordinatorMoved))
    good = {
        event.client_id for event in events if isinstance(event, Beats) and event.error == "NONE" and event.at > moved
    }
    return good == {"a", "b"}


def test_a_group_whose_coordinator_moves_goes_on_as_it_was(start: Callable[[str], Process], kcoord: Kcoord) -> None:
    start("a"), start("b")
    before = stable(kcoord, 2)
    assert sorted(partition for mine in held(before).values() for partition in mine) == list(range(PARTITIONS))
    there = kcoord.brokers.move("g", loading=1).node_id
    assert there != before.coordinator
    eventually(lambda: both_heartbeat_there(kcoord), lambda: kcoord.timeline("g"))
    after = stable(kcoord, 2)
    assert (after.coordinator, after.generation) == (there, before.generation)
    assert held(after) == held(before)


def test_a_group_goes_on_when_its_broker_stops_and_comes_back(start: Callable[[str], Process], kcoord: Kcoord) -> None:
    start("a"), start("b")
    before = stable(kcoord, 2)
    kcoord.brokers.stop(before.coordinator)
    assert stable(kcoord, 2).generation == before.generation
    kcoord.group("g").rebalance("to hear of everybody at the new coordinator")
    after = stable(kcoord, 2, before.generation + 1)
    assert after.coordinator != before.coordinator
    assert {each.client_id for each in after.members} == {"a", "b"}
    assert sorted(partition for mine in held(after).values() for partition in mine) == list(range(PARTITIONS))
    assert kcoord.brokers.start(before.coordinator).running
    story = kcoord.timeline("g").text()
    assert f"broker {before.coordinator} is stopped" in story
    assert f"broker {before.coordinator} is started" in story
