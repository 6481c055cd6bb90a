"""DescribeGroups (key 15): state, protocol and members of groups.

| version | added |
|---|---|
| 0 | |
| 1 | throttle_time_ms in the answer |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | authorized operations (KIP-430) |
| 4 | group_instance_id of members (KIP-345) |
| 5 | flexible (KIP-482) |
| 6 | error_message; an unknown group is error 69 and no longer a Dead group (KIP-1043) |
"""

from wire.schema import BOOLEAN, BYTES, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@message(api=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest(Message):
    """Names the groups."""

    groups: list[str] = field(Array(STRING))
    include_authorized_operations: bool = field(BOOLEAN, "3+")


@struct
class DescribedGroupMember(Struct):
    """A member; its metadata and assignment are empty outside Stable."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "4+", nullable="4+", default=None, ignorable=True)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    member_metadata: bytes = field(BYTES)
    member_assignment: bytes = field(BYTES)


@struct
class DescribedGroup(Struct):
    """A group. `protocol_data` is the selected protocol's name; authorized_operations -2**31 means not asked for."""

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "6+", nullable="6+", default=None)
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    protocol_type: str = field(STRING)
    protocol_data: str = field(STRING)
    members: list[DescribedGroupMember] = field(Array(DescribedGroupMember))
    authorized_operations: int = field(INT32, "3+", default=-(2**31))


@message(api=15, versions="0-6", flexible="5+", answers=DescribeGroupsRequest)
class DescribeGroupsResponse(Message):
    """One entry for each group asked about."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))
