"""DescribeLogDirs (key 35): how many bytes each log has, and how many there may be (KIP-113).

v2 flexible (KIP-482); v3 top-level error; v4 sizes of the volume (KIP-827); v5 cordoned directories (KIP-1066).
"""

from collections.abc import Iterable

from kcoord.apis.api import Api, Call, weighed
from kcoord.apis.turns import Turns
from kcoord.log.catalog import Topic
from wire.messages import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

LOG_DIR = "memory:"
"""The only one there is, and no directory: its name says where the logs are."""
UNKNOWN_SIZE = -1


async def describe_log_dirs(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Tell of all partitions, or of those asked for that exist.

    The volume is what all records together may take (`memory.limit.bytes`); a part of it is used by what is known of
    each batch.
    """
    memory = call.broker.catalog.memory
    directory = DescribeLogDirsResult(log_dir=LOG_DIR, topics=await logs(call, request.topics))
    if memory.limit is not None:
        directory.total_bytes = memory.limit
        directory.usable_bytes = max(0, memory.limit - memory.used)
    return DescribeLogDirsResponse(results=[directory])


async def logs(call: Call, asked: list[DescribableLogDirTopic] | None) -> list[DescribeLogDirsTopic]:
    """Return the sizes by topic; what is asked for twice is told once."""
    turns, catalog = Turns(), call.broker.catalog
    if asked is None:
        topics = tuple(catalog)
        return [await sizes(turns, topic, range(len(topic.partitions))) for topic in topics]
    wanted: dict[str, set[int]] = {}
    for each in asked:
        await turns.step()
        known = catalog.by_name(each.topic)
        for index in each.partitions:
            await turns.step()
            if known is not None and known.partition(index) is not None:
                wanted.setdefault(each.topic, set()).add(index)
    found = []
    for name, indexes in wanted.items():
        topic = catalog.by_name(name)
        if topic is not None:
            found.append(await sizes(turns, topic, sorted(indexes)))
    return found


async def sizes(turns: Turns, topic: Topic, indexes: Iterable[int]) -> DescribeLogDirsTopic:
    """Return the sizes (bytes) of partitions of one topic."""
    found = DescribeLogDirsTopic(name=topic.name)
    for index in indexes:
        await turns.step()
        partition = topic.partition(index)
        if partition is not None:
            found.partitions.append(
                DescribeLogDirsPartition(partition_index=index, partition_size=partition.size_bytes)
            )
    return found


def weight(response: DescribeLogDirsResponse) -> int:
    """Return how many entries there are to be written."""
    return weighed(1 + len(topic.partitions) for directory in response.results for topic in directory.topics)


API = Api(request=DescribeLogDirsRequest, versions="1-5", handle=describe_log_dirs, weight=weight)
