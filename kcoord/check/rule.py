"""How a rule is written, and the list of them all.

    @rule(
        id="H6",
        api="Heartbeat",
        says="A member of the current generation is told nothing.",
        source="Apache Kafka GroupMetadataManager.classicGroupHeartbeat",
        versions="0-4",
        each={"version": range(5)},
    )
    async def h6(world: World, version: int) -> None:
        member = await world.stable1(world.group())
        assert await member.heartbeat(version=version) is ErrorCode.NONE

A script talks to the broker through its `World`, and asserts what the rule says. It uses groups and topics that the
world gave it, and nobody else's. Whatever it raises means that the rule is broken, but for NotApplicable.
"""

import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kcoord.check.names import SHARED
from wire.messages import REQUESTS
from wire.schema import Message, Versions

APIS: Final = {cls.__name__.removesuffix("Request"): cls for cls in REQUESTS.values()}
"""The requests that rules can be about, by Kafka's names."""
CONNECTION: Final = "Connection"
"""What stands in the place of an API in a rule about frames and connections."""
NEWEST: Final = (4, 4)
"""The release by which a broker is judged unless told otherwise, and the newest that the rules tell of."""
OLDEST: Final = (3, 9)
"""The oldest release at which all of its rules were seen to be kept."""
LONG: Final = 60.0
"""Seconds above which a rule is long, and only run if that is asked for."""

Script = Callable[..., Awaitable[None]]
_RULES: dict[str, "Rule"] = {}


@dataclass(frozen=True)
class Case:
    """One of the cases that a rule is run in. `label` is empty if there is but one."""

    label: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Rule:
    """A rule; `rule` tells what each part means."""

    id: str
    api: str
    says: str
    source: str
    versions: str
    script: Script
    cost: float
    settings: Mapping[str, str]
    topics: tuple[str, ...]
    cases: tuple[Case, ...]
    also: tuple[str, ...]
    since: tuple[int, int] | None
    until: tuple[int, int] | None
    alone: bool
    connections: int
    varies: str

    @property
    def request(self) -> type[Message] | None:
        """The request that it is about; None if it is about connections."""
        return APIS.get(self.api)

    @property
    def span(self) -> Versions:
        """The versions of the API that it holds for."""
        return Versions.parse(self.versions)

    @property
    def subject(self) -> str:
        """The module that it is written in."""
        return self.script.__module__.rpartition(".")[2]

    def text(self) -> str:
        """Return the source of its script."""
        lines = inspect.getsource(self.script).splitlines()
        start = next(at for at, line in enumerate(lines) if line.startswith("async def "))
        return "\n".join(lines[start:])


def rule(*, id: str, **parts: Any) -> Callable[[Script], Script]:  # noqa: A002 - what it is called in a report
    """Register a script as a rule; the parts are those of `make`. Raises ValueError, also for an id that is taken."""

    def register(script: Script) -> Script:
        if id in _RULES:
            raise ValueError(f"there are two rules {id}")
        _RULES[id] = make(script, id=id, **parts)
        return script

    return register


def make(
    script: Script,
    *,
    id: str,  # noqa: A002 - what it is called in a report
    api: str,
    says: str,
    source: str,
    versions: str,
    cost: float = 0.3,
    settings: Mapping[str, Any] | None = None,
    topics: tuple[str, ...] = ("t", "u"),
    each: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]] | None = None,
    also: str = "",
    since: str | None = None,
    until: str | None = None,
    alone: bool = False,
    connections: int = 8,
    varies: str = "",
) -> Rule:
    """Make a rule of a script.

    Args:
        script: A conversation with a broker, called with a World and the values of a case.
        id: By which people and reports call it: letters, digits, dots, hyphens.
        api: The request that it is about, by Kafka's name, or "Connection".
        says: One sentence, with a full stop: what the broker does.
        source: Where it comes from: a KIP, a KAFKA number, a class of Apache Kafka.
        versions: Those of the API that it holds for: "4-9", "5", "3+".
        cost: About how many seconds one case waits for a broker with default settings.
        settings: Kafka's broker settings that it needs, by their names; others are at their defaults.
        topics: The shared topics that are needed, out of t, u and wide.
        each: Its cases, as arguments of the script: lists of values by name, for all their combinations, or a list
            of mappings from names to values. Each case has a world of its own.
        also: More ids by which it can be asked for, with blanks between them.
        since: The first release of Apache Kafka in which it holds, as "4.0".
        until: The last one.
        alone: Whether nothing may run beside it, as it is about the whole broker.
        connections: How many connections one case has open at most.
        varies: Why what is said is not the same each time, if it is not; then it is not compared between brokers.

    Raises:
        ValueError: One of them is not so.

    """
    if api not in APIS and api != CONNECTION:
        raise ValueError(f"rule {id} is about {api}, which is no API known here")
    if not says.endswith("."):
        raise ValueError(f"what rule {id} says is no sentence")
    if unknown := set(topics) - SHARED.keys():
        raise ValueError(f"rule {id} needs topics that are not shared: {', '.join(sorted(unknown))}")
    Versions.parse(versions)
    return Rule(
        id=id,
        api=api,
        says=says,
        source=source,
        versions=versions,
        script=script,
        cost=cost,
        settings={name: _setting(value) for name, value in (settings or {}).items()},
        topics=topics,
        cases=_cases(each),
        also=tuple(also.split()),
        since=None if since is None else release(since),
        until=None if until is None else release(until),
        alone=alone,
        connections=connections,
        varies=varies,
    )


def registered() -> dict[str, Rule]:
    """Return the rules of the modules that were imported, by id, in the order in which they stand there."""
    return dict(_RULES)


def release(text: str) -> tuple[int, int]:
    """Read a release of Apache Kafka, as "4.0". Raises ValueError."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def release_text(release: tuple[int, int]) -> str:
    """Write a release as `release` reads it."""
    return f"{release[0]}.{release[1]}"


def _setting(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cases(each: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]] | None) -> tuple[Case, ...]:
    if each is None:
        return (Case("", {}),)
    if isinstance(each, Mapping):
        lists = [list(values) for values in each.values()]
        combinations: list[Mapping[str, Any]] = [
            dict(zip(each, values, strict=True)) for values in itertools.product(*lists)
        ]
    else:
        combinations = list(each)
    labels = [_label(values) for values in combinations]
    return tuple(
        Case(label if labels.count(label) == 1 else f"{label} ({at})", values)
        for at, (label, values) in enumerate(zip(labels, combinations, strict=True), 1)
    )


def _label(values: Mapping[str, Any]) -> str:
    """Return what a case is called: by its value if it has one that is short, else by all of them."""
    return ", ".join(f"{name}={_short(value)}" for name, value in values.items())


def _short(value: object, most: int = 40) -> str:
    name = value.name if isinstance(value, Enum) else getattr(value, "__name__", None)
    text = name if isinstance(name, str) else repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
