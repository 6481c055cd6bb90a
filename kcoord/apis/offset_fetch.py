"""OffsetFetch (key 9): three layouts of one question.

v2 null topics mean all, top-level error; v3 throttle time; v5 leader epoch (KIP-320); v6 flexible (KIP-482);
v7 require_stable (KIP-447); v8 several groups (KIP-709); v9 member id and epoch, which classic groups do not
look at (KIP-848); v10 topic ids (KIP-516).
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import after, portions
from wire.errors import ErrorCode
from wire.messages import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

TOP_LEVEL_ERROR_SINCE = 2
MANY_GROUPS_SINCE = 8
TOPIC_IDS_SINCE = 10


async def offset_fetch(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """Ask each group's shard, and answer in the order of the request."""
    version = call.context.version
    if version < MANY_GROUPS_SINCE:
        return await _one_group(call, request)
    if version < TOPIC_IDS_SINCE:
        return OffsetFetchResponse(groups=await _ask(call, request.groups, request.require_stable))
    questions = [_by_name(call, group) for group in request.groups]
    answers = await _ask(call, [named for named, _ in questions], request.require_stable)
    return OffsetFetchResponse(
        groups=[_by_id(call, answer, unknown) for answer, (_, unknown) in zip(answers, questions, strict=True)]
    )


async def _ask(
    call: Call, groups: list[OffsetFetchRequestGroup], require_stable: bool
) -> list[OffsetFetchResponseGroup]:
    """Ask about groups, their topics by name; a group that is named twice is answered twice, since Kafka 3.5."""
    behaviour = call.broker.config.behaviour
    if behaviour.fetches_groups_once:
        groups = list({group.group_id: group for group in groups}.values())
    if behaviour.entries_once:
        groups = [once(group) for group in groups]
    answers: list[OffsetFetchResponseGroup] = []
    for portion in portions(groups):
        slots = [
            call.shard_for(group.group_id).begin(
                call.context, OffsetFetchRequest(groups=[group], require_stable=require_stable)
            )
            for group in portion
        ]
        answers += [group for slot in slots for group in (await slot.wait()).groups]
        await after(portion)
    return answers


def once(group: OffsetFetchRequestGroup) -> OffsetFetchRequestGroup:
    """Return the question with each topic and partition once, and without topics of which nothing is asked."""
    if group.topics is None:
        return group
    found: dict[str, dict[int, None]] = {}
    for topic in group.topics:
        if topic.partition_indexes:
            found.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    return OffsetFetchRequestGroup(
        group_id=group.group_id,
        member_id=group.member_id,
        member_epoch=group.member_epoch,
        topics=[OffsetFetchRequestTopics(name=name, partition_indexes=list(each)) for name, each in found.items()],
    )


async def _one_group(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """Versions 1 to 7. Version 1 has no place for an error of the group but the partitions asked for."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    asked = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    (answer,) = await _ask(call, [asked], request.require_stable)
    if answer.error_code != ErrorCode.NONE:
        if call.context.version >= TOP_LEVEL_ERROR_SINCE:
            return OffsetFetchResponse(error_code=answer.error_code)
        answer = OffsetFetchResponseGroup(
            topics=[
                OffsetFetchResponseTopics(
                    name=topic.name,
                    partitions=[_no_offset(index, answer.error_code) for index in topic.partition_indexes],
                )
                for topic in topics or []
            ]
        )
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in answer.topics
        ]
    )


def _by_name(
    call: Call, group: OffsetFetchRequestGroup
) -> tuple[OffsetFetchRequestGroup, list[OffsetFetchRequestTopics]]:
    """Return the question with names for ids, and the topics whose id nobody knows."""
    if group.topics is None:
        return group, []
    known: list[OffsetFetchRequestTopics] = []
    unknown: list[OffsetFetchRequestTopics] = []
    for asked in group.topics:
        topic = call.broker.catalog.by_id(asked.topic_id)
        if topic is None:
            unknown.append(asked)
        else:
            known.append(OffsetFetchRequestTopics(name=topic.name, partition_indexes=asked.partition_indexes))
    named = OffsetFetchRequestGroup(
        group_id=group.group_id,
        member_id=group.member_id,
        member_epoch=group.member_epoch,
        topics=known,
    )
    return named, unknown


def _by_id(
    call: Call, answer: OffsetFetchResponseGroup, unknown: list[OffsetFetchRequestTopics]
) -> OffsetFetchResponseGroup:
    """Return the answer with ids for names, the unknown ids last.

    Offsets of a topic that has no id, being gone, are left out.
    """
    if answer.error_code != ErrorCode.NONE:
        return answer
    found = [(call.broker.catalog.by_name(entry.name), entry.partitions) for entry in answer.topics]
    topics = [
        OffsetFetchResponseTopics(topic_id=topic.topic_id, partitions=partitions)
        for topic, partitions in found
        if topic is not None
    ]
    topics += [
        OffsetFetchResponseTopics(
            topic_id=asked.topic_id,
            partitions=[_no_offset(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in asked.partition_indexes],
        )
        for asked in unknown
    ]
    return OffsetFetchResponseGroup(group_id=answer.group_id, topics=topics)


def _no_offset(index: int, error: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=-1,
        committed_leader_epoch=-1,
        metadata="",
        error_code=error,
    )


API = Api(request=OffsetFetchRequest, versions="1-10", handle=offset_fetch)
