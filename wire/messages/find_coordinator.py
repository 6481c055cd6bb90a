"""FindCoordinator (key 10): which broker coordinates a group (key type 0), a transactional id (1), a share key (2).

| version | added |
|---|---|
| 0 | one group id |
| 1 | key_type, throttle_time_ms, error_message |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | flexible (KIP-482) |
| 4 | many keys in one request; the single-key fields are gone on both sides (KIP-699) |
| 5 | no change of layout; error 120 is allowed (KIP-890) |
| 6 | no change of layout; key type 2 is allowed (KIP-932) |
"""

from wire.schema import INT8, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@message(api=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest(Message):
    """One `key` up to v3, `coordinator_keys` from v4 on."""

    key: str = field(STRING, "0-3")
    key_type: int = field(INT8, "1+")
    coordinator_keys: list[str] = field(Array(STRING), "4+")


@struct
class Coordinator(Struct):
    """Where one key is coordinated; node_id -1, host "" and port -1 go with an error."""

    key: str = field(STRING)
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="4+", ignorable=True)


@message(api=10, versions="0-6", flexible="3+", answers=FindCoordinatorRequest)
class FindCoordinatorResponse(Message):
    """The coordinator in the top-level fields up to v3, in `coordinators` from v4 on."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16, "0-3")
    error_message: str | None = field(STRING, "1-3", nullable="1-3", ignorable=True)
    node_id: int = field(INT32, "0-3")
    host: str = field(STRING, "0-3")
    port: int = field(INT32, "0-3")
    coordinators: list[Coordinator] = field(Array(Coordinator), "4+")
