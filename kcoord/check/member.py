"""A member of a group, as a script knows it."""

from dataclasses import dataclass, field
from typing import Any

from kcoord.check.outcome import fail
from kcoord.check.probe import Call, Client, error_name
from wire.errors import ErrorCode
from wire.messages import JoinGroupRequest


@dataclass
class Member:
    """A member as a scenario knows it: its connection, its id, the generation, the last answers."""

    client: Client = field(repr=False)
    group: str
    id: str = ""
    generation: int = -1
    instance: str | None = None
    leader: str = ""
    assignment: bytes = b""
    listed: tuple[str, ...] = ()
    protocols: list[tuple[str, bytes]] | None = None
    protocol_type: str = "consumer"
    protocol_name: str | None = "range"
    session: int = 10_000
    rebalance: int = 30_000
    call: Call | None = None

    async def start_join(self, *, version: int | None = None) -> Call:
        """Send JoinGroup, in two steps where the broker asks for that, and leave it waiting."""
        version = self.client.newest(JoinGroupRequest, 9) if version is None else version
        self.call = await self._join(version)
        if version >= 4 and self.instance is None and not self.id:
            answer = await self.call.answer()
            if answer.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                fail(f"a newcomer is not given an id first, but told {error_name(answer.error_code)}")
            self.id = answer.member_id
            self.call = await self._join(version)
        return self.call

    async def finish_join(self) -> Any:
        """Wait for the JoinGroup's answer, which must be good, and take it in."""
        assert self.call is not None
        answer = await self.call.answer()
        if answer.error_code != ErrorCode.NONE:
            fail(f"JoinGroup is refused with {error_name(answer.error_code)}")
        self.id, self.generation, self.leader = answer.member_id, answer.generation_id, answer.leader
        self.protocol_name = answer.protocol_name
        self.listed = tuple(one.member_id for one in answer.members)
        self.client.names.begun.add(self.group)
        return answer

    @property
    def leads(self) -> bool:
        """Whether it was told that it leads."""
        return self.leader == self.id

    async def sync(self, assignments: dict[str, bytes] | None = None, **options: Any) -> Call:
        """Send SyncGroup with what it knows."""
        options = {
            "instance": self.instance,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol_name,
        } | options
        return await self.client.sync(self.group, self.generation, self.id, assignments, **options)

    async def heartbeat(self, **options: Any) -> ErrorCode:
        """Send Heartbeat with what it knows."""
        options = {"instance": self.instance} | options
        return await self.client.heartbeat(self.group, self.generation, self.id, **options)

    async def commit(self, offsets: dict[tuple[str, int], Any], **options: Any) -> dict[tuple[str, int], ErrorCode]:
        """Send OffsetCommit with what it knows."""
        known: dict[str, Any] = {"generation": self.generation, "member_id": self.id, "instance": self.instance}
        return await self.client.commit(self.group, offsets, **(known | options))

    async def _join(self, version: int) -> Call:
        return await self.client.join(
            self.group,
            self.id,
            version=version,
            instance=self.instance,
            protocols=self.protocols,
            protocol_type=self.protocol_type,
            session=self.session,
            rebalance=self.rebalance,
        )


async def settle(members: list[Member]) -> None:
    """Sync everybody; each gets b"for " and its id."""
    assignments = {member.id: b"for " + member.id.encode() for member in members}
    calls = [await member.sync(assignments if member.leads else None) for member in members]
    for member, call in zip(members, calls, strict=True):
        answer = await call.answer()
        if answer.error_code != ErrorCode.NONE:
            fail(f"SyncGroup is refused with {error_name(answer.error_code)}")
        member.assignment = answer.assignment
        assert member.assignment == assignments[member.id]
