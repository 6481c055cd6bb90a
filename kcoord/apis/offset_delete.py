"""OffsetDelete (key 47), v0 only (KIP-496): what exists is sorted out here, the group is asked in any case."""

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import Turns
from wire.errors import ErrorCode
from wire.messages import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


async def offset_delete(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """Refuse what does not exist, and delete the rest.

    The group is asked even about nothing, and an error of its own is the whole answer (Apache Kafka
    `KafkaApis.handleOffsetDeleteRequest`). Entries are put together as for OffsetCommit.
    """
    answer: dict[str, OffsetDeleteResponseTopic] = {}
    known: list[OffsetDeleteRequestTopic] = []
    turns = Turns()
    for asked in request.topics:
        await turns.step()
        topic = call.broker.catalog.by_name(asked.name)
        found = OffsetDeleteRequestTopic(name=asked.name)
        missing: list[OffsetDeleteResponsePartition] = []
        for each in asked.partitions:
            await turns.step()
            if topic is not None and topic.partition(each.partition_index) is not None:
                found.partitions.append(each)
            else:
                missing.append(
                    OffsetDeleteResponsePartition(
                        partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    )
                )
        if found.partitions:
            known.append(found)
        if missing or topic is None:
            _entry(answer, asked.name).extend(missing)
    if call.broker.config.behaviour.entries_once:
        known = once(known)
    forwarded = OffsetDeleteRequest(group_id=request.group_id, topics=known)
    response = await call.shard_for(request.group_id).submit(call.context, forwarded)
    if response.error_code != ErrorCode.NONE:
        return OffsetDeleteResponse(error_code=response.error_code)
    if not answer:
        return OffsetDeleteResponse(topics=response.topics)
    for done in response.topics:
        _entry(answer, done.name).extend(done.partitions)
    return OffsetDeleteResponse(topics=list(answer.values()))


def _entry(answer: dict[str, OffsetDeleteResponseTopic], name: str) -> list[OffsetDeleteResponsePartition]:
    return answer.setdefault(name, OffsetDeleteResponseTopic(name=name)).partitions


def once(topics: list[OffsetDeleteRequestTopic]) -> list[OffsetDeleteRequestTopic]:
    """Return each topic and each of its partitions once."""
    found: dict[str, dict[int, OffsetDeleteRequestPartition]] = {}
    for topic in topics:
        found.setdefault(topic.name, {}).update((each.partition_index, each) for each in topic.partitions)
    return [OffsetDeleteRequestTopic(name=name, partitions=list(each.values())) for name, each in found.items()]


API = Api(request=OffsetDeleteRequest, versions="0", handle=offset_delete)
