"""DeleteGroups (key 42): remove empty groups and their offsets. KIP-229.

| version | added |
|---|---|
| 0 | with throttle_time_ms from the start |
| 1 | no change of layout; throttling happens after the answer (KIP-219) |
| 2 | flexible (KIP-482) |
| 3 | error_message in the answer; error 134 is allowed (KIP-1331) |
"""

from wire.schema import INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@message(api=42, versions="0-3", flexible="2+")
class DeleteGroupsRequest(Message):
    """Names the groups."""

    groups_names: list[str] = field(Array(STRING))


@struct
class DeletableGroupResult(Struct):
    """What became of one group; only that of a streams group (KIP-1071) may have a message."""

    group_id: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "3+", nullable="3+", default=None, ignorable=True)


@message(api=42, versions="0-3", flexible="2+", answers=DeleteGroupsRequest)
class DeleteGroupsResponse(Message):
    """One entry for each group named."""

    throttle_time_ms: int = field(INT32)
    results: list[DeletableGroupResult] = field(Array(DeletableGroupResult))
