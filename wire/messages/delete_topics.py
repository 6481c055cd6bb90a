"""DeleteTopics (key 20): topics and all their records. KIP-4.

| version | added |
|---|---|
| 0 | no longer served by Kafka 4 |
| 1 | throttle_time_ms in the answer |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | no change of layout; error 73 is allowed (KIP-322) |
| 4 | flexible (KIP-482) |
| 5 | error_message in the answer; error 89 is allowed (KIP-599) |
| 6 | topics by name or by id (KIP-516) |
"""

import uuid

from wire.schema import INT16, INT32, STRING, UUID, Array, Message, Struct, field, message, struct


@struct
class DeleteTopicState(Struct):
    """A topic by its name or, with a null name, by its id."""

    name: str | None = field(STRING, "6+", nullable="6+", default=None)
    topic_id: uuid.UUID = field(UUID, "6+")


@message(api=20, versions="1-6", flexible="4+")
class DeleteTopicsRequest(Message):
    """The topics (`topic_names` up to v5, `topics` from v6 on), and how long to wait for them to be gone (ms)."""

    topics: list[DeleteTopicState] = field(Array(DeleteTopicState), "6+")
    topic_names: list[str] = field(Array(STRING), "0-5", ignorable=True)
    timeout_ms: int = field(INT32)


@struct
class DeletableTopicResult(Struct):
    """What became of a topic; the name is null where only an id was given and no topic has it."""

    name: str | None = field(STRING, nullable="6+")
    topic_id: uuid.UUID = field(UUID, "6+", ignorable=True)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)


@message(api=20, versions="1-6", flexible="4+", answers=DeleteTopicsRequest)
class DeleteTopicsResponse(Message):
    """One entry for each topic of the request."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    responses: list[DeletableTopicResult] = field(Array(DeletableTopicResult))
