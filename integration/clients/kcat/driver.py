"""kcat as a consumer, a producer or an operator: a wrapper that runs it and makes events of what it prints."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import tty
from collections import defaultdict
from pathlib import Path
from typing import Any

from integration.clients import lines

UNPACKED = Path(sys.argv.pop(1)) / "usr"
KCAT = [str(UNPACKED / "bin" / "kcat"), "-F", os.devnull]
"""Without the settings of whoever runs this."""
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, (UNPACKED / "lib").glob("*-linux-*")))}
if not ENVIRONMENT["LD_LIBRARY_PATH"]:
    del ENVIRONMENT["LD_LIBRARY_PATH"]  # the system's own kcat
COMMIT_MS = 500
REBALANCED = re.compile(
    r"% Group \S+ rebalanced(?:: incremental (?P<incremental>assignment|revoke) of \d+ partition\(s\))? "
    r"\(memberid [^)]*\): (?:(?P<eager>assigned|revoked): )?(?P<which>.*)"
)
EVENTS = {"assignment": "assigned", "assigned": "assigned", "revoke": "revoked", "revoked": "revoked"}
PARTITION = re.compile(r"(\S+) \[(\d+)\]")
RECORD = re.compile(r"R (\S+) (\d+) (\d+) (.*)")


class Failed(Exception):
    """kcat ended with an error."""


def properties(**values: Any) -> list[str]:
    """Properties of librdkafka as kcat takes them; what is None is left out."""
    given = {name.replace("_", "."): value for name, value in values.items() if value is not None}
    return [word for name, value in given.items() for word in ("-X", f"{name}={value}")]


def consume(config: lines.ConsumerConfig) -> None:
    found = lines.commands()
    told = properties(
        client_id=config.client_id,
        group_instance_id=config.instance_id,
        partition_assignment_strategy=",".join(config.assignors),
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        max_poll_interval_ms=config.rebalance_timeout_ms,
        topic_metadata_refresh_interval_ms=config.metadata_max_age_ms,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=COMMIT_MS,
    )
    topics = config.topics if config.pattern is None else [config.pattern]
    command = [*KCAT, "-E", "-b", config.bootstrap, "-G", config.group, "-f", "R %t %p %o %s\\n", *told, *topics]
    # One terminal for both of its outputs: what it prints stays in order, and comes line by line.
    mine, its = os.openpty()
    tty.setraw(its)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=ENVIRONMENT, close_fds=True
    )
    os.close(its)
    reader = threading.Thread(target=read, args=(mine,))
    reader.start()
    stopper = threading.Thread(target=stop, args=(process, found), daemon=True)
    stopper.start()
    reader.join()
    if process.wait() != 0:
        raise Failed(f"exit status {process.returncode}")


def stop(process: "subprocess.Popen[bytes]", found: Any) -> None:
    """End it in order when told to."""
    assert found.get() == {"do": "close"}
    process.send_signal(signal.SIGTERM)


def read(terminal: int) -> None:
    """Make events of the lines until the other end is closed."""
    rest = b""
    with contextlib.suppress(OSError):  # so a terminal ends
        while data := os.read(terminal, 1 << 16):
            *whole, rest = (rest + data).split(b"\n")
            understand([line.decode() for line in whole])
    os.close(terminal)


def understand(printed: list[str]) -> None:
    """Tell what these lines say; records that follow each other are one event."""
    records: list[tuple[str, int, int, str]] = []
    for line in printed:
        if record := RECORD.fullmatch(line):
            topic, partition, offset, value = record.groups()
            records.append((topic, int(partition), int(offset), value))
            continue
        if records:
            lines.tell_records(records)
            records = []
        if moved := REBALANCED.fullmatch(line):
            which = [[topic, int(number)] for topic, number in PARTITION.findall(moved["which"])]
            lines.tell(EVENTS[moved["incremental"] or moved["eager"]], partitions=which)
        elif line.startswith("% ERROR: "):
            lines.tell("error", message=line, code=None, fatal=False)
        else:
            print(line, file=sys.stderr)
    if records:
        lines.tell_records(records)


def produce(config: lines.ProducerConfig) -> None:
    """Once for each partition: kcat is told one for all that it reads."""
    by_partition: defaultdict[int, list[bytes]] = defaultdict(list)
    for partition, key, value in config.records():
        by_partition[partition].append(key + b"\t" + value + b"\n")
    idempotence = None if config.idempotence is None else str(config.idempotence).lower()
    told = properties(client_id=config.client_id, acks=config.acks, enable_idempotence=idempotence)
    for partition, texts in by_partition.items():
        command = [*KCAT, "-b", config.bootstrap, "-P", "-t", config.topic, "-p", str(partition), "-K", "\\t"]
        run([*command, "-z", config.compression, *told], b"".join(texts))
    lines.tell("produced", count=config.count)


def run(command: list[str], given: bytes = b"") -> bytes:
    """Run it to its end, and return what it printed."""
    done = subprocess.run(command, input=given, capture_output=True, env=ENVIRONMENT)
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.flush()
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode}: {done.stderr.decode()}")
    return done.stdout


class Operator:
    """What can be asked with -L and -Q."""

    def __init__(self, config: lines.AdminConfig) -> None:
        self._start = [*KCAT, "-b", config.bootstrap, *properties(client_id=config.client_id)]

    def _metadata(self, *arguments: str) -> dict[str, Any]:
        return json.loads(run([*self._start, "-L", "-J", *arguments]))

    def describe_topic(self, topic):
        (found,) = self._metadata("-t", topic)["topics"]
        if "error" in found:
            raise Failed(found["error"])
        return {"partitions": len(found["partitions"])}

    def describe_cluster(self):
        found = self._metadata()
        addresses = ((each["id"], *each["name"].rsplit(":", 1)) for each in found["brokers"])
        brokers = [(number, host, int(port)) for number, host, port in addresses]
        return {"cluster_id": None, "controller": found["controllerid"], "brokers": brokers}

    def topic_offsets(self, topic, timestamp):
        count = self.describe_topic(topic)["partitions"]
        asked = [word for number in range(count) for word in ("-t", f"{topic}:{number}:{timestamp}")]
        printed = run([*self._start, "-Q", *asked]).decode()
        found = re.findall(r"\[(\d+)\] offset (-?\d+)$", printed, re.MULTILINE)
        return [(int(number), int(offset)) for number, offset in found]


def operate(config: lines.AdminConfig) -> None:
    lines.serve(Operator(config), Failed)


def version() -> str:
    (found,) = re.findall(r"^Version ([\d.]+)", run([*KCAT, "-V"]).decode(), re.MULTILINE)
    return found


if __name__ == "__main__":
    lines.run("kcat", version(), consume=consume, produce=produce, operate=operate, failures=Failed)
