"""What scripts about commits share: commits whose topics and partitions are listed as they are given."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from kcoord.check.probe import Client
from wire.errors import ErrorCode
from wire.messages import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic

NAMED: Final = range(2, 10)
"""The versions of OffsetCommit that name topics; version 10 has their ids."""
BY_ID: Final = 10


def part(index: int, offset: int = 0, metadata: str | None = "") -> OffsetCommitRequestPartition:
    """Return a partition to commit."""
    return OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)


async def commit_listed(
    client: Client,
    group: str,
    topics: Sequence[tuple[str | UUID, list[OffsetCommitRequestPartition]]],
    version: int | None = None,
    *,
    generation: int = -1,
    member_id: str = "",
) -> list[tuple[str | UUID, list[tuple[int, ErrorCode]]]]:
    """Send OffsetCommit for topics by name, or by id in version 10; return the answer's topics in its order."""
    version = client.newest(OffsetCommitRequest, BY_ID - 1) if version is None else version
    listed = [
        OffsetCommitRequestTopic(topic_id=topic, partitions=parts)
        if isinstance(topic, UUID)
        else OffsetCommitRequestTopic(name=topic, partitions=parts)
        for topic, parts in topics
    ]
    request = OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=generation, member_id=member_id, topics=listed
    )
    answer = await client.call(request, version)
    return [
        (
            topic.topic_id if version >= BY_ID else topic.name,
            [(one.partition_index, ErrorCode(one.error_code)) for one in topic.partitions],
        )
        for topic in answer.topics
    ]
