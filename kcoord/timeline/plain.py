"""A timeline as what JSON can hold: names of fields are those of the dataclasses."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final

from kcoord.timeline.events import Answered, Asked, Beats, Event, LeftOut, Noted
from kcoord.timeline.findings import Finding
from kcoord.timeline.generations import Generation
from kcoord.timeline.names import Names
from kcoord.timeline.sentences import sentence

_DIGITS: Final = 6
"""Of seconds: microseconds."""


def plain_of(
    events: Sequence[Event], generations: Sequence[Generation], findings: Sequence[Finding], names: Names
) -> dict[str, Any]:
    """Return what a timeline holds."""
    return {
        "findings": [plain(each) for each in findings],
        "generations": [{**plain(each), "seconds": plain(each.seconds)} for each in generations],
        "events": [_event(each, names) for each in events],
    }


def _event(event: Event, names: Names) -> dict[str, Any]:
    kind = {Asked: "request", Answered: "answer", Beats: "heartbeats", LeftOut: "left out"}.get(type(event), "")
    told: dict[str, Any] = {"kind": kind}
    if isinstance(event, Noted):
        told = {"kind": type(event.note).__name__, "at": plain(event.at), "wall_ms": event.wall_ms}
        told["note"] = plain(event.note)
    elif isinstance(event, Answered):
        told |= {key: value for key, value in plain(event).items() if key != "asked"}
        told |= {"number": event.asked.number, "api": event.asked.api}
    else:
        told |= plain(event)
    return {**told, "sentence": sentence(event, names)}


def plain(value: Any) -> Any:
    """Return a value in lists, objects, texts, numbers and null; partitions are "topic-0"."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): plain(each) for key, each in value.items()}
    if isinstance(value, (frozenset, set)):
        return [_key(each) for each in sorted(value)]
    return [_key(each) if isinstance(each, tuple) else plain(each) for each in value]


def _key(value: Any) -> str:
    """Write a partition, or whatever else a key is."""
    return f"{value[0]}-{value[1]}" if isinstance(value, tuple) else str(value)
