"""The settings the coordinator's rules read, under Kafka's own names (dots become underscores)."""

from dataclasses import dataclass

from kcoord.core.behaviour import LATEST, Behaviour

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a brand-new member may wait in its first JoinGroup (ms). Not configurable in Kafka either
(`GroupCoordinatorConfig.CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS`)."""

HOLD_OPEN_FLOOR_MS = 1000
"""The shortest pause before a join phase in which nobody rejoined is looked at again (ms).

Kafka restarts the timer with the group's rebalance timeout, whatever it is; with a timeout of 0 that would spin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Limits and delays of classic groups; names and defaults are Apache Kafka's `GroupCoordinatorConfig`.

    Times end in their unit (`_ms`, `_minutes`); `offset_metadata_max_bytes` counts UTF-16 code units, because
    Kafka compares it with the length of a Java string. `message_max_bytes` is what one batch of the offsets topic
    may have (`LogConfig.maxMessageSize` of that topic). `behaviour` is what the release did that is taken as a model.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    message_max_bytes: int = 1_048_588
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    behaviour: Behaviour = LATEST

    @property
    def offsets_retention_ms(self) -> int:
        """The retention in ms."""
        return self.offsets_retention_minutes * 60_000
