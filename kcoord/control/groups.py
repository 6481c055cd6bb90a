"""Groups: to look at, to wait for, and to interfere with."""

from collections.abc import Callable, Mapping
from typing import Any

import trio

from kcoord.broker import Broker
from kcoord.config import printable
from kcoord.control import given
from kcoord.control.errors import Impossible, NotFound, TimedOut, Unavailable, raise_for
from kcoord.control.happened import Happenings
from kcoord.control.views import GroupView, group_view
from kcoord.control.wishes import Wish, group_text, why_not
from kcoord.core.operators import (
    MOST_OFFSET,
    Expire,
    Fence,
    NewOffset,
    Operation,
    Problem,
    Rebalance,
    Remove,
    SetOffsets,
)
from kcoord.core.outcome import Context
from kcoord.core.states import GroupState
from kcoord.nodes import NOBODY
from kcoord.shard import Shard, Slot, Status
from kcoord.shown import shown
from wire.errors import ErrorCode
from wire.messages import JoinGroupRequest, LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

OPERATOR = Context(5, "operator", "/127.0.0.1")
"""Who evicts: LeaveGroup 5 names members, and has a reason (KIP-800)."""
USUAL_TIMEOUT = 10.0
"""Seconds of real time that is waited for a group, unless told otherwise."""

Offset = int | tuple[int, str] | None
"""What is to be committed: an offset, one with metadata, or None, which deletes what is committed."""


class GroupsControl:
    """All groups of a server. What is changed is durable when a method returns."""

    def __init__(self, broker: Broker, happenings: Happenings) -> None:
        self._broker = broker
        self._happenings = happenings
        self.story: Callable[[str], tuple[str, Mapping[str, Any] | None]] = self._no_story
        """Gives what happened to a group as text and as plain data, for `TimedOut`."""

    def list(self) -> tuple[GroupView, ...]:
        """Return all groups, by their ids."""
        found: list[GroupView] = []
        for shard in self._broker.shards:
            tables = shard.tables
            found += [self._view(shard, group_id) for group_id in (tables.groups if tables is not None else ())]
        return tuple(sorted(found, key=lambda view: view.group_id))

    def get(self, group_id: str) -> GroupView:
        """Return a group as it stands. Raises NotFound, Unavailable."""
        view = self._view(self._shard(group_id), group_id)
        if view.state == GroupState.DEAD.value:
            raise NotFound(f"there is no group {group_id}")
        return view

    async def wait(
        self,
        group_id: str,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        synced: bool = False,
        timeout: float = USUAL_TIMEOUT,  # noqa: ASYNC109 - it is over with a story, not with a cancelled scope
    ) -> GroupView:
        """Wait until the group is in a state, has so many members, and is in that generation or a later one.

        With `synced` it is to be Stable, and each of its members to have been given its assignment: a group is Stable
        as soon as its leader has handed the assignments in, and followers may ask for theirs a moment later.

        Returns in the moment in which it is all that is named; the group need not exist yet, and one that does not is
        Dead. It is looked at after each thing that happens to it, so a state that it only passes through may be missed:
        the generation is not. `timeout` is in seconds of real time, whatever the server's clock does.

        Raises TimedOut, with how the group looks and what happened to it last; Impossible for what no group can be.
        """
        given.group(group_id)
        wish = Wish(state=state, members=members, generation=generation, synced=synced, timeout=timeout)
        with trio.move_on_after(timeout):
            while True:
                event = self._happenings.next_of(group_id)
                view = self._view_or_none(group_id)
                if view is not None and wish.is_met_by(view):
                    # What made it so is durable then, and told to who listens.
                    await self._shard(group_id).rest()
                    return view
                await event.wait()
        view = self._view_or_none(group_id)
        if view is not None and wish.is_met_by(view):
            return view
        why = why_not(view) if view is not None else self._why_unavailable(group_id)
        sentence = f"group {group_id} did not become {wish} within {timeout:g} s: {why}."
        looks = "" if view is None else f"\n{group_text(view)}"
        text, timeline = self.story(group_id)
        raise TimedOut(f"{printable(sentence)}{looks}\n{text}", timeline)

    async def rebalance(self, group_id: str, reason: str = "") -> GroupView:
        """Let every member join again; nobody is added. Raises NotFound, Impossible without members, Unavailable."""
        return await self._operate(group_id, Rebalance(group_id, given.text("reason", reason)))

    async def expire(self, group_id: str, member: str) -> GroupView:
        """Put a member out as if its session had ended.

        `member` is a member id, an instance id, or the client id of one member alone. Raises NotFound, Impossible,
        Unavailable.
        """
        return await self._operate(group_id, Expire(group_id, given.named("a member", member)))

    async def fence(self, group_id: str, instance_id: str) -> GroupView:
        """Give a static member's place to an impostor: the member meets FENCED_INSTANCE_ID (82) from now on.

        The impostor is silent from then on: its session ends as any other. Raises NotFound, Unavailable.
        """
        given.named("an instance id", instance_id)
        impostor = Slot(JoinGroupRequest(group_id=group_id), 9)
        return await self._operate(group_id, Fence(group_id, instance_id, impostor))

    async def evict(self, group_id: str, member: str, reason: str = "evicted by an operator") -> GroupView:
        """Let a member leave, as an operator's LeaveGroup does; named as in `expire`.

        Raises NotFound, Impossible, Unavailable.
        """
        given.named("a member", member)
        given.text("reason", reason)
        view = self.get(group_id)
        found = view.member(member)
        if found is None:
            alike = sum(each.client_id == member for each in view.members)
            if alike > 1:
                raise Impossible(f"group {group_id} has {alike} members of the client id {member}: name one by its id")
            raise NotFound(f"group {group_id} has no member {member}")
        identity = MemberIdentity(member_id=found.member_id, group_instance_id=found.instance_id, reason=reason)
        request = LeaveGroupRequest(group_id=group_id, members=[identity])
        answer: LeaveGroupResponse = await self._shard(group_id).submit(OPERATOR, request)
        if answer.error_code != ErrorCode.NONE or any(each.error_code != ErrorCode.NONE for each in answer.members):
            raise Impossible(f"{member} of group {group_id} was not evicted: {answer}")
        return self._view(self._shard(group_id), group_id)

    async def set_offsets(self, group_id: str, offsets: Mapping[tuple[str, int], Offset]) -> GroupView:
        """Let these be the committed offsets, by topic and partition, whoever is in the group; others stay.

        Consumers learn of that when they ask for their offsets the next time, which is when they are given partitions.
        A group that there is not comes into being; topics and partitions do not. Raises Impossible, NotFound,
        Unavailable.
        """
        wanted = new_offsets(offsets)
        for each in wanted:
            if each.offset is not None:
                self._must_exist(each.topic, each.partition)
        return await self._operate(group_id, SetOffsets(group_id, wanted))

    async def delete(self, group_id: str) -> None:
        """Let a group be no more, whoever is in it. Raises NotFound, Unavailable."""
        await self._done(group_id, Remove(group_id, "removed by an operator"))

    async def delete_all(self, why: str) -> None:
        """Let no group be any more."""
        for shard in self._broker.shards:
            for group_id in tuple(shard.tables.groups) if shard.tables is not None else ():
                await shard.operate(Remove(group_id, why))

    # How it is done.

    def _shard(self, group_id: str) -> Shard:
        return self._broker.shard_for(given.group(group_id))

    def _must_exist(self, name: str, partition: int) -> None:
        topic = self._broker.catalog.by_name(name)
        if topic is None:
            raise NotFound(f"there is no topic {name}, whose offset could be set")
        if partition >= len(topic.partitions):
            count = len(topic.partitions)
            raise NotFound(f"there is no partition {partition} of topic {name}: it has {count}, from 0 on")

    async def _operate(self, group_id: str, operation: Operation) -> GroupView:
        await self._done(group_id, operation)
        return self._view(self._shard(group_id), group_id)

    async def _done(self, group_id: str, operation: Operation) -> None:
        shard = self._shard(group_id)
        answer = await shard.operate(operation)
        if answer.problem is Problem.UNAVAILABLE and shard.status is not Status.SERVING:
            raise Unavailable(self._why_unavailable(group_id))
        raise_for(answer)

    def _view(self, shard: Shard, group_id: str) -> GroupView:
        tables = shard.tables
        if tables is None:
            raise Unavailable(self._why_unavailable(group_id))
        now = self._broker.clock.now()
        coordinator = self._broker.nodes.leader(self._broker.offsets_topic, shard.partition)
        return group_view(tables, group_id, now, partition=shard.partition, coordinator=coordinator)

    def _view_or_none(self, group_id: str) -> GroupView | None:
        shard = self._shard(group_id)
        return None if shard.status is not Status.SERVING else self._view(shard, group_id)

    def _why_unavailable(self, group_id: str) -> str:
        shard = self._shard(group_id)
        partition = f"partition {shard.partition} of __consumer_offsets"
        if self._broker.nodes.leader(self._broker.offsets_topic, shard.partition) == NOBODY:
            return f"nobody coordinates group {group_id}: no broker that runs leads {partition}"
        return f"the coordinator of {partition} does not serve: {shard.status.value}"

    def _no_story(self, group_id: str) -> tuple[str, None]:
        return self.lately(group_id), None

    def lately(self, group_id: str) -> str:
        """Return the last notes of a group, one a line."""
        now = self._broker.clock.now()
        lines = [each.line(now) for each in self._happenings.of(group_id)]
        return "\n".join(["What happened to it last:", *(lines or ["  nothing"])])


def new_offsets(offsets: object) -> tuple[NewOffset, ...]:
    """Read what `set_offsets` is given. Raises Impossible."""
    if not isinstance(offsets, Mapping):
        raise Impossible(f"offsets are given by topic and partition, as in a dict, not as {shown(offsets)}")
    return tuple(_new_offset(place, value) for place, value in offsets.items())


def _new_offset(place: object, value: object) -> NewOffset:
    match place:
        case (str(topic), int(partition)) if not isinstance(partition, bool):
            given.named("a topic's name", topic)
            given.number(f"the partition of {topic}", partition)
        case _:
            raise Impossible(
                f"{_pair_shown(place)} is no place for an offset: it must be a topic and a partition's number"
            )
    if value is None:
        return NewOffset(topic, partition, None)
    match value:
        case (offset, metadata):
            pass
        case _:
            offset, metadata = value, ""
    if isinstance(offset, bool) or not isinstance(offset, int) or not isinstance(metadata, str):
        raise Impossible(
            f"{_pair_shown(value)} is no offset for {topic}-{partition}: "
            "it must be a number, a number and a text, or None"
        )
    if not 0 <= offset <= MOST_OFFSET:
        raise Impossible(f"the offset of {topic}-{partition} is {shown(offset)}: it must be from 0 to {MOST_OFFSET}")
    return NewOffset(topic, partition, offset, given.text(f"the metadata of {topic}-{partition}", metadata))


def _pair_shown(value: object) -> str:
    match value:
        case (one, other):
            return f"({shown(one)}, {shown(other)})"
    return shown(value)
