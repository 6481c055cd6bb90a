"""Heartbeat (key 12): a member says it lives, and learns whether a rebalance is on.

| version | added |
|---|---|
| 0 | |
| 1 | throttle_time_ms in the answer |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | group_instance_id: static members (KIP-345) |
| 4 | flexible (KIP-482) |
"""

from wire.schema import INT16, INT32, STRING, Message, field, message


@message(api=12, versions="0-4", flexible="4+")
class HeartbeatRequest(Message):
    """From a member of one generation."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", nullable="3+", default=None)


@message(api=12, versions="0-4", flexible="4+", answers=HeartbeatRequest)
class HeartbeatResponse(Message):
    """In v0 nothing but the error code."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)
