"""SyncGroup (key 14): the leader hands in the assignment, every member is handed its own.

| version | added |
|---|---|
| 0 | |
| 1 | throttle_time_ms in the answer |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | group_instance_id: static members (KIP-345) |
| 4 | flexible (KIP-482) |
| 5 | protocol_type and protocol_name in both directions (KIP-559) |
"""

from wire.schema import BYTES, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class SyncGroupRequestAssignment(Struct):
    """What the leader gives one member."""

    member_id: str = field(STRING)
    assignment: bytes = field(BYTES)


@message(api=14, versions="0-5", flexible="4+")
class SyncGroupRequest(Message):
    """Only the leader fills `assignments`; everybody else sends an empty list."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", nullable="3+", default=None)
    protocol_type: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = field(Array(SyncGroupRequestAssignment))


@message(api=14, versions="0-5", flexible="4+", answers=SyncGroupRequest)
class SyncGroupResponse(Message):
    """The member's own assignment, empty when there is an error."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)
    protocol_type: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = field(BYTES)
