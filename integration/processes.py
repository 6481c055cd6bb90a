"""A member in a process of its own, so that it can be killed, or frozen, without a word to the server."""

import json
import signal
import subprocess
import sys
import threading
from typing import Any

from kafka import TopicPartition

from integration.members import DEFAULTS, POLL_MS, Partitions
from integration.waiting import changed


class ProcessMember:
    """`assignment` and `generation` are what it said last."""

    def __init__(self, bootstrap: str, group_id: str, topic: str, **config: Any) -> None:
        self.assignment: Partitions = frozenset()
        self.generation = -1
        self.name = config["client_id"]
        full = json.dumps({**DEFAULTS, "bootstrap_servers": bootstrap, "group_id": group_id, **config})
        command = [sys.executable, "-m", "integration.processes", topic, full]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __repr__(self) -> str:
        return f"<process {self.name} generation={self.generation} {sorted(self.assignment)}>"

    def kill(self) -> None:
        """End it at once; the kernel closes its sockets."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def freeze(self) -> None:
        """Stop it as a suspended machine stops; its sockets stay open."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                said = json.loads(line)
                self.generation = said["generation"]
                self.assignment = frozenset(TopicPartition(*each) for each in said["owns"])
                changed()


def main() -> None:
    """Poll for ever, and print a line whenever something changed."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(sys.argv[1], **json.loads(sys.argv[2]))
    for _ in range(2):
        consumer.topics()
    said = None
    while True:
        consumer.poll(timeout_ms=POLL_MS)
        owns = sorted(consumer.assignment())
        line = json.dumps({"generation": consumer.group_metadata().generation_id, "owns": owns})
        if line != said:
            print(line, flush=True)
            said = line


if __name__ == "__main__":
    main()
