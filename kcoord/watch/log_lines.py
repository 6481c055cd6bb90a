"""Notes as log lines: one note, one line, its fields as they are."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from kcoord import notices
from kcoord.core import notes

LEVELS = MappingProxyType({"debug": 10, "info": 20, "warning": 30, "error": 40})


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesLost:
    """So many lines of this log could not be written: nobody read it, or there was no room for them."""

    lines: int


_LEVEL_OF: Mapping[type, str] = MappingProxyType(
    {
        LinesLost: "warning",
        notes.MemberIdHandedOut: "debug",
        notes.OffsetsCommitted: "debug",
        notes.JoinRefused: "warning",
        notes.JoinPhaseHeldOpen: "warning",
        notes.MemberExpired: "warning",
        notes.PendingMemberExpired: "warning",
        notes.MemberFenced: "warning",
        notices.ShardLoaded: "debug",
        notices.RecordsSkipped: "warning",
        notices.LoadFailed: "error",
        notices.WriteFailed: "error",
        notices.PartitionLost: "error",
        notices.RecordsRefused: "warning",
        notices.MemoryFull: "debug",
        notices.BugFound: "error",
        notices.HandlerFailed: "error",
        notices.ApiVersionUsed: "debug",
        notices.ConnectionClosed: "debug",
        notices.RequestUnreadable: "warning",
        notices.AnswerUnsendable: "error",
        notices.ConnectionRefused: "warning",
        notices.AcceptFailed: "error",
    }
)
"""How loud a note is; those that are not named are plain news: info."""

SHOWN_AT_MOST = 1_000
"""How many characters of an id one line shows: clients may choose ids of thirty thousand."""
TRACEBACK = "traceback"
"""The field of a note that is shown whole, however long: its end says what it is about."""
LISTED_AT_MOST = 20
"""How many members one line names: a large group's ids would fill hundreds of kilobytes at each rebalance."""

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def log_lines(level: str, render: Callable[[object], str], write: Callable[[str], object]) -> Callable[[object], None]:
    """Return a listener that has the line of each note of at least that level written.

    `render` makes the line (see `render_line`), `write` takes it; as notes come in the middle of serving, it must
    neither wait nor raise. Raises KeyError for a level that is not in `LEVELS`.
    """
    lowest = LEVELS[level]
    wanted = {kind: LEVELS[name] >= lowest for kind, name in _LEVEL_OF.items()}
    others_wanted = LEVELS["info"] >= lowest

    def listen(note: object) -> None:
        if wanted.get(type(note), others_wanted):
            write(render(note))

    return listen


def render_line(log_format: str, *, colours: bool = False) -> Callable[[object], str]:
    """Return what makes a line, without its end, of a note: `json`, or for a `console`, in colours or without.

    structlog is loaded here and not before, as servers in tests mostly log nothing.
    """
    import structlog

    renderer: Any
    shown: Callable[[object], object]
    if log_format == "json":
        renderer, shown = structlog.processors.JSONRenderer(), as_it_is
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=colours, sort_keys=False)
        shown = escaped
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    shapes: dict[type, tuple[str, str, tuple[str, ...]]] = {}

    def render(note: object) -> str:
        kind = type(note)
        shape = shapes.get(kind)
        if shape is None:
            names = tuple(each.name for each in fields(note))  # type: ignore[arg-type]
            shape = shapes[kind] = (_WORD.sub("_", kind.__name__).lower(), _LEVEL_OF.get(kind, "info"), names)
        event, level, names = shape
        line: dict[str, Any] = {
            name: shown(getattr(note, name) if name == TRACEBACK else shortened(getattr(note, name))) for name in names
        }
        line |= {"event": event, "level": level}
        return str(renderer(None, level, stamp(None, level, line)))

    return render


def shortened(value: object) -> object:
    """Return a long list of members, or a long text, with its beginning and how much more there is."""
    if isinstance(value, tuple):
        listed = tuple(shortened(each) for each in value[:LISTED_AT_MOST])
        left = len(value) - len(listed)
        return (*listed, f"and {left} more") if left else listed
    if isinstance(value, str) and len(value) > SHOWN_AT_MOST:
        return f"{value[:SHOWN_AT_MOST]}... and {len(value) - SHOWN_AT_MOST} more characters"
    return value


class _Escaped:
    """A text that the renderer shows as Python would write it, in quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text)


def escaped(value: object) -> object:
    """Return what a console may be given, where clients chose the text: no control or format character as it is.

    Those could move the cursor, rewrite earlier lines or turn the order of the letters. The letters of every
    alphabet stay; which characters do not is what `str.isprintable` says (Unicode's categories C and Z). A list is
    shown as Python writes it, and so are the texts in it.
    """
    if isinstance(value, str) and not value.isprintable():
        return _Escaped(value)
    return value


def as_it_is(value: object) -> object:
    """Return the value: JSON has escapes of its own."""
    return value
