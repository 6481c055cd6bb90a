"""What happened to the server rather than to a group, as data: the waiting part's own notes.

They travel with the coordinator's notes (`kcoord.core.notes`) to whoever listens: log lines, metrics, a
timeline.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardLoaded:
    """A partition of the offsets topic is in memory and served; `rows` were read from the store."""

    partition: int
    epoch: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsSkipped:
    """Rows of kinds that this version does not know were left alone while loading, as Kafka does."""

    partition: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFailed:
    """A partition could not be read; it is tried again after `retry_in` seconds."""

    partition: int
    why: str
    retry_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFailed:
    """A write failed: its requests are answered with `error`, and the partition is loaded again."""

    partition: int
    why: str
    error: str
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLost:
    """Another server has taken the partition; this one answers NOT_COORDINATOR for it from now on."""

    partition: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsRefused:
    """Nothing was appended to so many `partitions` of one Produce. The other fields tell of the first of them."""

    client_id: str
    partitions: int
    topic: str
    partition: int
    error: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFull:
    """Records were refused because all records together may take no more than `limit` bytes."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BugFound:
    """The coordinator broke its own rules: its memory is dropped and loaded again. Please report it."""

    partition: int
    request: str
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerFailed:
    """Answering a request failed by a bug; its connection is closed. Please report it."""

    host: str
    port: int
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreated:
    """A topic came into being; `why` says at whose wish."""

    topic: str
    partitions: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDeleted:
    """A topic is no more, and neither are its records and what was committed for it."""

    topic: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsAdded:
    """A topic has more partitions: so many now."""

    topic: str
    partitions: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigured:
    """A topic has other settings of its own: these now, each as KEY=VALUE."""

    topic: str
    settings: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionUsed:
    """A client sent its first request of this API in this version on this connection; later ones are not told.

    What software it is, the client tells in ApiVersions from v3 on (KIP-511): None until it has. The client id is
    that of the one request.
    """

    host: str
    port: int
    client_id: str
    api: str
    version: int
    client_software_name: str | None
    client_software_version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionClosed:
    """A connection is over, and why; `requests` were served on it."""

    host: str
    port: int
    why: str
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestUnreadable:
    """A client sent bytes that are no request, or one that is not served; its connection is closed."""

    host: str
    port: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerUnsendable:
    """An answer does not fit its version, so that its connection had to be closed.

    A name that a client made as long as names may be can cause this, where it comes back with something added
    to it (a member id is a client id and more); anything else is a bug.
    """

    host: str
    port: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRefused:
    """There were `max.connections` already; the new one was closed."""

    host: str
    port: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptFailed:
    """No connection could be accepted for lack of descriptors or memory; it is tried again shortly."""

    listener: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """The server accepts connections."""

    address: str
    listener: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMoved:
    """The server's clock was moved forward by so many seconds; what was due by then happens after this.

    With `heartbeats` members whose connection was open counted as having sent heartbeats meanwhile.
    """

    seconds: float
    heartbeats: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockFrozen:
    """The server's clock stands still from now on: it is moved by hand alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockResumed:
    """The server's clock, which stood still, goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStopped:
    """A logical broker was stopped: its connections end, and its addresses refuse new ones."""

    node_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStarted:
    """A logical broker was started again."""

    node_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorMoved:
    """Another broker leads a partition of __consumer_offsets, which has these groups; -1 stands for no broker."""

    partition: int
    source: int
    target: int
    groups: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorLoads:
    """A partition of __consumer_offsets, which has these groups, loads for so many seconds, as somebody wished."""

    partition: int
    seconds: float
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReceived:
    """A request was read, and is handled from now on. It is told to those alone who listen to requests.

    `number` counts the requests that were told of, from 1; `connection` the connections of the server, from 1.
    `host` and `port` are the client's. `request` is the message, of the class that `api` names.
    """

    number: int
    connection: int
    host: str
    port: int
    client_id: str
    node_id: int
    api: str
    version: int
    request: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswered:
    """The request of that number has its answer, which is sent now, or gets none: then `response` is None.

    A request gets no answer if it asks for none, if its connection ends meanwhile, or by a fault. `fault` is the
    sentence of the fault that had a hand in it, "" without one. An answer that turns out to fit no bytes is followed by
    `AnswerUnsendable`.
    """

    number: int
    response: Any
    fault: str


RequestNotice: TypeAlias = RequestReceived | RequestAnswered
