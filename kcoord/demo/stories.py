"""The five stories, as scripts: who starts when, who leaves, crashes, stalls or comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

TOPIC: Final = "orders"
GROUP: Final = "readers"
PARTITIONS: Final = 6
SESSION_S: Final = 45
"""The default session of Kafka's clients, in seconds."""
MAX_POLL_S: Final = 5
_INITIAL_DELAY: Final = "group.initial.rebalance.delay.ms"


class Kind(StrEnum):
    """What can be done to a member, or to the server's clock."""

    START = "start"
    STOP = "stop"
    """It is closed in good order; a static member does not leave the group by that (KIP-345)."""
    KILL = "kill"
    """Its process is ended by SIGKILL."""
    STALL = "stall"
    """It does not poll any more, as if it were busy with its records; it goes on sending heartbeats."""
    GO_ON = "go on"
    """It polls again."""
    CLOCK = "clock"
    """The server's clock is moved forward."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something is done to a member."""

    kind: Kind
    who: str


@dataclass(frozen=True, slots=True)
class MoveClock:
    """The server's clock is moved forward by so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is done for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Settled:
    """The story goes on when these members, and nobody else, share all partitions."""

    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Back:
    """The story goes on when a static member that was started again has its partitions: there is no rebalance."""

    who: str


Step = Act | MoveClock | Pause | Settled | Back


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One story. `seconds` is about how long it takes, `says` what it is about in one sentence."""

    name: str
    says: str
    seconds: float
    steps: tuple[Step, ...]
    assignor: str = "range"
    static: bool = False
    """Whether members have a `group.instance.id`, which is their name."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the server, by Kafka's names."""
    consumers: Mapping[str, object] = field(default_factory=dict)
    """Settings of the consumers, by kafka-python's names, beside `USUAL`."""

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the members, in the order in which they start."""
        return tuple(dict.fromkeys(self.starts))

    @property
    def starts(self) -> tuple[str, ...]:
        """The name of whoever starts, as often as it does."""
        return tuple(step.who for step in self.steps if isinstance(step, Act) and step.kind is Kind.START)


BUSY_S: Final[Mapping[str, float]] = {"a": 0.1, "b": 0.5, "c": 1.0}
"""How long each member is busy between two polls, as with its records: it joins again no sooner than it polls."""
USUAL: Final[Mapping[str, object]] = {
    "session_timeout_ms": SESSION_S * 1000,
    "heartbeat_interval_ms": 500,
    "max_poll_interval_ms": 60_000,
    "enable_auto_commit": False,
}
"""Settings of the consumers in every story: a member learns of a rebalance within half a second."""

_ONE_BY_ONE: Final[tuple[Step, ...]] = (
    Act(Kind.START, "a"),
    Settled(("a",)),
    Pause(2),
    Act(Kind.START, "b"),
    Settled(("a", "b")),
    Pause(2),
    Act(Kind.START, "c"),
    Settled(("a", "b", "c")),
    Pause(2),
    Act(Kind.STOP, "b"),
    Settled(("a", "c")),
    Pause(2),
)
_TOGETHER: Final[tuple[Step, ...]] = (
    Act(Kind.START, "a"),
    Act(Kind.START, "b"),
    Act(Kind.START, "c"),
    Settled(("a", "b", "c")),
    Pause(2),
)

_ALL: Final = (
    Story(
        name="eager",
        says="Two consumers join and one leaves, with the range assignor: each time all stop.",
        seconds=13,
        steps=_ONE_BY_ONE,
    ),
    Story(
        name="cooperative",
        says="The same with the cooperative-sticky assignor: what stays is read on.",
        seconds=15,
        steps=_ONE_BY_ONE,
        assignor="cooperative-sticky",
    ),
    Story(
        name="static",
        says="Members have a group.instance.id: one restarts in time, then stays away.",
        seconds=15,
        steps=(
            *_TOGETHER,
            Act(Kind.STOP, "b"),
            Pause(2),
            Act(Kind.START, "b"),
            Back("b"),
            Pause(1.5),
            Act(Kind.STOP, "b"),
            Pause(1.5),
            MoveClock(SESSION_S),
            Settled(("a", "c")),
            Pause(1.5),
            Act(Kind.START, "b"),
            Settled(("a", "b", "c")),
            Pause(1.5),
        ),
        static=True,
        settings={_INITIAL_DELAY: 500},
    ),
    Story(
        name="crash",
        says="A consumer is killed; nobody reads its partitions until its session (45 s) ends.",
        seconds=10,
        steps=(
            *_TOGETHER,
            Act(Kind.KILL, "c"),
            Pause(2),
            MoveClock(SESSION_S),
            Settled(("a", "b")),
            Pause(2),
        ),
        settings={_INITIAL_DELAY: 500},
    ),
    Story(
        name="slow",
        says="A consumer exceeds max.poll.interval.ms (5 s here); a rebalance waits for it.",
        seconds=15,
        steps=(
            Act(Kind.START, "a"),
            Act(Kind.START, "b"),
            Settled(("a", "b")),
            Pause(1.5),
            Act(Kind.STALL, "b"),
            Pause(1.5),
            Act(Kind.START, "c"),
            Settled(("a", "c")),
            Pause(1.5),
            Act(Kind.GO_ON, "b"),
            Settled(("a", "b", "c")),
            Pause(1.5),
        ),
        settings={_INITIAL_DELAY: 500},
        consumers={"max_poll_interval_ms": MAX_POLL_S * 1000},
    ),
)
STORIES: Final[Mapping[str, Story]] = {story.name: story for story in _ALL}
