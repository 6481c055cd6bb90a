"""A catalogue of faults: one thing each that a broker in this process does wrong while a rule runs against it.

A fault is written as one line, so that a table can name it:

    answer Heartbeat #3 error_code: none     the 3rd Heartbeat is told that nothing is wrong
    answer JoinGroup #2 members.0: empty     ...
    now SyncGroup #1                         the 1st SyncGroup does not wait, but is answered with nothing in it
    late Fetch #1                            the answer to the 1st Fetch comes two seconds later
    other-number Metadata #1                 ... has another correlation id
    more-bytes Metadata #1                   ... is longer than the version allows
    open JoinGroup #1                        the 1st JoinGroup is answered where the broker closes the connection
    then-close Fetch #1                      the connection is closed behind the answer
    clock 2                                  the broker's clock runs twice as fast
    setting group.max.size=1                 the broker has another setting than it should
    forgets OffsetFetch                      the coordinator forgets all that it knows before each OffsetFetch
    mutant NAME                              the server lacks a rule, or has another one (tests.check.mutants)

Requests are counted by API from 1 on, over all connections of the rule. "-" stands for requests that make no sense.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from wire.errors import ErrorCode
from wire.schema import BOOLEAN, BYTES, FLOAT64, NO_UUID, RECORDS, STRING, Array, Message, Primitive, Struct
from wire.schema import UUID as UUID_TYPE

OPAQUE = "-"
LATE = 2.0
"""Seconds by which a late answer is late: more than a rule takes for nothing, less than any session."""
OTHER_ID = UUID("0badcafe-0000-4000-8000-000000000001")
GROUPS = {"Heartbeat", "JoinGroup", "SyncGroup", "LeaveGroup", "OffsetCommit", "OffsetFetch", "DescribeGroups"}
MOST_ENTRIES = 3
"""Entries of one list that are looked into: the first ones."""
LARGEST = {2**7 - 1, 2**15 - 1, 2**31 - 1, 2**63 - 1}
"""Of the kinds of numbers there are."""
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Fault:
    """One of the lines above, taken apart; `path` and `change` are there where an answer is changed."""

    kind: str
    what: str = ""
    number: int = 0
    path: Path = ()
    change: str = ""

    def __str__(self) -> str:
        if not self.number:
            return f"{self.kind} {self.what}"
        start = f"{self.kind} {self.what} #{self.number}"
        return f"{start} {'.'.join(map(str, self.path))}: {self.change}" if self.path else start

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Read such a line."""
        kind, _, rest = text.partition(" ")
        what, hash_, rest_of = rest.partition(" #")
        if not hash_:
            return cls(kind, rest)
        number, _, where = rest_of.partition(" ")
        path, _, change = where.partition(": ")
        parts = tuple(int(part) if part.isdecimal() else part for part in path.split(".")) if path else ()
        return cls(kind, what, int(number), parts, change)


# --- what can be changed in an answer ---


def changes_of(message: Message, version: int, api: str) -> list[tuple[Path, str]]:
    """What can be changed in an answer: (where, how), errors first. That clients are throttled concerns few rules."""
    last = {"error_code": 0, "throttle_time_ms": 2}
    return sorted(_changes(message, version, api, ()), key=lambda one: last.get(one[0][-1], 1))


def _changes(struct: Struct, version: int, api: str, path: Path):
    for row in struct.FIELDS:
        if version not in row.versions:
            continue
        value, here = getattr(struct, row.name), (*path, row.name)
        for change in names_of(value, row.type, row.name, nullable=version in row.nullable):
            yield here, change
        if isinstance(value, Struct):
            yield from _changes(value, version, api, here)
        elif isinstance(value, (list, tuple)) and not isinstance(row.type.item, Primitive):
            for at, one in enumerate(value[:MOST_ENTRIES]):
                yield from _changes(one, version, api, (*here, at))


def names_of(value: Any, kind: Any, name: str, *, nullable: bool) -> list[str]:
    """The changes that make another value of this one."""
    if name == "error_code":
        return ["other"] if value == ErrorCode.NONE else ["none", "other"]
    if name == "records":
        return ["empty"] if value else []
    null = ["null"] if nullable and value is not None and not isinstance(value, Struct) else []
    if isinstance(kind, Array):
        if not value:
            return [*(["empty"] if value is None else []), "one"]
        same = all(one == value[0] for one in value)
        return ["dropped", "doubled", *([] if same else ["reversed"]), *(["empty"] if len(value) > 1 else []), *null]
    if not isinstance(kind, Primitive):
        return []
    if kind is BOOLEAN:
        return ["other"]
    if kind is FLOAT64:
        return ["more"]
    if kind in (STRING, BYTES, RECORDS, UUID_TYPE):
        return ["other", *(["empty"] if value and value != NO_UUID else []), *null]
    return ["more", "less"]


def changed(value: Any, kind: Any, change: str, api: str, version: int) -> Any:
    """The other value."""
    match change:
        case "none":
            return ErrorCode.NONE
        case "null":
            return None
        case "more":
            return value - 2 if value in LARGEST else value + 1
        case "less":
            return value + 2 if -value - 1 in LARGEST else value - 1
        case "dropped":
            return value[:-1]
        case "doubled":
            return [*value, value[-1]]
        case "reversed":
            return value[::-1]
        case "one":
            return [_entry(kind.item, version)]
        case "empty":
            return {STRING: "", UUID_TYPE: NO_UUID}.get(kind, [] if isinstance(kind, Array) else b"")
    assert change == "other", change
    if kind is BOOLEAN:
        return not value
    if kind is STRING:
        return f"{value or ''}x"
    if kind is UUID_TYPE:
        return OTHER_ID
    if kind in (BYTES, RECORDS):
        return (value or b"") + b"x"
    usual = ErrorCode.UNKNOWN_MEMBER_ID if api in GROUPS else ErrorCode.INVALID_REQUEST
    return ErrorCode.UNKNOWN_SERVER_ERROR if value else usual


def _entry(kind: Any, version: int) -> Any:
    """An entry of a list, with one entry in each of its own lists."""
    if isinstance(kind, Primitive):
        return {STRING: "x", UUID_TYPE: OTHER_ID}.get(kind, 0)
    entry = kind()
    for row in kind.FIELDS:
        if isinstance(row.type, Array) and version in row.versions:
            setattr(entry, row.name, [_entry(row.type.item, version)])
    return entry


def change_in(message: Message, version: int, path: Path, change: str, api: str) -> bool:
    """Change one value of an answer, in place; False if there is no such place in it."""
    struct: Any = message
    try:
        for step in path[:-1]:
            struct = struct[step] if isinstance(step, int) else getattr(struct, step)
        row = next(row for row in struct.FIELDS if row.name == path[-1])
        setattr(struct, row.name, changed(getattr(struct, row.name), row.type, change, api, version))
    except (IndexError, AttributeError):
        return False
    return True
