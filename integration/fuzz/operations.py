"""What a sequence does, as data: who is there, and what each of them asks for, one thing after the other.

Nothing in it depends on what a broker answers. "Its member id", "its generation" are found when a sequence is played,
so most operations are those of a client that behaves, and a twist makes one thing about them wrong.
"""

import itertools
from dataclasses import dataclass, replace
from enum import Enum, auto

ACTORS = 4
"""Clients in a sequence, each with a connection of its own. One more connection is an operator's."""


class Kind(Enum):
    """What is done. The first is what shrinking leads to."""

    ADVANCE = auto()
    """What a client does next that behaves: join, sync, heartbeat; nothing while an answer is awaited."""
    ROUND = auto()
    """Everybody who has joined advances, one after the other."""
    MOST = auto()
    """The same, without one of them."""
    HEARTBEAT = auto()
    JOIN = auto()
    SYNC = auto()
    LEAVE = auto()
    COMMIT = auto()
    FETCH = auto()
    DESCRIBE = auto()
    LIST = auto()
    OFFSET_DELETE = auto()
    DELETE_GROUPS = auto()
    FIND = auto()
    DROP = auto()
    """Its connection is closed, whatever is awaited on it."""
    RESTART = auto()
    """It is started anew: with another connection, and without a member id."""
    PAUSE = auto()
    """Half of a short timeout passes, so that none runs out."""
    WAIT = auto()
    """Short timeouts, or the initial rebalance delay, run out."""


class Busy(Enum):
    """Where a request goes whose sender still waits for an answer on its connection."""

    ASIDE = auto()
    """Over the operator's connection; a JoinGroup or SyncGroup is left out."""
    PIPELINE = auto()
    """Behind the one that is held."""
    REPLACE = auto()
    """Over a new connection; the old one is closed."""
    SECOND = auto()
    """Over a new connection; the old one stays open."""


class Twist(Enum):
    """What is unusual about a request. Each kind takes some of them: see `strategies`."""

    # whose id, generation and instance
    NO_ID = auto()
    UNKNOWN_ID = auto()
    OTHERS_ID = auto()
    FORMER_ID = auto()
    HANDED_OUT_ID = auto()
    OLDER = auto()
    NEWER = auto()
    NO_GENERATION = auto()
    OTHERS_INSTANCE = auto()
    UNKNOWN_INSTANCE = auto()
    NO_INSTANCE = auto()
    INSTANCE = auto()
    # which group
    NO_GROUP = auto()
    UNKNOWN_GROUP = auto()
    SECOND_GROUP = auto()
    # JoinGroup and SyncGroup
    OTHER_TYPE = auto()
    NO_TYPE = auto()
    OTHER_PROTOCOL = auto()
    NO_PROTOCOL = auto()
    MORE_PROTOCOLS = auto()
    CHANGED = auto()
    SHORT_SESSION = auto()
    LONG_SESSION = auto()
    REASON = auto()
    NOTHING = auto()
    PARTIAL = auto()
    EXTRA = auto()
    DUPLICATE = auto()
    FOR_ALL = auto()
    # several of something
    BATCH = auto()
    TWICE = auto()
    SEVERAL = auto()
    BY_INSTANCE = auto()
    # offsets
    SIMPLE = auto()
    ALL = auto()
    UNKNOWN_TOPIC = auto()
    UNKNOWN_PARTITION = auto()
    LONG_METADATA = auto()
    NULL_METADATA = auto()
    UNICODE = auto()
    NEGATIVE = auto()
    NO_TOPICS = auto()
    RETENTION = auto()
    AS_MEMBER = auto()
    STABLE = auto()
    # looking
    OPERATIONS = auto()
    STATES = auto()
    UNKNOWN_STATE = auto()
    TYPES = auto()
    UNKNOWN_TYPE = auto()
    KEY_TYPE = auto()


@dataclass(frozen=True)
class Actor:
    """A client: its instance id if it is static, how old it is (versions below the newest), and what it lists."""

    static: bool = False
    age: int = 0
    protocols: int = 0
    short: bool = False
    """Whether it asks for the short one of the timeout that the sequence is about."""


@dataclass(frozen=True)
class Operation:
    """One thing that an actor does; `number` picks a topic, a partition, an offset, a state."""

    kind: Kind
    actor: int = 0
    twists: tuple[Twist, ...] = ()
    busy: Busy = Busy.ASIDE
    age: int = 0
    number: int = 0
    by_twos: bool = False
    """Whether it is a request for each two of its twists, not one with all of them. Where two things are wrong, the
    answer tells which of them is looked at first. None of these requests is made over the actor's own connection, nor
    in a version as old as the actor."""

    def pairs(self) -> list["Operation"]:
        """Return each of the requests by itself."""
        return [replace(self, twists=two) for two in itertools.combinations(self.twists, 2)]

    def __repr__(self) -> str:
        parts = [str(self.actor), *(twist.name for twist in self.twists)]
        parts += [self.busy.name] if self.busy is not Busy.ASIDE else []
        parts += [f"age={self.age}"] if self.age else []
        parts += [f"number={self.number}"] if self.number else []
        parts += ["by twos"] * self.by_twos
        return f"{self.kind.name}({', '.join(parts)})"


class Timing(Enum):
    """Which timeout may run out during a sequence."""

    NONE = auto()
    SESSION = auto()
    REBALANCE = auto()


@dataclass(frozen=True)
class Sequence:
    """Who is there, and what they do."""

    actors: tuple[Actor, ...]
    operations: tuple[Operation, ...]
    timing: Timing = Timing.NONE
    protocol_type: str = "consumer"
    empty: bool = False
    """Whether the group that nobody joins is that of the empty id, which only one sequence may use at a time."""

    def lines(self) -> list[str]:
        """Write it for people."""
        return [
            f"protocol type {self.protocol_type!r}, timeout that runs out: {self.timing.name.lower()}",
            *["the group that nobody joins has the empty id"] * self.empty,
            *(f"actor {number}: {actor}" for number, actor in enumerate(self.actors)),
            *(f"{number:3} {operation}" for number, operation in enumerate(self.operations)),
        ]
