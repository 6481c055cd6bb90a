"""What releases of Apache Kafka did differently in the coordinator, as switches that rules look at.

The defaults are the group coordinator of Kafka 4 (`GroupMetadataManager`, `OffsetMetadataManager`); up to 3.9 it was
another one (kafka.coordinator.group: `GroupCoordinator`, `GroupMetadataManager`). Which release had what is told by
`kcoord.releases`.
"""

from dataclasses import dataclass
from enum import Enum

from wire.errors import ErrorCode

GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""What may be done with a group where nothing is forbidden: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS
(Apache Kafka `AclEntry.supportedOperations`)."""


class TieOrder(Enum):
    """The hash table whose order decides between protocols with equally many votes."""

    JAVA = "java.util.HashMap"
    SCALA_2_13 = "scala.collection.immutable.HashMap of Scala 2.13"
    SCALA_2_12 = "scala.collection.mutable.HashMap of Scala 2.12"


class StateNames(Enum):
    """How the filter of ListGroups compares names of states (KIP-518)."""

    EXACTLY = "to the letter"
    ANY_CASE = "without regard to case"
    ANY_CASE_TRIMMED = "without regard to case, and to blanks around them"


class OffsetValues(Enum):
    """As what a committed offset is written where its size counts (Apache Kafka OffsetCommitValue)."""

    VERSION_3 = "version 3"
    VERSION_4 = "version 4"
    WITH_TOPIC_ID = "version 4 with the topic's id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """Each field is one difference; its sentence says what is so if it is true, or what its value is."""

    # Joining and rebalancing.

    tie_order: TieOrder = TieOrder.JAVA
    """What decides a tied vote (`ClassicGroup.selectProtocol`; before, `GroupMetadata.selectProtocol`)."""
    each_join_may_complete: bool = False
    """Whether the join phase is over is looked at after each JoinGroup, also a refused one (`doJoinGroup`)."""
    only_first_generation_extends: bool = False
    """The initial delay grows with newcomers in generation 0 only, not whenever the group was Empty
    (`addMemberAndRebalance`)."""
    expiry_spares_initial_delay: bool = False
    """Who expires never ends the initial delay early (`InitialDelayedJoin.tryComplete`)."""
    replaced_member_stays_new: bool = False
    """A static member that restarts in its first join phase has no session that its held request keeps alive
    (`GroupMetadata.replaceStaticMember`)."""
    restarts_never_rebalance: bool = False
    """A static member that restarts outside of a join phase disturbs nobody, whatever its protocols are now
    (`doJoinGroup` before 2.6)."""
    rejoining_keeps_timeouts: bool = False
    """A member that joins again has the timeouts that it joined with first (`GroupMetadata.updateMember` before
    3.3)."""
    checks_unknown_instances: bool = True
    """An instance id that is nobody's is refused; before 3.0 JoinGroup alone did so, the others only refused one that
    is another member's (`validateCurrentMember`)."""
    keeps_who_does_not_sync: bool = False
    """There is no deadline for SyncGroup: who heartbeats stays (before 2.8)."""
    error_generation: int = -1
    """The generation that a refused JoinGroup names."""
    empty_group_id_refused_by_join_only: bool = False
    """The empty group id is INVALID_GROUP_ID in JoinGroup, and unknown elsewhere."""

    # The other requests of members.

    heartbeats_wait_for_sync: bool = False
    """A heartbeat before the assignment is there is answered REBALANCE_IN_PROGRESS."""
    sync_restarts_session: bool = False
    """A SyncGroup that is answered at once starts the session anew (`doSyncGroup`: Stable)."""
    leaves_one_by_one: bool = False
    """Of several that leave in one request each one has its effect before the next (`handleLeaveGroup`)."""
    pending_leave_rebalances: bool = True
    """That a handed-out id is given back begins a rebalance (before, `removePendingMemberAndUpdateGroup`)."""

    # Offsets.

    names_unknown_group: bool = True
    """From OffsetCommit 9 on a commit with a generation is told that there is no such group, not that the generation
    is illegal (`OffsetMetadataManager.validateOffsetCommit`)."""
    too_large_commit: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
    """What is said of a commit that does not fit into one batch (before, `GroupMetadataManager.storeOffsets`)."""
    offset_values: OffsetValues = OffsetValues.WITH_TOPIC_ID
    """As what a committed offset counts when it is asked whether a commit fits into one batch."""
    deletes_as_a_whole: bool = True
    """What one request deletes is deleted if it fits into one batch; before, it was gone from memory in any case
    (`GroupMetadataManager.cleanupGroupMetadata`)."""
    last_offset_takes_group: bool = False
    """A group without members is gone with the last of its offsets that are deleted, and, when topics are deleted,
    so is each that has none (`cleanupGroupMetadata`)."""
    entries_once: bool = False
    """Of what a request about offsets names twice there is one entry in the answer, the last one counting
    (`GroupCoordinatorAdapter`)."""
    skips_empty_topics: bool = False
    """A topic of a commit without partitions is left out, whether it exists or not (before 3.5)."""
    fetches_groups_once: bool = False
    """OffsetFetch answers once for a group that is named twice (before 3.5)."""

    # What is stored, and told.

    stores_from_first_generation: bool = False
    """Nothing is written of a group before its first assignment (`GroupMetadataManager.storeGroup`)."""
    group_records_unnumbered: bool = False
    """A batch about a group has base sequence -1, one of offsets 0 (`GroupMetadataManager`)."""
    assignments_in_stable_only: bool = False
    """DescribeGroups tells of assignments in Stable only (`MemberMetadata.summaryNoMetadata`)."""
    group_operations: int = GROUP_OPERATIONS
    """The bits of what one may do with a group."""
    state_names: StateNames = StateNames.ANY_CASE_TRIMMED
    """How a filter by states reads them."""
    completing_rebalance: str = "CompletingRebalance"
    """The name of that state."""
    describes_once: bool = False
    """DescribeGroups answers once for a group that is named twice."""

    # While nobody coordinates.

    sync_while_loading: ErrorCode = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    """What SyncGroup is told while the group is loaded."""
    session_bounds_first: bool = True
    """The bounds of the session timeout are checked before whether the group is coordinated here."""
    lists_while_loading: bool = False
    """ListGroups tells, beside COORDINATOR_LOAD_IN_PROGRESS, of the groups that are there (`handleListGroups`)."""


LATEST = Behaviour()
