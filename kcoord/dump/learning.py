"""Values that a broker makes up: what stood for what in the recording, and what stands for it now.

Ids are told apart by what they are ids of, and each stands for one other, in both directions: two members that were
different have to be different again. Which is which is learned where they are seen first, in answers.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final

from crc32c import crc32c

from wire.errors import CorruptRecords
from wire.messages import PartitionProduceData
from wire.records import read_header, split
from wire.schema import NO_UUID, Array, Struct

MEMBER, TOPIC, NODE, PRODUCER, CLUSTER, FETCH_SESSION = "member", "topic", "node", "producer", "cluster", "session"
GENERATION: Final = "generation"
"""Of one group: followed by its name."""

KINDS: Final = {
    "member_id": MEMBER,
    "leader": MEMBER,
    "topic_id": TOPIC,
    "node_id": NODE,
    "broker_id": NODE,
    "broker_ids": NODE,
    "leader_id": NODE,
    "controller_id": NODE,
    "replica_nodes": NODE,
    "isr_nodes": NODE,
    "offline_replicas": NODE,
    "preferred_read_replica": NODE,
    "producer_id": PRODUCER,
    "cluster_id": CLUSTER,
    "session_id": FETCH_SESSION,
    "generation_id": GENERATION,
    "generation_id_or_member_epoch": GENERATION,
    "member_epoch": GENERATION,
}
"""Names of fields whose values are made up by a broker, and what they are ids of."""
_NO_IDS: Final = (None, "", -1, NO_UUID)
_PRODUCER_ID: Final = 43
"""Where in a record batch it is."""
_CRC, _CRC_START = 17, 21


def is_id(kind: str, value: object) -> bool:
    """Whether a value stands for something, and not for nothing."""
    return value not in _NO_IDS and not (kind == FETCH_SESSION and value == 0)


def kind_of(name: str, group: str) -> str | None:
    """Return what the values of a field are ids of; `group` is the one that is spoken of. None: they are none."""
    kind = KINDS.get(name)
    return f"{GENERATION} {group}" if kind == GENERATION else kind


class Ids:
    """What stands for what: recorded values, and those of now."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, Any], Any] = {}
        self._recorded: dict[tuple[str, Any], Any] = {}

    def agree(self, kind: str, recorded: Any, now: Any) -> bool:
        """Whether two ids may stand for each other; if neither has been seen, they do from here on."""
        if not is_id(kind, recorded) or not is_id(kind, now):
            return bool(recorded == now)
        if (kind, recorded) not in self._now and (kind, now) not in self._recorded:
            self._now[kind, recorded] = now
            self._recorded[kind, now] = recorded
        return bool(self._now.get((kind, recorded), recorded) == now)

    def now(self, kind: str, recorded: Any) -> Any:
        """Return what a recorded id is now; itself, if nothing is known of it."""
        return self._now.get((kind, recorded), recorded)

    def knows(self, kind: str, recorded: Any) -> bool:
        """Whether it is known what a recorded id is now."""
        return (kind, recorded) in self._now

    def is_taken(self, kind: str, now: Any) -> bool:
        """Whether it is known what an id of now was in the recording."""
        return (kind, now) in self._recorded

    def text(self, recorded: str) -> str:
        """Return a text with the ids in it that are texts replaced, as in the message of an error."""
        for (_, old), new in self._now.items():
            if isinstance(old, str) and isinstance(new, str) and len(old) > 1:
                recorded = recorded.replace(old, new)
        return recorded


def put_in(message: Struct, ids: Ids, group: str = "") -> bool:
    """Put the ids of now into a recorded request; return whether anything changed.

    Metadata and assignments of members are left as they are: a generation in there is that of the recording.
    """
    changed = False
    group = _group_of(message, group)
    for each in message.FIELDS:
        value = getattr(message, each.name)
        kind = kind_of(each.name, group)
        new = value
        if kind is not None:
            new = [ids.now(kind, item) for item in value] if isinstance(value, list) else ids.now(kind, value)
        elif isinstance(message, PartitionProduceData) and each.name == "records" and value:
            new = _with_producers(value, ids)
        if new != value:
            setattr(message, each.name, new)
            changed = True
        for inner in _structs(each.type, value):
            changed |= put_in(inner, ids, group)
    return changed


def _group_of(message: Struct, otherwise: str) -> str:
    found = getattr(message, "group_id", otherwise)
    return found if isinstance(found, str) and found else otherwise


def _structs(of: object, value: Any) -> Iterator[Struct]:
    if isinstance(of, Array):
        for item in value or ():
            yield from _structs(of.item, item)
    elif isinstance(value, Struct):
        yield value


def _with_producers(records: bytes, ids: Ids) -> bytes:
    """Put the producer ids of now into record batches; what is none is left as it is, to be refused."""
    try:
        return b"".join(_with_producer(batch, ids) for batch in split(records))
    except CorruptRecords:
        return records


def _with_producer(batch: bytes, ids: Ids) -> bytes:
    recorded = read_header(batch).producer_id
    now = ids.now(PRODUCER, recorded)
    if now == recorded:
        return batch
    changed = bytearray(batch)
    struct.pack_into(">q", changed, _PRODUCER_ID, now)
    struct.pack_into(">I", changed, _CRC, crc32c(bytes(changed[_CRC_START:])))
    return bytes(changed)
