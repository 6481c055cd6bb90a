"""JoinGroup (key 11): enter a group, or a new generation of it.

| version | added |
|---|---|
| 0 | the session timeout is also the rebalance timeout |
| 1 | rebalance_timeout_ms (KIP-62) |
| 2 | throttle_time_ms in the answer |
| 3 | no change of layout; throttling happens after the answer (KIP-219) |
| 4 | no change of layout; a first join without a member id gets one with error 79 and comes again (KIP-394) |
| 5 | group_instance_id: static members (KIP-345) |
| 6 | flexible (KIP-482) |
| 7 | protocol_type in the answer, and protocol_name may be null there (KIP-559) |
| 8 | reason (KIP-800) |
| 9 | skip_assignment: a static leader that returns need not assign again (KIP-814) |
"""

from wire.schema import BOOLEAN, BYTES, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class JoinGroupRequestProtocol(Struct):
    """An assignment protocol the member supports, and the metadata it would bring to it."""

    name: str = field(STRING)
    metadata: bytes = field(BYTES)


@message(api=11, versions="0-9", flexible="6+")
class JoinGroupRequest(Message):
    """Both timeouts are in milliseconds; `protocols` are in order of preference."""

    group_id: str = field(STRING)
    session_timeout_ms: int = field(INT32)
    rebalance_timeout_ms: int = field(INT32, "1+", default=-1, ignorable=True)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "5+", nullable="5+", default=None)
    protocol_type: str = field(STRING)
    protocols: list[JoinGroupRequestProtocol] = field(Array(JoinGroupRequestProtocol))
    reason: str | None = field(STRING, "8+", nullable="8+", default=None, ignorable=True)


@struct
class JoinGroupResponseMember(Struct):
    """A member as the leader is told of it: its metadata for the selected protocol."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = field(BYTES)


@message(api=11, versions="0-9", flexible="6+", answers=JoinGroupRequest)
class JoinGroupResponse(Message):
    """The new generation. Only the leader's copy lists `members`. Before v7 `protocol_name` cannot be null."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_type: str | None = field(STRING, "7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = field(STRING, nullable="7+")
    leader: str = field(STRING)
    skip_assignment: bool = field(BOOLEAN, "9+")
    member_id: str = field(STRING)
    members: list[JoinGroupResponseMember] = field(Array(JoinGroupResponseMember))
