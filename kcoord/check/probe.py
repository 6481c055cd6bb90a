"""A raw client of one connection.

The vocabulary: `call` sends a request and waits for the answer; `send` only sends, and gives a `Call` whose `answer()`
waits and whose `parked()` says that nothing came within 0.3 s. A connection's answers come in the order of its
requests, so a call behind a parked one is parked, too.

A version that the broker does not offer is never sent: the rule does not apply then. Where a script names no version,
it is the newest that both sides know.
"""

import contextlib
import itertools
import struct
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import trio

from kcoord.check.names import Names
from kcoord.check.outcome import NotApplicable, fail
from kcoord.check.transcript import Line, What
from wire.errors import ErrorCode, Unsendable, WireError
from wire.frame import FrameBuffer
from wire.header import read_response, request_frame
from wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from wire.payloads import Subscription, encode_subscription
from wire.schema import Message, Versions

PARKED: Final = 0.3
"""How long (s) nothing may come before a call counts as parked."""
PATIENCE: Final = 60.0
"""How long (s) a script waits for an answer that must come, unless its world says otherwise."""
SILENT: Final = 10
"""How many requests of one API are waited for in vain, and none answered, until the broker counts as silent to it."""
IMPATIENCE: Final = 2.0
"""How long (s) such requests are waited for then."""
LARGEST_FRAME: Final = 100_000_000
"""Bytes of the largest answer that is read."""
_API_VERSIONS: Final = 18

Offers = Mapping[int, Versions]
"""The versions that a broker offers, by API key."""


class Closed(Exception):
    """The broker closed the connection, maybe where it had to answer a request."""

    def __init__(self, instead_of: str = "") -> None:
        answering = f" instead of answering {instead_of}" if instead_of else ""
        super().__init__(f"the broker closed the connection{answering}")
        self.instead_of = instead_of


class Unreadable(WireError):
    """An answer is not what its API and version say."""


def sub(topic: str, *more: str) -> bytes:
    """Return a version-0 subscription to these topics."""
    return encode_subscription(Subscription(topics=(topic, *more)), 0)


def offered(offers: Offers | None, cls: type[Message]) -> Versions:
    """Return the versions of a request that this package knows and a broker offers.

    Raises:
        NotApplicable: There are none.

    """
    known = cls.VERSIONS
    if offers is None:
        return known
    name = cls.__name__.removesuffix("Request")
    theirs = offers.get(cls.API_KEY)
    if theirs is None:
        raise NotApplicable(f"{name} is not advertised")
    both = Versions(max(known.lowest, theirs.lowest), min(known.highest, theirs.highest))
    if both.lowest > both.highest:
        raise NotApplicable(f"{name} is advertised in versions {theirs.lowest} to {theirs.highest} only")
    return both


def error_name(number: int) -> str:
    """Return what Kafka calls an error, also one that Kafka does not have."""
    try:
        return ErrorCode(number).name
    except ValueError:
        return f"error {number}, which Kafka does not have"


@dataclass
class Heard:
    """Which APIs a broker has answered, and how often it was waited for in vain: what the clients of a run share."""

    answered: set[int] = field(default_factory=set)
    in_vain: Counter[int] = field(default_factory=Counter)

    def patience(self, api_key: int, usual: float) -> float:
        """Return how long (s) to wait for an answer: hardly, where none has come yet and many were waited for."""
        silent = api_key not in self.answered and self.in_vain[api_key] >= SILENT
        return min(usual, IMPATIENCE) if silent else usual


@dataclass(eq=False)
class Call:
    """A request that was sent."""

    client: "Client"
    correlation_id: int
    request_class: type[Message]
    response_class: type[Message]
    version: int
    response: Any = None
    request: Any = None

    @property
    def name(self) -> str:
        """What was asked: "JoinGroup 9"."""
        return f"{self.request_class.__name__.removesuffix('Request')} {self.version}"

    def __repr__(self) -> str:
        return f"{self.name}, not answered" if self.response is None else f"{self.name}, answered {self.response!r}"

    async def answer(self, within: float | None = None) -> Any:
        """Wait for the answer; TimeoutError after `within` seconds, by default when the client's patience ends."""
        heard, key = self.client.heard, self.request_class.API_KEY
        usual = within is None
        within = heard.patience(key, self.client.patience) if within is None else within
        with trio.move_on_after(within):
            await self.client.read_until(self)
        if self.response is None:
            heard.in_vain[key] += usual
            raise TimeoutError(f"no answer to {self.name} within {within:g} s")
        return self.response

    async def parked(self) -> bool:
        """Whether nothing comes for 0.3 s."""
        with contextlib.suppress(TimeoutError):
            await self.answer(PARKED)
        return self.response is None


@dataclass(eq=False)
class Client:
    """One connection. What fails at the other end is Closed, or a WireError if what came cannot be read."""

    stream: trio.abc.Stream
    client_id: str | None = "client"
    names: Names = field(default_factory=Names)
    offers: Offers | None = None
    line: Line | None = None
    """Where what is said is recorded, if anywhere."""
    patience: float = PATIENCE
    """How long (s) to wait for an answer that must come."""
    heard: Heard = field(default_factory=Heard)
    frames: FrameBuffer = field(default_factory=lambda: FrameBuffer(LARGEST_FRAME))
    waiting: list[Call] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def newest(self, cls: type[Message], usual: int | None = None) -> int:
        """Return the newest version that both sides know, up to the one that is `usual` here.

        Raises NotApplicable if there is none.
        """
        highest = offered(self.offers, cls).highest
        return highest if usual is None else min(usual, highest)

    async def send(self, request: Any, version: int | None = None, *, correlation_id: int | None = None) -> Call:
        """Send a request, in the newest version unless told otherwise. Raises NotApplicable, Closed."""
        cls = type(request)
        if version is None:
            version = self.newest(cls)
        elif cls.API_KEY != _API_VERSIONS and version not in (versions := offered(self.offers, cls)):
            name = cls.__name__.removesuffix("Request")
            raise NotApplicable(f"{name} {version} is not advertised, only {versions.lowest} to {versions.highest}")
        number = next(self.ids) if correlation_id is None else correlation_id
        call = Call(self, number, cls, cls.RESPONSE, version, request=request)
        frame = self._frame(number, request, version)
        self.waiting.append(call)
        await self.send_bytes(frame)
        return call

    def _frame(self, number: int, request: Any, version: int) -> bytes:
        """Write a request. Raises NotApplicable if only newer versions can carry it than the broker offers."""
        try:
            return request_frame(number, self.client_id, request, version)
        except Unsendable as error:
            cls = type(request)
            if version == cls.VERSIONS.highest or version < (highest := offered(self.offers, cls).highest):
                raise
            name = cls.__name__.removesuffix("Request")
            raise NotApplicable(f"{name} is advertised up to version {highest} only: {error}") from None

    async def call(self, request: Any, version: int | None = None) -> Any:
        """Send a request and wait for its answer."""
        return await (await self.send(request, version)).answer()

    async def read_until(self, call: Call) -> None:
        """Read answers, in order, until `call` has its own; Closed when the connection ends before that.

        Raises NotApplicable for one that a setting explains which the rule does not count on.
        """
        while call.response is None:
            frame = await self.read_frame()
            if not self.waiting:
                fail("an answer came to a request that was answered before")
            first = self.waiting.pop(0)
            try:
                number, first.response = read_response(frame, first.response_class, first.version)
            except WireError as error:
                reason = f"{type(error).__name__}: {error}"
                raise Unreadable(f"the answer to {first.name} cannot be read: {reason}") from error
            self.heard.answered.add(first.request_class.API_KEY)
            if number != first.correlation_id:
                fail(f"an answer has correlation id {number}; the next request in line had {first.correlation_id}")
            if why := self.names.limits.why_refused(first.request, first.response):
                raise NotApplicable(why)

    async def read_frame(self) -> bytes:
        """Read one frame, without its size; Closed at the end."""
        while (frame := self.frames.next()) is None:
            try:
                data = await self.stream.receive_some(65536)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                self._record(What.CLOSED)
                raise Closed(self._next())
            self.frames.feed(data)
        self._record(What.GOT, frame)
        return frame

    def _record(self, what: What, data: bytes = b"") -> None:
        if self.line is not None:
            first = self.waiting[0] if self.waiting and what is What.GOT else None
            self.line.note(what, data, None if first is None else (first.request_class, first.version))

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are; Closed if the broker takes none any more."""
        self._record(What.SENT, data)
        try:
            await self.stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._record(What.CLOSED)
            raise Closed(self._next()) from None

    def _next(self) -> str:
        """Return the request whose answer would come next; empty if none would."""
        return self.waiting[0].name if self.waiting else ""

    async def send_frame(self, payload: bytes) -> None:
        """Send a payload with its size in front."""
        await self.send_bytes(struct.pack(">i", len(payload)) + payload)

    async def is_closed(self, within: float | None = None) -> bool:
        """Whether the server closes the connection, without an answer, within so many seconds, or in time at all."""
        with trio.move_on_after(self.patience if within is None else within):
            try:
                await self.read_frame()
            except Closed:
                return True
        return False

    async def aclose(self) -> None:
        """Close the connection."""
        await self.stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # --- the group's requests, with the defaults that scenarios assume ---

    async def join(
        self,
        group: str,
        member_id: str = "",
        *,
        version: int | None = None,
        instance: str | None = None,
        protocols: list[tuple[str, bytes]] | None = None,
        protocol_type: str = "consumer",
        session: int = 10_000,
        rebalance: int = 30_000,
        reason: str | None = None,
    ) -> Call:
        """Send JoinGroup."""
        version = self.newest(JoinGroupRequest, 9) if version is None else version
        listed = [("range", sub(self.names.subscribed))] if protocols is None else protocols
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session,
            rebalance_timeout_ms=rebalance if version >= 1 else -1,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in listed],
            reason=reason,
        )
        return await self.send(request, version)

    async def sync(
        self,
        group: str,
        generation: int,
        member_id: str,
        assignments: dict[str, bytes] | list[tuple[str, bytes]] | None = None,
        *,
        version: int | None = None,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> Call:
        """Send SyncGroup; the protocol goes along from version 5 on."""
        version = self.newest(SyncGroupRequest, 5) if version is None else version
        pairs = list(assignments.items()) if isinstance(assignments, dict) else assignments or []
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type if version >= 5 else None,
            protocol_name=protocol_name if version >= 5 else None,
            assignments=[SyncGroupRequestAssignment(member_id=who, assignment=what) for who, what in pairs],
        )
        return await self.send(request, version)

    async def heartbeat(
        self, group: str, generation: int, member_id: str, *, version: int | None = None, instance: str | None = None
    ) -> ErrorCode:
        """Send Heartbeat; return the error."""
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        version = self.newest(HeartbeatRequest, 4) if version is None else version
        return ErrorCode((await self.call(request, version)).error_code)

    async def leave(self, group: str, *members: str | tuple[str, str | None], version: int | None = None) -> Any:
        """Send LeaveGroup for member ids or (member id, instance id) pairs; return the response."""
        version = self.newest(LeaveGroupRequest, 5) if version is None else version
        pairs = [(one, None) if isinstance(one, str) else one for one in members]
        if version < 3:
            (who, instance), *more = pairs
            if more or instance is not None:
                raise NotApplicable(f"LeaveGroup {version} names one member by its member id, and no other, as 3 does")
            return await self.call(LeaveGroupRequest(group_id=group, member_id=who), version)
        identities = [MemberIdentity(member_id=who, group_instance_id=instance) for who, instance in pairs]
        return await self.call(LeaveGroupRequest(group_id=group, members=identities), version)

    async def commit(
        self,
        group: str,
        offsets: Mapping[tuple[str, int], int | tuple[int, str | None]],
        *,
        generation: int = -1,
        member_id: str = "",
        instance: str | None = None,
        version: int | None = None,
        epoch: int = -1,
        retention: int = -1,
    ) -> dict[tuple[str, int], ErrorCode]:
        """Send OffsetCommit (by name: up to version 9); return the error of each partition."""
        version = self.newest(OffsetCommitRequest, 9) if version is None else version
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, partition), what in offsets.items():
            offset, metadata = what if isinstance(what, tuple) else (what, "")
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_leader_epoch=epoch,
                    committed_metadata=metadata,
                )
            )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention,
            topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
        )
        response = await self.call(request, version)
        return {
            (topic.name, one.partition_index): ErrorCode(one.error_code)
            for topic in response.topics
            for one in topic.partitions
        }

    async def fetch(
        self, group: str, wanted: dict[str, list[int]] | None = None, *, version: int | None = None
    ) -> dict[tuple[str, int], tuple[int, int, str | None]]:
        """Send OffsetFetch (by name: up to version 9); return (offset, epoch, metadata). All errors must be 0."""
        version = self.newest(OffsetFetchRequest, 9) if version is None else version
        if version >= 8:
            topics = (
                None
                if wanted is None
                else [OffsetFetchRequestTopics(name=name, partition_indexes=parts) for name, parts in wanted.items()]
            )
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
            answer = (await self.call(request, version)).groups[0]
            if answer.group_id != group:
                fail(f"OffsetFetch {version} for the group {group!r} is answered for {answer.group_id!r}")
        else:
            older = (
                None
                if wanted is None
                else [OffsetFetchRequestTopic(name=name, partition_indexes=parts) for name, parts in wanted.items()]
            )
            answer = await self.call(OffsetFetchRequest(group_id=group, topics=older), version)
        for code in (answer.error_code, *(one.error_code for topic in answer.topics for one in topic.partitions)):
            if code != 0:
                fail(f"OffsetFetch {version} is refused with {error_name(code)}")
        return {
            (topic.name, one.partition_index): (one.committed_offset, one.committed_leader_epoch, one.metadata)
            for topic in answer.topics
            for one in topic.partitions
        }

    async def topic_ids(self, *names: str) -> list[uuid.UUID]:
        """Send Metadata, of a version that has ids; return those of topics, all of which must exist."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
        )
        response = await self.call(request, max(10, self.newest(MetadataRequest, 12)))
        for topic in response.topics:
            if topic.error_code != 0:
                fail(f"Metadata tells of the topic {topic.name!r} only {error_name(topic.error_code)}")
        ids = {topic.name: topic.topic_id for topic in response.topics}
        return [ids[name] for name in names]

    async def describe(self, group: str, *, version: int | None = None, operations: bool = False) -> Any:
        """Send DescribeGroups for one group; return its entry."""
        request = DescribeGroupsRequest(groups=[group], include_authorized_operations=operations)
        version = self.newest(DescribeGroupsRequest, 6) if version is None else version
        return (await self.call(request, version)).groups[0]

    async def list(
        self, *, states: tuple[str, ...] = (), types: tuple[str, ...] = (), version: int | None = None
    ) -> dict[str, Any]:
        """Send ListGroups; return the entries by group id."""
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        version = self.newest(ListGroupsRequest, 5) if version is None else version
        response = await self.call(request, version)
        if response.error_code != 0:
            fail(f"ListGroups {version} is refused with {error_name(response.error_code)}")
        return {one.group_id: one for one in response.groups}

    async def delete(self, *groups: str, version: int | None = None) -> dict[str, ErrorCode]:
        """Send DeleteGroups; return each group's error."""
        version = self.newest(DeleteGroupsRequest, 3) if version is None else version
        response = await self.call(DeleteGroupsRequest(groups_names=list(groups)), version)
        return {one.group_id: ErrorCode(one.error_code) for one in response.results}
