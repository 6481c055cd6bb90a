"""Steps that many scripts share: refusals, time, heartbeats in the background."""

import math
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, TypeVar

import trio

from kcoord.check.member import Member
from kcoord.check.probe import Call, Client
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import LeaveGroupRequest

_T = TypeVar("_T")

WRITTEN: Final = 0.3
"""Seconds until a new group can be seen.

Apache Kafka answers a handshake before the group's record is written, and tells of no group before that."""
_BATCHED: Final = 3
"""The version of LeaveGroup from which on it names several members, each of which gets an answer (KIP-345)."""


def assert_refused(answer: Any, error: ErrorCode, member_id: str, version: int = 9) -> None:
    """Check a JoinGroup answer that is an error: the error, and that all else is at its default.

    The member id may also be empty here: that it comes back is a rule of its own (refusals-1).
    """
    assert ErrorCode(answer.error_code) is error
    assert answer.member_id in {member_id, ""}
    assert answer.generation_id == -1
    assert answer.leader == ""
    assert answer.members == []
    assert answer.protocol_name == (None if version >= 7 else "")
    assert answer.protocol_type is None
    assert not answer.skip_assignment


async def assert_join_refused(call: Call, error: ErrorCode, member_id: str) -> None:
    """Wait for the answer of a JoinGroup, and check it as `assert_refused` does, in the version that was sent."""
    assert_refused(await call.answer(), error, member_id, call.version)


def assert_sync_refused(answer: Any, error: ErrorCode) -> None:
    """Check a SyncGroup answer that is an error."""
    assert ErrorCode(answer.error_code) is error
    assert answer.assignment == b""
    assert answer.protocol_type is None
    assert answer.protocol_name is None


class Stopwatch:
    """Measures what the world's clock says since it was made.

    In this process a timer fires at its moment, so 50 ms are enough. A foreign broker writes before it answers, and
    shares its machine: there a second is allowed. Too early is never allowed.
    """

    def __init__(self, world: World) -> None:
        self.start = trio.current_time()
        self.tolerance = 0.05 if world.exact else 1.0

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return trio.current_time() - self.start

    def shows(self, seconds: float) -> bool:
        """Whether so many seconds have gone by, and hardly more."""
        return seconds - 0.01 <= self.seconds <= seconds + self.tolerance

    def __repr__(self) -> str:
        return f"{self.seconds:.3f} s"

    async def until(self, seconds: float) -> None:
        """Wait until so many seconds have gone by."""
        await trio.sleep(max(0, self.start + seconds - trio.current_time()))


@asynccontextmanager
async def beating(world: World, *members: Member, every: float = 1.0) -> AsyncIterator[dict[str, set[ErrorCode]]]:
    """Heartbeat for these members on a connection of its own, with what each knows at the time.

    Yields the errors that each was told so far.
    """
    client = await world.client("heart")
    told: defaultdict[str, set[ErrorCode]] = defaultdict(set)

    async def beat() -> None:
        while True:
            for member in members:
                error = await client.heartbeat(member.group, member.generation, member.id, instance=member.instance)
                told[member.id].add(error)
            await trio.sleep(every)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        yield told
        nursery.cancel_scope.cancel()


async def start_in_order(*members: Member, version: int | None = None) -> None:
    """Send each one's JoinGroup once the one before is held, so that the first leads a new group.

    Raises NotApplicable if a new group does not wait for that at this broker.
    """
    for member in members:
        member.client.names.let_wait(member.group)
        call = await member.start_join(version=version)
        assert await call.parked()


async def join_at_once(member: Member, **options: Any) -> Any:
    """Send JoinGroup and take in its answer, which must come at once; return it."""
    call = await member.start_join(**options)
    assert not await call.parked()
    return await member.finish_join()


async def restarted(world: World, member: Member, *, client_id: str = "client", **what: Any) -> Member:
    """Return a member whose client was started anew: another connection, no member id. It has not joined yet."""
    return replace(member, client=await world.client(client_id), id="", generation=-1, call=None, **what)


async def leave(client: Client, group: str, member_id: str, version: int | None = None) -> ErrorCode:
    """Send LeaveGroup for one member by its id; return what is said of that one, wherever the version has it."""
    version = client.newest(LeaveGroupRequest, 5) if version is None else version
    answer = await client.leave(group, member_id, version=version)
    if version < _BATCHED:
        return ErrorCode(answer.error_code)
    assert (answer.throttle_time_ms, answer.error_code) == (0, ErrorCode.NONE)
    assert [(one.member_id, one.group_instance_id) for one in answer.members] == [(member_id, None)]
    return ErrorCode(answer.members[0].error_code)


async def state_of(world: World, group: str) -> str:
    """Return the group's state as DescribeGroups tells it."""
    state: str = (await (await world.client()).describe(group)).group_state
    return state


async def generation_of_next(world: World, group: str, **what: Any) -> int:
    """Join as somebody new and return the generation that makes; every other member must be gone or come, too."""
    member = await world.member(group, **what)
    await member.start_join()
    await member.finish_join()
    return member.generation


async def repeat(what: Callable[[], Awaitable[_T]], seconds: float, every: float) -> list[_T]:
    """Do something every so many seconds, for so long; return what came of it each time.

    How long it takes each time does not put off the next one, so that all of it is done in time also where it takes a
    while.
    """
    start = trio.current_time()
    results = []
    for number in range(1, math.ceil(seconds / every) + 1):
        await trio.sleep_until(start + number * every)
        results.append(await what())
    return results
