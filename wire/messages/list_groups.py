"""ListGroups (key 16): the groups this broker coordinates.

| version | added |
|---|---|
| 0 | |
| 1 | throttle_time_ms in the answer |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | flexible (KIP-482) |
| 4 | states_filter, group_state (KIP-518) |
| 5 | types_filter, group_type (KIP-848) |
"""

from wire.schema import INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@message(api=16, versions="0-5", flexible="3+")
class ListGroupsRequest(Message):
    """An empty filter lets everything through."""

    states_filter: list[str] = field(Array(STRING), "4+")
    types_filter: list[str] = field(Array(STRING), "5+")


@struct
class ListedGroup(Struct):
    """A group, with its state and type as text."""

    group_id: str = field(STRING)
    protocol_type: str = field(STRING)
    group_state: str = field(STRING, "4+", ignorable=True)
    group_type: str = field(STRING, "5+", ignorable=True)


@message(api=16, versions="0-5", flexible="3+", answers=ListGroupsRequest)
class ListGroupsResponse(Message):
    """The error code comes before the list."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)
    groups: list[ListedGroup] = field(Array(ListedGroup))
