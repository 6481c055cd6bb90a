"""LeaveGroup (key 13): members go, or an administrator removes them.

| version | added |
|---|---|
| 0 | one member |
| 1 | throttle_time_ms in the answer |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | many members, static ones by instance id; the single member_id is gone (KIP-345) |
| 4 | flexible (KIP-482) |
| 5 | reason for each member (KIP-800) |
"""

from wire.schema import INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class MemberIdentity(Struct):
    """A member that goes: by member id, by instance id, or by both."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, nullable="3+", default=None)
    reason: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)


@message(api=13, versions="0-5", flexible="4+")
class LeaveGroupRequest(Message):
    """One `member_id` up to v2, `members` from v3 on."""

    group_id: str = field(STRING)
    member_id: str = field(STRING, "0-2")
    members: list[MemberIdentity] = field(Array(MemberIdentity), "3+")


@struct
class MemberResponse(Struct):
    """What became of one member of the request."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, nullable="3+")
    error_code: int = field(INT16)


@message(api=13, versions="0-5", flexible="4+", answers=LeaveGroupRequest)
class LeaveGroupResponse(Message):
    """Up to v2 the one member's error is the top-level one; from v3 on that is for the group alone."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)
    members: list[MemberResponse] = field(Array(MemberResponse), "3+")
