"""DeleteTopics (key 20): topics with their records and what groups committed for them, each by itself (KIP-4).

v4 flexible (KIP-482); v5 error messages; v6 topics by name or by id (KIP-516).

The rules and their order are those of Apache Kafka 4 (`ControllerApis.deleteTopics`), which shuffles its answer. On
purpose it differs in these points:

- The offsets topic cannot be deleted: INVALID_REQUEST. Kafka deletes it, and all groups with it.
- What groups committed is gone when the answer comes; in Kafka it goes shortly after.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import Turns
from kcoord.log.catalog import OFFSETS_TOPIC, Topic
from wire.errors import ErrorCode
from wire.messages import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse

DELETION_DISABLED_SINCE = 3
"""The version from which a client knows TOPIC_DELETION_DISABLED."""
BY_ID_SINCE = 6

NO_ID = UUID(int=0)
NO_MESSAGE = None


@dataclass(slots=True)
class Asked:
    """The topics of a request: `names` and `ids` that come once, and the entries of those that are refused."""

    names: dict[str, bool] = field(default_factory=dict)
    """False for one that came again."""
    ids: dict[UUID, bool] = field(default_factory=dict)
    refused: list[DeletableTopicResult] = field(default_factory=list)


async def delete_topics(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete each topic that is named once, by its name or by its id; answer for each.

    REQUEST_TIMED_OUT stands on all entries if there is something to do and no time at all for it.
    """
    version, broker, turns = call.context.version, call.broker, Turns()
    if not broker.config.delete_topic_enable:
        known = version >= DELETION_DISABLED_SINCE
        error = ErrorCode.TOPIC_DELETION_DISABLED if known else ErrorCode.INVALID_REQUEST
        return DeleteTopicsResponse(responses=await all_refused(turns, version, request, error))
    asked = await sorted_out(turns, version, request)
    if request.timeout_ms <= 0 and (any(asked.names.values()) or any(asked.ids.values())):
        return DeleteTopicsResponse(responses=await all_refused(turns, version, request, ErrorCode.REQUEST_TIMED_OUT))
    answer = asked.refused
    found: dict[UUID, Topic] = {}
    for topic_id, once in asked.ids.items():
        await turns.step()
        topic = broker.catalog.by_id(topic_id)
        if not once:
            answer.append(refused(None, topic_id, ErrorCode.INVALID_REQUEST, "the id comes more than once"))
        elif topic is None:
            answer.append(refused(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "no topic has that id"))
        else:
            found[topic_id] = topic
    for name, once in asked.names.items():
        await turns.step()
        topic = broker.catalog.by_name(name)
        if not once:
            answer.append(refused(name, NO_ID, ErrorCode.INVALID_REQUEST, "the name comes more than once"))
        elif topic is None:
            answer.append(refused(name, NO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic"))
        elif topic.topic_id in asked.ids:
            found.pop(topic.topic_id, None)
            why = "the topic is asked for by its name and by its id"
            answer.append(refused(name, topic.topic_id, ErrorCode.INVALID_REQUEST, why))
        else:
            found[topic.topic_id] = topic
    for topic_id, topic in found.items():
        await turns.step()
        answer.append(deleted(call, topic_id, topic.name))
    return DeleteTopicsResponse(responses=answer)


async def sorted_out(turns: Turns, version: int, request: DeleteTopicsRequest) -> Asked:
    """Return which names and ids there are, and what is wrong with entries that are neither or both."""
    asked = Asked()
    if version < BY_ID_SINCE:
        for each in request.topic_names:
            await turns.step()
            asked.names[each] = each not in asked.names
        return asked
    for topic in request.topics:
        await turns.step()
        name, topic_id = topic.name, topic.topic_id
        if name is None and topic_id == NO_ID:
            asked.refused.append(refused(None, NO_ID, ErrorCode.INVALID_REQUEST, "neither a name nor an id"))
        elif name is None:
            asked.ids[topic_id] = topic_id not in asked.ids
        elif topic_id == NO_ID:
            asked.names[name] = name not in asked.names
        else:
            asked.refused.append(refused(name, topic_id, ErrorCode.INVALID_REQUEST, "both a name and an id"))
    return asked


def deleted(call: Call, topic_id: UUID, name: str) -> DeletableTopicResult:
    """Delete a topic, and return what became of it; somebody else may have deleted it meanwhile."""
    topic = call.broker.catalog.by_id(topic_id)
    if topic is None:
        return refused(name, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "no topic has that id")
    if name == OFFSETS_TOPIC:
        return refused(name, topic_id, ErrorCode.INVALID_REQUEST, f"{name} holds the groups and cannot be deleted")
    call.broker.delete_topic(topic, "a client deleted it")
    return DeletableTopicResult(name=name, topic_id=topic_id)


def refused(name: str | None, topic_id: UUID, error: ErrorCode, why: str | None) -> DeletableTopicResult:
    """Return the entry of a topic that is not deleted."""
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error, error_message=why)


async def all_refused(
    turns: Turns, version: int, request: DeleteTopicsRequest, error: ErrorCode
) -> list[DeletableTopicResult]:
    """Return the same error on each entry of the request, as it was sent."""
    pairs: Iterable[tuple[str | None, UUID]] = (
        ((name, NO_ID) for name in request.topic_names)
        if version < BY_ID_SINCE
        else ((topic.name, topic.topic_id) for topic in request.topics)
    )
    return [refused(name, topic_id, error, NO_MESSAGE) async for name, topic_id in turns.over(pairs)]


API = Api(request=DeleteTopicsRequest, versions="1-6", handle=delete_topics)
