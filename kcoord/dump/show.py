"""Explained frames as text for people, and as JSON for machines. Strings in, strings out."""

import base64
import datetime as dt
import json
import math
import uuid
from typing import Any, Final

from kcoord.config import printable
from kcoord.dump.compare import Finding
from kcoord.dump.explain import Explained
from kcoord.dump.frames import Frame, Remark
from kcoord.dump.inside import Kind, Problem, Row
from wire.errors import ErrorCode

SHORT: Final = 64
"""Bytes of a value, or of what could not be read, that the text form shows unless it is to show all."""
_WIDEST_NAME: Final = 44
_OFFSET_WIDTH: Final = 6
_ERRORS: Final = {each.value: each.name for each in ErrorCode}


def as_text(number: int, explained: Explained, *, whole: bool = False) -> str:
    """Write a frame as lines: one that says what it is, and one for each field; `number` counts frames from 1.

    The column in front is the offset in bytes from the beginning of the frame, where its size is.
    """
    frame = explained.frame
    lines = [printable(f"#{number} {_title(frame)} {_kind(explained)}")]
    table: list[tuple[int | None, str, str]] = [(0, "size", str(int.from_bytes(frame.data[:4], "big", signed=True)))]
    rows = [row for row in (*explained.header, *explained.body) if row.path[-3::2] != ("tags", "tag")]
    table += [(row.offset, _indented(row), _value(row, whole)) for row in rows]
    width = min(max(len(name) for _, name, _ in table), _WIDEST_NAME)
    lines += [_line(offset, name, width, value) for offset, name, value in table]
    for problem in explained.problems:
        lines += _problem(problem, whole)
    return "\n".join(lines) + "\n"


def remark_as_text(remark: Remark) -> str:
    """Write what is no frame as lines."""
    lines = [printable(f"-- {_title(remark)} {remark.text}")]
    if remark.rubbish:
        lines.append(f"   it begins with {_hex(remark.rubbish, whole=False)}")
    return "\n".join(lines) + "\n"


def as_json(number: int, explained: Explained) -> str:
    """Write a frame as one line of JSON, bytes in hex, all of it."""
    frame = explained.frame
    return _dumped(
        {
            "frame": number,
            "time_ms": frame.time_ms,
            "connection": frame.connection,
            "from": frame.source,
            "to": frame.target,
            "kind": _direction(frame),
            "api": explained.api,
            "api_key": explained.key,
            "api_version": explained.version,
            "correlation_id": explained.correlation_id,
            "size": len(frame.data),
            "groups": sorted(explained.groups),
            "header": [_row_as_json(row) for row in explained.header],
            "body": [_row_as_json(row) for row in explained.body],
            "problems": [
                {"offset": each.offset, "path": path_text(each.path), "why": each.why, "rest": each.rest.hex()}
                for each in explained.problems
            ],
        }
    )


def remark_as_json(remark: Remark) -> str:
    """Write what is no frame as one line of JSON."""
    return _dumped(
        {
            "remark": remark.text,
            "time_ms": remark.time_ms,
            "connection": remark.connection,
            "from": remark.source,
            "to": remark.target,
            "rubbish": remark.rubbish.hex(),
        }
    )


def finding_as_text(finding: Finding) -> str:
    """Write what was not as recorded as one line."""
    words = f"connection {finding.connection}"
    if finding.asked is not None:
        words += f", {finding.asked}"
    if finding.difference is None:
        return printable(f"{words}: {finding.text}")
    path, old, new = finding.difference.path, finding.difference.recorded, finding.difference.now
    name = next((each for each in reversed(path) if isinstance(each, str) and each[:1] != "["), "")
    was, now = _told_apart(name, old, new)
    if finding.difference.by_now is not None:
        was += f" (by now {_compared(name, finding.difference.by_now)})"
    # A path has names of topics and groups in it, and a session may say anything.
    return printable(f"{words}: {path_text(path) or 'the whole answer'} was {was}, is {now}")


def _told_apart(name: str, old: Any, new: Any) -> tuple[str, str]:
    """Write two values so that those that differ do not look the same."""
    was, now = _compared(name, old), _compared(name, new)
    if was != now or old == new:
        return was, now
    if isinstance(old, bytes) and isinstance(new, bytes):
        # They are as long as each other, else that would be seen.
        first = next(at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other)
        from_there = f"{was} (from byte {first} on "
        return f"{from_there}{_hex(old[first:], whole=False)})", f"{from_there}{_hex(new[first:], whole=False)})"
    return f"{was} ({type(old).__name__})", f"{now} ({type(new).__name__})"


def _compared(name: str, value: Any) -> str:
    if name.endswith("error_code") and isinstance(value, int) and value in _ERRORS:
        return f"{value} {_ERRORS[value]}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} {_compared(key, each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_compared("", each) for each in value) + "]"
    return _scalar(value, whole=False, text=True)


def path_text(path: tuple[str | int, ...]) -> str:
    """Write a path as people do: `topics[0].name`."""
    steps = (f"[{each}]" if isinstance(each, int) else each if each[:1] == "[" else f".{each}" for each in path)
    return "".join(steps).removeprefix(".")


def kafka_uuid(value: uuid.UUID) -> str:
    """Write an id as Kafka's tools do: base64 without padding (Apache Kafka `Uuid.toString`)."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def _title(what: Frame | Remark) -> str:
    words = []
    if what.time_ms is not None:
        words.append(_time(what.time_ms))
    if what.source or what.target:
        words.append(f"{what.source} > {what.target}")
    return " ".join([*words, f"connection {what.connection}:"])


def _time(time_ms: float) -> str:
    if not math.isfinite(time_ms) or not 0 <= time_ms < 253_402_300_800_000:
        return f"{time_ms} ms"
    moment = dt.datetime.fromtimestamp(time_ms / 1000, dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond:06d}Z"


def _direction(frame: Frame) -> str:
    return "request" if frame.from_client else "response"


def _kind(explained: Explained) -> str:
    what = "an unknown" if explained.api is None else f"{explained.api} v{explained.version}"
    number = "" if explained.correlation_id is None else f", correlation id {explained.correlation_id}"
    return f"{what} {_direction(explained.frame)}{number}, {len(explained.frame.data)} bytes"


def _line(offset: int | None, name: str, width: int, value: str) -> str:
    place = "" if offset is None else str(offset)
    return f"{place:>{_OFFSET_WIDTH}}  {name:<{width}}  {value}".rstrip()


def _indented(row: Row) -> str:
    last = row.path[-1]
    return "  " * (len(row.path) - 1) + (f"[{last}]" if isinstance(last, int) else last)


def _value(row: Row, whole: bool) -> str:
    if row.kind is Kind.UNFINISHED:
        return "(not read to its end)"
    if row.kind is Kind.ARRAY:
        return f"{row.value} of them" if row.value else "none"
    if row.kind is Kind.STRUCT:
        return row.note
    if row.opened:
        return f"{len(row.value)} bytes, in which there is"
    shown = _scalar(row.value, whole, text=row.text)
    return f"{shown}  {row.note}" if row.note else shown


def _scalar(value: Any, whole: bool, *, text: bool) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, uuid.UUID):
        return kafka_uuid(value)
    if isinstance(value, bytes):
        return (_legible(value, whole) if text else None) or _hex(value, whole)
    return str(value)


def _legible(data: bytes, whole: bool) -> str | None:
    """Return bytes as the text that they are; None if they are none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if not text.isprintable():
        return None
    if whole or len(text) <= SHORT:
        return repr(text)
    return f"{text[:SHORT]!r}... {len(data)} bytes"


def _hex(data: bytes, whole: bool) -> str:
    if not data:
        return "no bytes"
    if whole or len(data) <= SHORT:
        return f"{data.hex()} ({len(data)} bytes)"
    return f"{data[:SHORT].hex()}... ({len(data)} bytes)"


def _problem(problem: Problem, whole: bool) -> list[str]:
    place = "" if problem.offset is None else f" at offset {problem.offset}"
    where = f", in {path_text(problem.path)}" if problem.path else ""
    lines = [f"     ! stopped{place}{where}: {problem.why}"]
    if problem.rest:
        lines.append(f"       from there on: {_hex(problem.rest, whole)}")
    return lines


def _row_as_json(row: Row) -> dict[str, Any]:
    size = None if row.end is None or row.offset is None else row.end - row.offset
    shown: dict[str, Any] = {"offset": row.offset, "size": size, "path": path_text(row.path), "kind": row.kind.value}
    shown["value"] = _json_value(row.value)
    if isinstance(row.value, bytes):
        shown["kind"] = "bytes"
    if row.note:
        shown["note"] = row.note
    return shown


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, uuid.UUID):
        return kafka_uuid(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number
    return value


def _dumped(value: dict[str, Any]) -> str:
    """Write JSON in ASCII: names in record headers may have surrogates, which no encoding takes."""
    return json.dumps(value, separators=(",", ":")) + "\n"
