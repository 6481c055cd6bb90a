"""Groups brought into a certain state, by nothing but requests and time; and time that passes in it."""

from dataclasses import dataclass, field
from typing import Any

from .driver import Call, Driver


@dataclass(slots=True)
class Situation:
    """A group in a certain state, and who is in it (in the order of joining)."""

    driver: Driver
    group: str
    generation: int
    members: list[str]
    instances: list[str | None] = field(default_factory=list)
    joins: list[Call] = field(default_factory=list)
    """Requests that are still held."""

    @property
    def leader(self) -> str:
        return self.members[0]


A1 = b"assignment one"
A2 = b"assignment two"


def completing1(driver: Driver, group: str = "g", **how: Any) -> Situation:
    """One dynamic member that has not synced: generation 1, CompletingRebalance."""
    call = driver.enter(group, "m1", **how)
    driver.advance(driver.settings.group_initial_rebalance_delay_ms / 1000)
    assert (call.error, call.response.generation_id) == (0, 1)
    return Situation(driver, group, 1, [call.response.member_id])


def stable1(driver: Driver, group: str = "g", **how: Any) -> Situation:
    """One dynamic member: generation 1, Stable, assignment A1."""
    made = completing1(driver, group, **how)
    assert driver.sync(group, made.leader, 1, {made.leader: A1}).error == 0
    return made


def completing2(driver: Driver, group: str = "g", **how: Any) -> Situation:
    """A dynamic leader and a follower, neither of which has synced: generation 2, CompletingRebalance."""
    made = stable1(driver, group, **how)
    second = driver.enter(group, "m2", **how)
    assert second.parked
    first = driver.join(group, "m1", member_id=made.leader, **how)
    assert (first.error, second.error) == (0, 0)
    return Situation(driver, group, 2, [made.leader, second.response.member_id])


def stable2(driver: Driver, group: str = "g", **how: Any) -> Situation:
    """A dynamic leader and a follower: generation 2, Stable, assignments A1 and A2."""
    made = completing2(driver, group, **how)
    m1, m2 = made.members
    held = driver.sync(group, m2, 2)
    assert held.parked
    assert driver.sync(group, m1, 2, {m1: A1, m2: A2}).response.assignment == A1
    assert held.response.assignment == A2
    return made


def static2(driver: Driver, group: str = "g", **how: Any) -> Situation:
    """Two static members, i1 (the leader) and i2: generation 1, Stable, assignments A1 and A2."""
    first = driver.join(group, "c1", instance="i1", **how)
    second = driver.join(group, "c2", instance="i2", **how)
    # The second member came during the initial delay and buys another one.
    driver.advance(2 * driver.settings.group_initial_rebalance_delay_ms / 1000)
    s1, s2 = first.response.member_id, second.response.member_id
    assert driver.sync(group, s1, 1, {s1: A1, s2: A2}, instance="i1").error == 0
    assert driver.sync(group, s2, 1, instance="i2").response.assignment == A2
    return Situation(driver, group, 1, [s1, s2], ["i1", "i2"])


def preparing(driver: Driver, group: str = "g", **how: Any) -> Situation:
    """STABLE2 and a third member whose JoinGroup is held; the first two have not joined again."""
    made = stable2(driver, group, **how)
    third = driver.enter(group, "m3", **how)
    assert third.parked
    made.members.append(third.request.member_id)
    made.joins = [third]
    return made


def beat(driver: Driver, group: str, generation: int, *members: str, seconds: float, every: float = 5.0) -> None:
    """Let time pass while these members send heartbeats, each of which is answered with no more than a rebalance."""
    end = driver.now.mono + seconds
    while driver.now.mono < end:
        for member_id in members:
            assert driver.heartbeat(group, member_id, generation).error in (0, 27)
        driver.advance(min(every, end - driver.now.mono))
