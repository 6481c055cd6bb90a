"""One consumer, as a program: an unmodified kafka-python consumer that polls until it is told otherwise.

It says "ready" on standard output when what it needs is loaded. The first line of standard input is a JSON object: the
`topic`, the `assignor`, the `config` of the consumer, and for how many seconds it is `busy` between two polls, as with
records; each further line is "stall", "go on" or "stop". When standard input ends, which is when whoever started this
is gone, it ends at once.
"""

import json
import logging
import os
import sys
import threading
from typing import Any

from kafka import KafkaConsumer  # type: ignore[import-untyped]
from kafka.coordinator.assignors.cooperative_sticky import (  # type: ignore[import-untyped]
    CooperativeStickyAssignor,
)
from kafka.coordinator.assignors.range import RangePartitionAssignor  # type: ignore[import-untyped]
from kafka.coordinator.base import MemberState  # type: ignore[import-untyped]

_ASSIGNORS = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}
_POLL_MS = 1000
"""How long a poll takes. kafka-python 3.0 forgets a join that is complete between two polls, and joins once more, which
would be a rebalance for no reason; so there are few such moments."""


class _Wishes:
    """What the lines of standard input ask for."""

    def __init__(self) -> None:
        self.polls = threading.Event()
        self.polls.set()
        self.stopping = threading.Event()

    def read(self) -> None:
        for line in sys.stdin:
            wish = line.strip()
            if wish == "stall":
                self.polls.clear()
            elif wish in ("go on", "stop"):
                self.polls.set()
            if wish == "stop":
                self.stopping.set()
        os._exit(0)


def main() -> None:
    """Be a consumer until standard input says that it is enough."""
    logging.disable()
    print("ready", flush=True)
    line = sys.stdin.readline()
    if not line:
        return
    how: dict[str, Any] = json.loads(line)
    wishes = _Wishes()
    threading.Thread(target=wishes.read, daemon=True).start()
    consumer = KafkaConsumer(partition_assignment_strategy=[_ASSIGNORS[how["assignor"]]], **how["config"])
    consumer.subscribe([how["topic"]])
    # The first to join is to know the partitions of its topic, else it joins once more when it does; and the first call
    # may be answered with what was known before.
    for _ in range(2):
        consumer.topics()
    while not wishes.stopping.is_set():
        consumer.poll(timeout_ms=_POLL_MS)
        if consumer.group_metadata().state is MemberState.STABLE:
            wishes.stopping.wait(how["busy"])
        wishes.polls.wait()
    consumer.close()


if __name__ == "__main__":
    main()
