"""The plain text of the golden transcripts: reading commands, running them, telling the outcome.

A transcript is a sequence of blocks, separated by empty lines: comments after `#`, one command, a rule of dashes,
and the whole outcome of the command. Requests are numbered; `(3)` in an outcome is the third one.

    join g alice protocols=range[t],sticky[t u]     metadata: a subscription to these topics; `range:text` for bytes
    join g alice id=alice-1 v=4 instance=i1 session=10 rebalance=30 type=consumer reason=why
    sync g alice-1 gen=1 alice-1=A1 bob-2=A2        assignments, as text
    heartbeat g alice-1 gen=1 instance=i1
    leave g alice-1 /i1                             members, or static ones by their instance id
    commit g t/0=5 member=alice-1 gen=1 metadata=text retention=60
    fetch g t/0 t/1                                 all of them where none is named
    describe g, list, delete g, offset-delete g t/0
    advance 3.5                                     seconds
    restart group_max_size=2                        load the records into a new coordinator, with other settings if any
    settings group_max_size=2                       begin with these settings; only as the first command
"""

import re
from typing import Any

from kcoord.core.outcome import Outcome, Record
from wire.errors import ErrorCode, WireError
from wire.payloads import OffsetCommitKey, OffsetCommitValue, Subscription, decode_subscription
from wire.schema import Struct

from .driver import EPOCH_MS, RANGE_T, Call, Driver, sub

RULE = "----"


def run(text: str) -> str:
    """The transcript that comes out when the commands of `text` are run."""
    told = []
    driver = Driver()
    for number, block in enumerate(blocks(text)):
        head, _, _ = block.partition(f"\n{RULE}")
        *comments, command = head.splitlines()
        assert all(line.startswith("#") for line in comments), f"more than one command in {head!r}"
        words = command.split()
        if words[0] == "settings":
            assert number == 0, "settings come first"
            driver = Driver.of(**numbers(words[1:]))
            outcome = ""
        else:
            outcome = perform(driver, words)
        told.append("\n".join([*comments, command, RULE, *outcome.splitlines()]))
    return "\n\n".join(told) + "\n"


def blocks(text: str) -> list[str]:
    return [block for block in re.split(r"\n\s*\n", text.strip()) if block]


def numbers(words: list[str]) -> dict[str, int]:
    return {name: int(value) for name, value in (word.split("=") for word in words)}


# --- commands ---


def perform(driver: Driver, words: list[str]) -> str:
    verb, *rest = words
    plain = [word for word in rest if "=" not in word]
    named = dict(word.split("=", 1) for word in rest if "=" in word)
    known = {name: named.pop(name) for name in KEYWORDS if name in named}
    if verb == "advance":
        return told(driver, driver.advance(float(plain[0])))
    if verb == "restart":
        return told(driver, driver.reload(**{name: int(value) for name, value in named.items()}))
    call = REQUESTS[verb](driver, plain, named, known)
    return told(driver, driver.last, call)


KEYWORDS = (
    "v", "id", "instance", "protocols", "session", "rebalance", "type", "reason", "gen", "member", "metadata",
    "retention",
)  # fmt: skip


def version(known: dict[str, str], newest: int) -> int:
    return int(known.get("v", newest))


def join(driver: Driver, plain: list[str], _named: dict[str, str], known: dict[str, str]) -> Call:
    group, who = plain
    return driver.join(
        group,
        who,
        version(known, 9),
        member_id=known.get("id", ""),
        instance=known.get("instance"),
        protocols=protocols(known["protocols"]) if "protocols" in known else RANGE_T,
        session_ms=round(float(known.get("session", 10)) * 1000),
        rebalance_ms=round(float(known.get("rebalance", 30)) * 1000),
        protocol_type=known.get("type", "consumer"),
        reason=known.get("reason"),
    )


def protocols(text: str) -> tuple[tuple[str, bytes], ...]:
    """`range[t+u]` is a subscription to t and u, `range[t]/x` one with user data, `range:text` any bytes."""
    found = []
    for one in text.split(","):
        topics = re.fullmatch(r"([\w-]+)\[(.*)\](?:/(\w+))?", one)
        if topics:
            name, names, user_data = topics.groups()
            found.append((name, sub(*names.split("+"), user_data=user_data.encode() if user_data else None)))
        else:
            name, _, data = one.partition(":")
            found.append((name, data.encode()))
    return tuple(found)


def sync(driver: Driver, plain: list[str], named: dict[str, str], known: dict[str, str]) -> Call:
    group, member_id = plain
    return driver.sync(
        group,
        member_id,
        int(known["gen"]),
        {name: data.encode() for name, data in named.items()},
        version(known, 5),
        instance=known.get("instance"),
    )


def heartbeat(driver: Driver, plain: list[str], _named: dict[str, str], known: dict[str, str]) -> Call:
    group, member_id = plain
    return driver.heartbeat(group, member_id, int(known["gen"]), version(known, 4), instance=known.get("instance"))


def leave(driver: Driver, plain: list[str], _named: dict[str, str], known: dict[str, str]) -> Call:
    group, *members = plain
    who = [("", one[1:]) if one.startswith("/") else one for one in members]
    return driver.leave(group, *who, version=version(known, 5), reason=known.get("reason"))


def commit(driver: Driver, plain: list[str], named: dict[str, str], known: dict[str, str]) -> Call:
    offsets = {place(name): int(value) for name, value in named.items()}
    retention = known.get("retention")
    return driver.commit(
        plain[0],
        offsets,
        known.get("member", ""),
        int(known.get("gen", -1)),
        version(known, 9 if retention is None else 4),
        instance=known.get("instance"),
        metadata=known.get("metadata", ""),
        retention_ms=-1 if retention is None else round(float(retention) * 1000),
    )


def place(text: str) -> tuple[str, int]:
    topic, _, partition = text.rpartition("/")
    return topic, int(partition)


def places(words: list[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in map(place, words):
        found.setdefault(topic, []).append(partition)
    return found


REQUESTS = {
    "join": join,
    "sync": sync,
    "heartbeat": heartbeat,
    "leave": leave,
    "commit": commit,
    "fetch": lambda driver, plain, _named, known: driver.fetch(plain[0], places(plain[1:]) or None, version(known, 9)),
    "describe": lambda driver, plain, _named, known: driver.describe(*plain, version=version(known, 6)),
    "list": lambda driver, _plain, _named, known: driver.list(version=version(known, 5)),
    "delete": lambda driver, plain, _named, known: driver.delete_groups(*plain, version=version(known, 2)),
    "offset-delete": lambda driver, plain, _named, _known: driver.offset_delete(plain[0], places(plain[1:])),
}


# --- outcomes ---


def told(driver: Driver, outcome: Outcome, call: Call | None = None) -> str:
    """The whole outcome: what waits, the replies, the records, the notes."""
    lines = []
    if call is not None and call.parked:
        lines.append(f"({call.number}) waits")
    lines += [reply_line(reply.token) for reply in outcome.replies]
    lines += [record_line(record) for record in outcome.records]
    lines += [note_line(note) for note in outcome.notes]
    if call is None:
        deadline = driver.coordinator.next_deadline()
        lines.append(f"at {driver.now.mono:g} s" + ("" if deadline is None else f", next look at {deadline:g} s"))
    return "\n".join(lines)


def reply_line(call: Call) -> str:
    name = type(call.response).__name__.removesuffix("Response")
    return f"({call.number}) {name} v{call.version}:{shown(call.response, '      ')}"


def record_line(record: Record) -> str:
    key, value = record.key, record.value
    if isinstance(key, OffsetCommitKey):
        name = f"record {key.group} {key.topic}/{key.partition}:"
        if value is None:
            return f"{name} tombstone"
        assert isinstance(value, OffsetCommitValue)
        parts = [f"offset={value.offset}", f"committed at {seconds(value.commit_timestamp)}"]
        parts += [f"metadata={value.metadata!r}"] if value.metadata else []
        parts += [f"expires at {seconds(value.expire_timestamp)}"] if value.expire_timestamp != -1 else []
        return f"{name} {' '.join(parts)}"
    if value is None:
        return f"record {key.group}: tombstone"
    assert not isinstance(value, OffsetCommitValue)
    since = seconds(value.current_state_timestamp)
    head = (
        f"record {key.group}: generation={value.generation} type={value.protocol_type or '-'} "
        f"protocol={value.protocol or '-'} leader={value.leader or '-'} since {since}"
    )
    members = [
        f"\n      {member.member_id} instance={member.group_instance_id or '-'} client={member.client_id} "
        f"session={member.session_timeout} rebalance={member.rebalance_timeout} "
        f"subscription={data(member.subscription)} assignment={data(member.assignment)}"
        for member in value.members
    ]
    return head + "".join(members)


def seconds(wall_ms: int) -> str:
    return f"{(wall_ms - EPOCH_MS) / 1000:g} s"


def note_line(note: Any) -> str:
    fields = {name: getattr(note, name) for name in note.__dataclass_fields__}
    group = fields.pop("group")
    fields.pop("host", None)
    shown_fields = [f"{name}={value!r}" for name, value in fields.items() if value is not None]
    return " ".join([f"note {group} {type(note).__name__}", *shown_fields])


def shown(value: Struct, indent: str) -> str:
    """Every field that is not at its default, entries of lists on lines of their own."""
    parts, below = [], []
    for row in value.FIELDS:
        one = getattr(value, row.name)
        if row.name == "error_code":
            parts.append(ErrorCode(one).name if one else "ok")
        elif isinstance(one, list) and one and isinstance(one[0], Struct):
            below += [f"\n{indent}{row.name[:-1]}{shown(entry, indent + '  ')}" for entry in one]
        elif one != row.fresh_default():
            parts.append(f"{row.name}={data(one) if isinstance(one, bytes) else one}")
    return "".join(f" {part}" for part in parts) + "".join(below)


def data(raw: bytes) -> str:
    """A subscription as its topics and user data, anything else as text."""
    try:
        read = decode_subscription(raw)
    except WireError:
        return repr(raw.decode())
    assert read == Subscription(topics=read.topics, user_data=read.user_data)
    return f"[{'+'.join(read.topics)}]" + (f"/{read.user_data.decode()}" if read.user_data else "")
