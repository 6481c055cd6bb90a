"""Removes what a run left at the broker: its groups, with whoever is still in them, and its topics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import trio

from kcoord.check.outcome import CannotRun
from kcoord.check.probe import Client, offered
from kcoord.check.result import counted
from kcoord.check.target import ANSWERS, CLIENT, Target, ask, reason
from wire.errors import ErrorCode
from wire.messages import (
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    MemberIdentity,
)
from wire.schema import Message

PATIENCE: Final = 20.0
"""Seconds in which one thing must be removed after the other."""
LONGEST: Final = 180.0
"""Seconds in which everything must be removed: a slow broker has many questions to answer."""
_TO_EMPTY: Final = 10.0
"""Seconds in which a group without members must become empty."""
_AT_ONCE: Final = 100
"""Groups or topics in one request."""
_NEWEST_BY_NAME: Final = 5
_BATCH_LEAVE: Final = 3
_GONE: Final = (
    ErrorCode.NONE,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
)
"""What is said of a name that is not, or cannot be, that of a group or a topic."""


@dataclass
class _Cleaner:
    """Asks a broker to remove things, as long as it goes on answering."""

    client: Client
    scope: trio.CancelScope
    begun: float

    async def ask(self, request: Message, version: int | None = None) -> Any:
        """Send a request and wait for the answer, after which there is time for the next."""
        answer = await ask(self.client, request, version)
        self.scope.deadline = min(trio.current_time() + PATIENCE, self.begun + LONGEST)
        return answer


async def clean(target: Target, groups: Sequence[str], topics: Sequence[str]) -> list[str]:
    """Remove groups and topics, of which some may not exist. Return sentences about what could not be removed."""
    if not groups and not topics:
        return []
    left: list[str] = []
    begun = trio.current_time()
    with trio.move_on_after(PATIENCE) as scope:
        try:
            client = Client(await target.opener(), CLIENT, offers=target.offers)
        except (OSError, CannotRun) as error:
            return [f"nothing could be cleaned up: {reason(error, anew=False)}"]
        cleaner = _Cleaner(client, scope, begun)
        try:
            for what, names, remove in (("groups", groups, _remove_groups), ("topics", topics, _remove_topics)):
                try:
                    stay = await remove(cleaner, names)
                except ANSWERS as error:
                    left.append(f"{what} could not be removed: {error}")
                else:
                    if stay:
                        reasons = ", ".join(sorted(set(stay.values())))
                        left.append(f"{counted(len(stay), what)} could not be removed: {reasons}")
        finally:
            await trio.aclose_forcefully(client.stream)
    if scope.cancelled_caught:
        took = trio.current_time() - begun
        left.append(f"cleaning up was given up after {took:.0f} s; names begin with {target.prefix}")
    return left


async def _remove_groups(cleaner: _Cleaner, names: Sequence[str]) -> dict[str, str]:
    """Remove groups, whose members may have gone without a word. Return those that stay, with the reason."""
    left = await _delete_groups(cleaner, names)
    nonempty = [name for name, error in left.items() if error is ErrorCode.NON_EMPTY_GROUP]
    for some in _parts(nonempty):
        described = await cleaner.ask(
            DescribeGroupsRequest(groups=some), cleaner.client.newest(DescribeGroupsRequest, 5)
        )
        for group in described.groups:
            await _put_out(cleaner, group.group_id, [one.member_id for one in group.members])
    end = trio.current_time() + _TO_EMPTY
    while nonempty and trio.current_time() < end:
        # A group whose members left during its first rebalance is empty when the time for that is over.
        left |= await _delete_groups(cleaner, nonempty)
        nonempty = [name for name, error in left.items() if error is ErrorCode.NON_EMPTY_GROUP]
        if nonempty:
            await trio.sleep(0.5)
    return {name: error.name for name, error in left.items() if error not in _GONE}


def _parts(names: Sequence[str]) -> Iterator[list[str]]:
    for at in range(0, len(names), _AT_ONCE):
        yield list(names[at : at + _AT_ONCE])


async def _delete_groups(cleaner: _Cleaner, names: Sequence[str]) -> dict[str, ErrorCode]:
    errors: dict[str, ErrorCode] = {}
    for some in _parts(names):
        answer = await cleaner.ask(DeleteGroupsRequest(groups_names=some))
        errors |= {one.group_id: ErrorCode(one.error_code) for one in answer.results}
    return errors


async def _put_out(cleaner: _Cleaner, group: str, members: list[str]) -> None:
    version = offered(cleaner.client.offers, LeaveGroupRequest).highest
    if version >= _BATCH_LEAVE:
        identities = [MemberIdentity(member_id=each, group_instance_id=None) for each in members]
        await cleaner.ask(LeaveGroupRequest(group_id=group, members=identities), version)
        return
    for each in members:
        await cleaner.ask(LeaveGroupRequest(group_id=group, member_id=each), version)


async def _remove_topics(cleaner: _Cleaner, names: Sequence[str]) -> dict[str, str]:
    version = cleaner.client.newest(DeleteTopicsRequest)
    left: dict[str, ErrorCode] = {}
    for some in _parts(names):
        request = DeleteTopicsRequest(timeout_ms=int(PATIENCE * 1000))
        if version > _NEWEST_BY_NAME:
            request.topics = [DeleteTopicState(name=name) for name in some]
        else:
            request.topic_names = some
        answer = await cleaner.ask(request, version)
        left |= {str(one.name): ErrorCode(one.error_code) for one in answer.responses}
    return {name: error.name for name, error in left.items() if error not in _GONE}
