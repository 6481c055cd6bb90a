"""OffsetCommit (key 8): what exists is sorted out here, the group takes the rest.

v3 throttle time; v5 retention time gone (KIP-211); v6 leader epoch (KIP-320); v7 group_instance_id
(KIP-345); v8 flexible (KIP-482); v9 new error codes (KIP-848); v10 topic ids (KIP-516).
"""

from uuid import UUID

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import Turns
from kcoord.core.behaviour import Behaviour
from wire.errors import ErrorCode
from wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

TOPIC_IDS_SINCE = 10


class Answer:
    """The response as it grows: one entry a topic, whatever came first about it (Apache Kafka's response builder)."""

    def __init__(self) -> None:
        self.topics: dict[str | UUID, OffsetCommitResponseTopic] = {}

    def topic(self, name: str, topic_id: UUID) -> list[OffsetCommitResponsePartition]:
        """Return the partitions of that topic's entry, which is made if there is none. One of both is empty."""
        entry = self.topics.setdefault(name or topic_id, OffsetCommitResponseTopic(name=name, topic_id=topic_id))
        return entry.partitions


async def offset_commit(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Refuse what does not exist, and commit the rest.

    If nothing is left, the group is not even asked: no error of its own, no session restarted, no group
    created (Apache Kafka `KafkaApis.handleOffsetCommitRequest`). Topics with refused partitions come first in the
    answer. A topic that is named twice has two entries in it, but one as soon as anything is refused; before Kafka 4.0
    it always had one.
    """
    catalog, behaviour = call.broker.catalog, call.broker.config.behaviour
    by_id = call.context.version >= TOPIC_IDS_SINCE
    answer = Answer()
    known: list[OffsetCommitRequestTopic] = []
    ids: dict[str, UUID] = {}
    turns = Turns()
    for asked in looked_at(request, behaviour):
        await turns.step()
        topic = catalog.by_id(asked.topic_id) if by_id else catalog.by_name(asked.name)
        if topic is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            entry = answer.topic(asked.name, asked.topic_id)
            async for each in turns.over(asked.partitions):
                entry.append(OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=unknown))
            continue
        part = OffsetCommitRequestTopic(name=topic.name)
        for each in asked.partitions:
            await turns.step()
            if topic.partition(each.partition_index) is not None:
                part.partitions.append(each)
            else:
                refused = OffsetCommitResponsePartition(
                    partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                answer.topic(asked.name, asked.topic_id).append(refused)
        if part.partitions:
            known.append(part)
            ids[topic.name] = topic.topic_id
    known = once(known, behaviour)
    if known:
        forwarded = OffsetCommitRequest(
            group_id=request.group_id,
            generation_id_or_member_epoch=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            retention_time_ms=request.retention_time_ms,
            topics=known,
        )
        response = await call.shard_for(request.group_id).submit(call.context, forwarded)
        if by_id:
            for done in response.topics:
                done.name, done.topic_id = "", ids[done.name]
        if not answer.topics:
            return OffsetCommitResponse(topics=response.topics)
        for done in response.topics:
            answer.topic(done.name, done.topic_id).extend(done.partitions)
    return OffsetCommitResponse(topics=list(answer.topics.values()))


def looked_at(request: OffsetCommitRequest, behaviour: Behaviour) -> list[OffsetCommitRequestTopic]:
    """Return the topics of a commit that have an answer."""
    if behaviour.skips_empty_topics:
        return [topic for topic in request.topics if topic.partitions]
    return request.topics


def once(topics: list[OffsetCommitRequestTopic], behaviour: Behaviour) -> list[OffsetCommitRequestTopic]:
    """Return each topic and each of its partitions once, before 4.0; of several entries the last one counts."""
    if not behaviour.entries_once:
        return topics
    found: dict[str, dict[int, OffsetCommitRequestPartition]] = {}
    for topic in topics:
        found.setdefault(topic.name, {}).update((each.partition_index, each) for each in topic.partitions)
    return [OffsetCommitRequestTopic(name=name, partitions=list(each.values())) for name, each in found.items()]


API = Api(request=OffsetCommitRequest, versions="2-10", handle=offset_commit)
