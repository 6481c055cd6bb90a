"""What each release of Apache Kafka advertises of the APIs that are served here, as its brokers answer ApiVersions 0.

Asked were, each as it comes and for itself, brokers of 0.11.0.3, 1.0.2, 1.1.1, 2.0.1, 2.1.1, 2.2.2, 2.3.1, 2.4.1,
2.5.1, 2.6.3, 2.7.2 and 2.8.2 with ZooKeeper, and of 3.0.2, 3.1.2, 3.2.3, 3.3.2, 3.4.1, 3.5.2, 3.6.2, 3.7.2, 3.8.1,
3.9.2, 4.0.1, 4.1.1, 4.2.0, 4.3.0 and 4.4.0 without it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wire.schema import Versions

NAMES: Final = (
    *("0.11", "1.0", "1.1"),
    *("2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
    *("4.0", "4.1", "4.2", "4.3", "4.4"),
)
"""All releases that are known, the oldest first."""

TABLE: Final = """
  0 Produce                 0.11: 0-3, 1.0: 0-5, 2.0: 0-6, 2.1: 0-7, 2.4: 0-8, 2.8: 0-9, 3.7: 0-10, 3.8: 0-11,
                            4.0: 0-12, 4.1: 0-13
  1 Fetch                   0.11: 0-5, 1.0: 0-6, 1.1: 0-7, 2.0: 0-8, 2.1: 0-10, 2.3: 0-11, 2.7: 0-12, 3.1: 0-13,
                            3.5: 0-15, 3.7: 0-16, 3.9: 0-17, 4.0: 4-17, 4.1: 4-18
  2 ListOffsets             0.11: 0-2, 2.0: 0-3, 2.1: 0-4, 2.2: 0-5, 2.8: 0-6, 3.0: 0-7, 3.5: 0-8, 3.9: 0-9,
                            4.0: 1-10, 4.2: 1-11
  3 Metadata                0.11: 0-4, 1.0: 0-5, 2.0: 0-6, 2.1: 0-7, 2.3: 0-8, 2.4: 0-9, 2.8: 0-11, 3.1: 0-12,
                            4.0: 0-13
  8 OffsetCommit            0.11: 0-3, 2.0: 0-4, 2.1: 0-6, 2.3: 0-7, 2.4: 0-8, 3.7: 0-9, 4.0: 2-9, 4.2: 2-10
  9 OffsetFetch             0.11: 0-3, 2.0: 0-4, 2.1: 0-5, 2.4: 0-6, 2.5: 0-7, 3.0: 0-8, 3.7: 0-9, 4.0: 1-9,
                            4.2: 1-10
 10 FindCoordinator         0.11: 0-1, 2.0: 0-2, 2.4: 0-3, 3.0: 0-4, 3.8: 0-5, 3.9: 0-6
 11 JoinGroup               0.11: 0-2, 2.0: 0-3, 2.2: 0-4, 2.3: 0-5, 2.4: 0-6, 2.5: 0-7, 3.2: 0-9
 12 Heartbeat               0.11: 0-1, 2.0: 0-2, 2.3: 0-3, 2.4: 0-4
 13 LeaveGroup              0.11: 0-1, 2.0: 0-2, 2.4: 0-4, 3.2: 0-5
 14 SyncGroup               0.11: 0-1, 2.0: 0-2, 2.3: 0-3, 2.4: 0-4, 2.5: 0-5
 15 DescribeGroups          0.11: 0-1, 2.0: 0-2, 2.3: 0-3, 2.4: 0-5, 4.0: 0-6
 16 ListGroups              0.11: 0-1, 2.0: 0-2, 2.4: 0-3, 2.6: 0-4, 3.8: 0-5
 18 ApiVersions             0.11: 0-1, 2.0: 0-2, 2.4: 0-3, 3.9: 0-4, 4.4: 0-5
 19 CreateTopics            0.11: 0-2, 2.0: 0-3, 2.4: 0-5, 2.7: 0-6, 2.8: 0-7, 4.0: 2-7
 20 DeleteTopics            0.11: 0-1, 2.0: 0-2, 2.1: 0-3, 2.4: 0-4, 2.7: 0-5, 2.8: 0-6, 4.0: 1-6
 21 DeleteRecords           0.11: 0, 2.0: 0-1, 2.6: 0-2
 22 InitProducerId          0.11: 0, 2.0: 0-1, 2.4: 0-2, 2.5: 0-3, 2.7: 0-4, 3.8: 0-5
 23 OffsetForLeaderEpoch    0.11: 0, 2.0: 0-1, 2.1: 0-2, 2.3: 0-3, 2.8: 0-4, 4.0: 2-4
 32 DescribeConfigs         0.11: 0, 1.1: 0-1, 2.0: 0-2, 2.6: 0-3, 2.8: 0-4, 4.0: 1-4
 33 AlterConfigs            0.11: 0, 2.0: 0-1, 2.8: 0-2
 35 DescribeLogDirs         1.0: 0, 2.0: 0-1, 2.6: 0-2, 3.2: 0-3, 3.3: 0-4, 4.0: 1-4, 4.3: 1-5
 37 CreatePartitions        1.0: 0, 2.0: 0-1, 2.5: 0-2, 2.7: 0-3
 42 DeleteGroups            1.1: 0, 2.0: 0-1, 2.4: 0-2, 4.4: 0-3
 44 IncrementalAlterConfigs 2.3: 0, 2.4: 0-1
 47 OffsetDelete            2.4: 0
 60 DescribeCluster         2.8: 0, 3.7: 0-1, 4.0: 0-2
 74 ListConfigResources     3.7: 0, 4.1: 0-1
 75 DescribeTopicPartitions 3.8: 0
"""
"""Key and name of each API, and from which release on which versions are offered."""
CONTINUED: Final = "\n" + " " * 28
KEYS: Final[Mapping[str, int]] = MappingProxyType(
    {line.split()[1]: int(line.split()[0]) for line in TABLE.replace(CONTINUED, " ").strip().splitlines()}
)
"""The keys of the APIs, by their names."""


def _read(table: str) -> Mapping[str, Mapping[int, Versions]]:
    found: dict[str, dict[int, Versions]] = {name: {} for name in NAMES}
    for line in table.replace(CONTINUED, " ").strip().splitlines():
        key, _, rest = line.split(maxsplit=2)
        since = dict(each.split(": ") for each in rest.split(", "))
        versions = None
        for name in NAMES:
            versions = Versions.parse(since[name]) if name in since else versions
            if versions is not None:
                found[name][int(key)] = versions
    return MappingProxyType({name: MappingProxyType(ranges) for name, ranges in found.items()})


ADVERTISED: Final = _read(TABLE)
"""The versions of each API, by release and by key."""
