"""The broker that the clients meet: kcoord in a process of its own, or the reference that the suite is pointed to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient

from integration.clients.driver import Partition

CLIENT_ID = "harness"
"""Of the tests' own operator."""


@dataclass(frozen=True)
class Described:
    """What the server says of a group."""

    state: str
    protocol: str
    members: tuple[Any, ...]


@dataclass(frozen=True)
class World:
    """`log` is kcoord's, and there is none of a reference. The drivers' standard error goes to `logs`."""

    bootstrap: str
    logs: Path
    log: Path | None
    operator: KafkaAdminClient

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic, and return when it can be used."""
        self.operator.create_topics(
            {name: {"num_partitions": partitions, "replication_factor": 1}}, wait_for_metadata=True
        )

    def describe(self, group: str) -> Described:
        """What the server says of a group; Dead if there is none."""
        found = self.operator.describe_groups([group])[group]
        return Described(found["group_state"], found["protocol_data"], tuple(found["members"]))

    def offsets(self, group: str) -> dict[Partition, int]:
        """A group's committed offsets."""
        found = self.operator.list_group_offsets(group)[group]
        return {(each.topic, each.partition): at.offset for each, at in found.items()}
