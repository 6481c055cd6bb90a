"""The names that rules use at a broker which is not theirs: topics that were made for them, and names of their own."""

from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

from kcoord.check.limits import NONE, Limits
from kcoord.check.outcome import NotApplicable

SHARED = {"t": 3, "u": 3, "wide": 1000}
"""The topics that rules share, and how many partitions each has. Nobody writes records to them."""
INITIAL_DELAY: Final = 3.0
"""Seconds that a new group waits for members at Kafka's default. In that time several can join one after the other."""


@dataclass
class Names:
    """What one run of one rule calls its topics and groups.

    `prefix` begins all of them. `shared` are the names of the shared topics; what it lacks was not made, and `lacking`
    says why. `groups` and `topics` remember every name that was given out, in order, for whoever cleans up.

    `initial_delay` is how many seconds a new group waits for members there, and `begun` are those groups of which a
    member was told a generation.
    """

    prefix: str = ""
    shared: dict[str, str] = field(default_factory=lambda: {name: name for name in SHARED})
    lacking: str = "the shared topics were not made"
    groups: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    initial_delay: float = INITIAL_DELAY
    begun: set[str] = field(default_factory=set)
    limits: Limits = NONE
    """What the broker's settings forbid, in a rule that does not name them."""

    @property
    def t(self) -> str:
        """A topic of 3 partitions. Raises NotApplicable if it could not be made."""
        return self._shared("t")

    @property
    def u(self) -> str:
        """Another topic of 3 partitions. Raises NotApplicable if it could not be made."""
        return self._shared("u")

    @property
    def wide(self) -> str:
        """A topic of 1000 partitions. Raises NotApplicable if it could not be made; a rule has to ask for it."""
        return self._shared("wide")

    @property
    def subscribed(self) -> str:
        """What members subscribe to who do not care: t, whether it exists or not."""
        return self.shared.get("t", f"{self.prefix}t")

    def group(self, stem: str = "g") -> str:
        """Return a group id that nobody has used."""
        self.groups.append(f"{self.prefix}{stem}-{_number(len(self.groups))}")
        return self.groups[-1]

    def let_wait(self, group: str) -> None:
        """Say that a group, if it is new, is to wait until several have joined one after the other.

        Raises NotApplicable if the broker's initial delay is too short for that.
        """
        if group not in self.begun and self.initial_delay < INITIAL_DELAY:
            raise NotApplicable(
                f"a new group waits for members for {self.initial_delay:g} s at this broker, "
                f"and would have to for {INITIAL_DELAY:g} s, so that several can join"
            )

    def topic(self, stem: str = "new") -> str:
        """Return a topic's name that nobody has used; if a topic of that name is made, it is removed in the end."""
        self.topics.append(f"{self.prefix}{stem}-{_number(len(self.topics)).hex}")
        return self.topics[-1]

    def derived(self, name: str, suffix: str) -> str:
        """Return a longer name than one that was given out; if a topic of that name is made, it is removed, too."""
        self.topics.append(f"{name}{suffix}")
        return self.topics[-1]

    def _shared(self, name: str) -> str:
        if name not in self.shared:
            raise NotApplicable(self.lacking)
        return self.shared[name]


def _number(count: int) -> UUID:
    """Return a number that nobody has, and that is larger than those that were given out before it.

    So a script that sorts its names does the same in each run.
    """
    return UUID(f"{count:08x}{uuid4().hex[8:]}")
