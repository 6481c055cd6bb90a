"""What a control is given, looked at before anything is done: of the right type, and within what can be.

Python lets anything be passed for anything. What is wrong is one sentence that names it, on one line and short
whatever was given; nobody has to guess from an error deep inside.
"""

from collections.abc import Mapping
from math import inf
from typing import TypeGuard

from kcoord.clock import MOST_SECONDS
from kcoord.config import MOST_PARTITIONS
from kcoord.control.errors import Impossible
from kcoord.core.answers import LONGEST_TEXT, fits
from kcoord.shown import is_huge, is_unicode, shown

MOST_NUMBER = 2**31 - 1
"""What fields of 32 bits hold: node ids, partitions, generations."""


def named(what: str, value: object) -> str:
    """Return a name: a text that is not empty, of characters, and no longer than what the protocol has room for.

    `what` it names begins the sentence. Raises Impossible.
    """
    if not isinstance(value, str) or not value:
        raise Impossible(f"{what} is a text that is not empty, not {shown(value)}")
    return text(what, value)


def text(what: str, value: object) -> str:
    """Return a text, which may be empty. Raises Impossible."""
    if not isinstance(value, str):
        raise Impossible(f"{what} is a text, not {shown(value)}")
    if not fits(value):
        raise Impossible(f"{what} has at most {LONGEST_TEXT} bytes as UTF-8: {shown(value)} is longer")
    if not is_unicode(value):
        raise Impossible(f"{what} has half a surrogate pair, which is no character: {shown(value)}")
    return value


def group(value: object) -> str:
    """Return a group's id. Raises Impossible."""
    return named("a group's id", value)


def flag(what: str, value: object) -> bool:
    """Return what is true or false. Raises Impossible."""
    if not isinstance(value, bool):
        raise Impossible(f"{what} is {shown(value)}: it must be true or false")
    return value


def number(what: str, value: object, most: int = MOST_NUMBER) -> int:
    """Return a whole number from 0. Raises Impossible."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Impossible(f"{what} is {shown(value)}: it must be a whole number from 0")
    if value > most:
        raise Impossible(f"{what} is {shown(value)}: it must be at most {most}")
    return value


def most_events(value: object) -> int | None:
    """Return how many events are told, where not all are. Raises Impossible."""
    return None if value is None else number("most_events", value)


def partitions(name: str, value: object) -> int:
    """Return how many partitions a topic is to have. Raises Impossible."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_PARTITIONS:
        raise Impossible(
            f"topic {name} cannot have {shown(value)} partitions: it must be a number from 1 to {MOST_PARTITIONS}"
        )
    return value


def seconds(what: str, value: object) -> float:
    """Return a number of seconds, a year at most. Raises Impossible."""
    if not _is_time(value):
        raise Impossible(f"{what} is {shown(value)}: it must be a number of seconds from 0")
    if value > MOST_SECONDS:
        raise Impossible(f"{what} is {shown(value)}: it must be at most {MOST_SECONDS} s (366 days)")
    return value


def move(value: object) -> float:
    """Return by how many seconds the clock is moved. Raises Impossible."""
    if not _is_time(value):
        raise Impossible(f"the clock only moves forward, by a number of seconds from 0, not {shown(value)}")
    if value > MOST_SECONDS:
        raise Impossible(f"the clock is moved by {MOST_SECONDS} s (366 days) at once at most, not {shown(value)}")
    return value


def _is_time(value: object) -> TypeGuard[float]:
    """Whether it is a number of seconds from 0 on that has an end."""
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < inf


def settings(value: object) -> dict[str, str]:
    """Return settings by their names, as texts; numbers and truth values are written as Kafka writes them.

    Raises Impossible.
    """
    if not isinstance(value, Mapping):
        raise Impossible(f"settings are given by their names, as in a dict, not as {shown(value)}")
    found: dict[str, str] = {}
    for key, each in value.items():
        name = named("a setting's name", key)
        if isinstance(each, bool):
            found[name] = "true" if each else "false"
        elif isinstance(each, int) and not is_huge(each):
            found[name] = str(each)
        elif isinstance(each, float):
            found[name] = repr(each)
        else:
            found[name] = text(f"setting {name}", each)
    return found
