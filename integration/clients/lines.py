"""What the drivers in Python share: one JSON object in, JSON lines out, commands from standard input."""

import dataclasses
import itertools
import json
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_writing = threading.Lock()


@dataclasses.dataclass(frozen=True)
class ConsumerConfig:
    """A member of a group. It has topics or a pattern."""

    bootstrap: str
    client_id: str
    group: str
    assignors: list[str]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    rebalance_timeout_ms: int
    metadata_max_age_ms: int
    topics: list[str] = dataclasses.field(default_factory=list)
    pattern: str | None = None
    instance_id: str | None = None


@dataclasses.dataclass(frozen=True)
class ProducerConfig:
    """Record i is `prefix` + str(i) and goes to partition i % partitions."""

    bootstrap: str
    client_id: str
    topic: str
    count: int
    partitions: int
    prefix: str
    acks: int = -1
    idempotence: bool | None = None
    compression: str = "none"

    def records(self) -> Iterable[tuple[int, bytes, bytes]]:
        """Partition, key and value of each record in turn."""
        for number in range(self.count):
            yield number % self.partitions, str(number).encode(), f"{self.prefix}{number}".encode()


@dataclasses.dataclass(frozen=True)
class AdminConfig:
    """An operator."""

    bootstrap: str
    client_id: str


Config = ConsumerConfig | ProducerConfig | AdminConfig
ROLES: Mapping[str, type[Config]] = {"consumer": ConsumerConfig, "producer": ProducerConfig, "admin": AdminConfig}


def configuration() -> Config:
    """What this process is to be; TypeError for a key that its role does not have, KeyError for an unknown role."""
    (argument,) = sys.argv[1:]
    given = json.loads(argument)
    return ROLES[given.pop("role")](**given)


def tell(event: str, **fields: Any) -> None:
    """Write one event."""
    line = json.dumps({"event": event, **fields})
    with _writing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def tell_partitions(event: str, partitions: Iterable[Any]) -> None:
    """Write an event about partitions; each has a topic and a partition."""
    tell(event, partitions=sorted([each.topic, each.partition] for each in partitions))


def tell_records(records: Sequence[tuple[str, int, int, str]]) -> list[tuple[str, int, int]]:
    """Write an event about (topic, partition, offset, value), and return the positions behind them, to be committed."""
    tell("records", records=records)
    behind: dict[tuple[str, int], int] = {}
    for topic, partition, offset, _ in records:
        behind[topic, partition] = max(offset + 1, behind.get((topic, partition), 0))
    return [(topic, partition, offset) for (topic, partition), offset in behind.items()]


def commands() -> "queue.SimpleQueue[dict[str, Any]]":
    """What is said on standard input, as it is said; its end is a command to close."""
    found: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        for line in itertools.chain(sys.stdin, ['{"do": "close"}']):
            found.put(json.loads(line))

    threading.Thread(target=read, daemon=True).start()
    return found


class Unsupported(Exception):
    """The client has the call, but not for what was asked."""


def serve(operator: object, failures: type[Exception]) -> None:
    """Carry out an operator's commands, each by the method of its name, until told to close.

    A method raises `Unsupported`, or the client's own errors, `failures`: these are told, and the next one is done.
    """
    calls = {name: getattr(operator, name) for name in vars(type(operator)) if not name.startswith("_")}
    found = commands()
    while (command := found.get())["do"] != "close":
        name = command.pop("do")
        if name not in calls:
            tell("unsupported", do=name)
            continue
        try:
            tell("result", do=name, value=calls[name](**command))
        except Unsupported:
            tell("unsupported", do=name)
        except failures as error:
            tell("error", do=name, message=repr(error), code=code_of(error))


def run(
    client: str,
    version: str,
    *,
    consume: Callable[[ConsumerConfig], None],
    produce: Callable[[ProducerConfig], None],
    operate: Callable[[AdminConfig], None],
    failures: type[Exception],
) -> None:
    """Be what the argument says, from "ready" to "closed"; what ends it before is told, and the status is 1."""
    config = configuration()
    tell("ready", client=client, version=version)
    try:
        if isinstance(config, ConsumerConfig):
            consume(config)
        elif isinstance(config, ProducerConfig):
            produce(config)
        else:
            operate(config)
    except failures as error:
        tell("error", message=repr(error), code=code_of(error), fatal=True)
        raise
    tell("closed")


def code_of(error: Exception) -> int | None:
    """Kafka's number of an error, where the client's exception has one."""
    number = getattr(error, "errno", None)  # kafka-python, aiokafka
    if number is None and error.args and hasattr(error.args[0], "code"):  # confluent-kafka
        number = error.args[0].code()
    return number if isinstance(number, int) and number >= -1 else None
