"""The check that ListOffsets and Fetch share: whether the client and this broker mean the same leader (KIP-320)."""

from kcoord.log.catalog import Partition
from kcoord.log.epochs import NO_EPOCH
from wire.errors import ErrorCode


def check_leader_epoch(partition: Partition, claimed: int) -> ErrorCode:
    """Return NONE if the client claims no epoch or the right one (Apache Kafka `Partition.checkCurrentLeaderEpoch`)."""
    if claimed in (NO_EPOCH, partition.leader_epoch):
        return ErrorCode.NONE
    if claimed < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH
