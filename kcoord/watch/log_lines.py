"""Notes as log lines: one note, one line, its fields as they are."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, TextIO

from kcoord import notices
from kcoord.core import notes

LEVELS = MappingProxyType({"debug": 10, "info": 20, "warning": 30, "error": 40})
FORMATS = ("console", "json")

_LEVEL_OF: Mapping[type, str] = MappingProxyType(
    {
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
        notices.BugFound: "error",
        notices.HandlerFailed: "error",
        notices.ConnectionClosed: "debug",
        notices.RequestUnreadable: "warning",
        notices.AnswerUnsendable: "error",
        notices.ConnectionRefused: "warning",
        notices.AcceptFailed: "error",
    }
)
"""How loud a note is; those that are not named are plain news: info."""

LISTED_AT_MOST = 20
"""How many members one line names: a large group's ids would fill hundreds of kilobytes at each rebalance."""

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def log_lines(log_format: str, level: str, file: TextIO) -> Callable[[object], None]:
    """Return a listener that writes each note of at least that level to `file`, as `json` or for a `console`.

    Raises KeyError for a level that is not in `LEVELS`. structlog is loaded here and not before, as servers
    in tests mostly log nothing.
    """
    import structlog

    renderer: Any
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=file.isatty(), sort_keys=False)
    logger = structlog.wrap_logger(
        structlog.PrintLogger(file),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
    )
    lowest = LEVELS[level]
    broken: list[object] = []
    shapes: dict[type, tuple[int, str, tuple[str, ...]]] = {}

    def write(note: object) -> None:
        kind = type(note)
        shape = shapes.get(kind)
        if shape is None:
            names = tuple(each.name for each in fields(note))  # type: ignore[arg-type]
            number = LEVELS[_LEVEL_OF.get(kind, "info")]
            shape = shapes[kind] = (number, _WORD.sub("_", kind.__name__).lower(), names)
        number, event, names = shape
        if number >= lowest and not broken:
            try:
                logger.log(number, event, **{name: shortened(getattr(note, name)) for name in names})
            except OSError:
                # The reader went away, or the disk is full. Groups live on without a log, and there is nobody
                # left who could be told.
                broken.append(note)

    return write


def shortened(value: object) -> object:
    """Return a long list of members with its beginning and how many more there are; anything else as it is."""
    if isinstance(value, tuple) and len(value) > LISTED_AT_MOST:
        return (*value[:LISTED_AT_MOST], f"and {len(value) - LISTED_AT_MOST} more")
    return value
