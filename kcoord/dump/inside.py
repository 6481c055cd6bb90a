"""What rides inside the bytes of a message: the consumer protocol, and record batches.

Offsets are those in the frame. What was compressed has none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from wire.compression import MOST_UNPACKED
from wire.errors import CorruptRecords
from wire.payloads import Assignment, Subscription
from wire.records import HEADER_SIZE, BatchHeader, Compression, check_crc, read_header, read_record, unpack
from wire.schema import Versioned
from wire.structs import MOST_SPOTS, Trace, struct_of, trace

Path = tuple[str | int, ...]


class Kind(Enum):
    """What stands in a row."""

    VALUE = "value"
    ARRAY = "array"
    STRUCT = "struct"
    UNFINISHED = "unfinished"
    """Reading stopped inside it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One field: where it is, and what. The value of an array is the number of its elements, of a struct None.

    `note` says what the value means. It lies from `offset` to `end`, each None for what has no such place. Bytes are
    `text` if people mean them as text, and `opened` if what is inside them follows.
    """

    path: Path
    offset: int | None
    kind: Kind
    value: Any = None
    note: str = ""
    end: int | None = None
    text: bool = False
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Where reading stopped, why, and the bytes from there on."""

    offset: int | None
    why: str
    rest: bytes = b""
    path: Path = ()


@dataclass(slots=True)
class Room:
    """What reading one frame may still take: rows, and bytes that come out of compressed records."""

    rows: int = MOST_SPOTS
    unpacked: int = MOST_UNPACKED


Found = tuple[list[Row], list[Problem]]
Inside = Callable[[bytes, int, int, Path, Room], Found]
"""Called with the frame, where the bytes begin and end in it, their path, and the room, which it takes from."""

_STRUCTS: Final[dict[tuple[type[Versioned], int], Any]] = {}


def struct_cached(cls: type[Versioned], version: int) -> Any:
    """Return `struct_of`, made once: that takes longer than to read a frame. Raises Unsupported."""
    made = _STRUCTS.get((cls, version))
    if made is None:
        made = _STRUCTS[cls, version] = struct_of(cls, version)
    return made


def rows_of(found: Trace, prefix: Path = ()) -> list[Row]:
    """Make rows of a trace. Tag buffers that are empty are left out."""
    rows = []
    for spot in found.spots:
        path = (*prefix, *spot.path)
        if spot.end is None:
            rows.append(Row(path, spot.start, Kind.UNFINISHED))
        elif isinstance(spot.value, list):
            if spot.value or path[-1] != "tags":
                rows.append(Row(path, spot.start, Kind.ARRAY, len(spot.value), end=spot.end))
        elif isinstance(spot.value, dict):
            number = spot.value.get("tag") if spot.path[-2:-1] == ("tags",) else None
            note = "" if number is None else f"tag {number}"
            rows.append(Row(path, spot.start, Kind.STRUCT, None, note, spot.end))
        else:
            rows.append(Row(path, spot.start, Kind.VALUE, spot.value, end=spot.end))
    return rows


def problems_of(found: Trace, data: bytes, end: int, prefix: Path = ()) -> list[Problem]:
    """Return why a trace stopped, if it did; `end` is where its bytes end in `data`."""
    if found.stopped is None:
        return []
    path = (*prefix, *found.spots[-1].path) if found.spots else prefix
    return [Problem(found.stopped_at, found.stopped, data[found.stopped_at : end], path)]


def _protocol(cls: type[Versioned], name: str) -> Inside:
    """Read a subscription or an assignment: an INT16 version, and what that version says."""

    def look(frame: bytes, start: int, end: int, path: Path, room: Room) -> Found:
        if end - start < 2:
            why = f"{end - start} bytes where the version of a {name} should be"
            return [], [Problem(start, why, frame[start:end], path)]
        stated = int.from_bytes(frame[start : start + 2], "big", signed=True)
        if stated < 0:
            return [], [Problem(start, f"a {name} of version {stated}", frame[start:end], path)]
        rows = [Row((*path, "version"), start, Kind.VALUE, stated, f"{name} of the consumer protocol")]
        version = min(stated, cls.VERSIONS.highest)
        found = trace(struct_cached(cls, version), frame[:end], start + 2, most=room.rows)
        rows += rows_of(found, path)
        room.rows -= len(rows)
        problems = problems_of(found, frame, end, path)
        if not problems and found.end < end:
            why = f"{end - found.end} bytes after the end of a {name}"
            problems = [Problem(found.end, why, frame[found.end : end], path)]
        return rows, problems

    return look


subscription: Final = _protocol(Subscription, "subscription")
assignment: Final = _protocol(Assignment, "assignment")

_HEADER_ROWS: Final = (
    ("base_offset", 0), ("length", 8), ("leader_epoch", 12), ("magic", 16), ("crc", 17), ("attributes", 21),
    ("last_offset_delta", 23), ("base_timestamp", 27), ("max_timestamp", 35), ("producer_id", 43),
    ("producer_epoch", 51), ("base_sequence", 53), ("record_count", 57),
)  # fmt: skip
"""Of record batches of magic 2: names, and where they are."""
_LENGTH_END: Final = 12


def record_batches(frame: bytes, start: int, end: int, path: Path, room: Room) -> Found:
    """Read batches that lie one behind the other; the last one of an answer to Fetch may be cut short."""
    rows: list[Row] = []
    problems: list[Problem] = []
    batches = frame[start:end]
    position = 0
    index = 0
    while position < len(batches) and len(rows) < room.rows:
        here = (*path, "batches", index)
        try:
            header = read_header(batches, position)
        except CorruptRecords as error:
            problems.append(Problem(start + position, str(error), batches[position:], here))
            break
        batch = batches[position : position + header.size]
        rows.append(Row(here, start + position, Kind.STRUCT, note=f"a record batch of {header.size} bytes"))
        rows += _header_rows(batch, header, start + position, here)
        problems += _add_records(rows, batch, header, start + position, here, room)
        position += header.size
        index += 1
    if position < len(batches) and not problems:
        problems.append(Problem(start + position, "that is enough of records", b"", path))
    room.rows -= len(rows)
    return rows, problems


def _header_rows(batch: bytes, header: BatchHeader, at: int, path: Path) -> list[Row]:
    rows = []
    for name, offset in _HEADER_ROWS:
        note = ""
        value = header.size - _LENGTH_END if name == "length" else getattr(header, name)
        if name == "crc":
            note = "right" if check_crc(batch) else "wrong"
        elif name == "attributes":
            note = _attributes(header)
        rows.append(Row((*path, name), at + offset, Kind.VALUE, value, note))
    return rows


def _attributes(header: BatchHeader) -> str:
    try:
        words = ["not compressed" if header.compression is Compression.NONE else header.compression.name.lower()]
    except CorruptRecords as error:
        words = [str(error)]
    words.append("LogAppendTime" if header.is_log_append_time else "CreateTime")
    words += ["transactional"] * header.is_transactional + ["control"] * header.is_control
    return ", ".join(words)


def _add_records(rows: list[Row], batch: bytes, header: BatchHeader, at: int, path: Path, room: Room) -> list[Problem]:
    """Add a row for each record and each part of it, while there is room; return what was wrong."""
    if room.unpacked <= 0:
        return [Problem(at + HEADER_SIZE, "the records before it took all the room there is", b"", path)]
    try:
        records = unpack(batch, header)
    except CorruptRecords as error:
        return [Problem(at + HEADER_SIZE, str(error), batch[HEADER_SIZE:], path)]
    room.unpacked -= len(records)
    packed = header.compression is not Compression.NONE
    position = 0
    for index in range(header.record_count):
        here = (*path, "records", index)
        offset = None if packed else at + HEADER_SIZE + position
        try:
            record, position = read_record(records, position, header)
        except CorruptRecords as error:
            return [Problem(offset, str(error), records[position:], here)]
        if len(rows) + 5 + 3 * len(record.headers) > room.rows:
            return [Problem(offset, "that is enough of records", b"", here)]
        rows.append(Row(here, offset, Kind.STRUCT, note="" if not packed else "unpacked"))
        rows.append(Row((*here, "offset"), None, Kind.VALUE, record.offset))
        rows.append(Row((*here, "timestamp"), None, Kind.VALUE, record.timestamp))
        rows.append(Row((*here, "key"), None, Kind.VALUE, record.key, text=True))
        rows.append(Row((*here, "value"), None, Kind.VALUE, record.value, text=True))
        for number, (name, value) in enumerate(record.headers):
            rows.append(Row((*here, "headers", number), None, Kind.STRUCT, note="a header"))
            rows.append(Row((*here, "headers", number, "name"), None, Kind.VALUE, name))
            rows.append(Row((*here, "headers", number, "value"), None, Kind.VALUE, value, text=True))
    if position < len(records):
        why = f"{len(records) - position} bytes after the {header.record_count} records of a batch"
        return [Problem(None if packed else at + HEADER_SIZE + position, why, records[position:], path)]
    return []
