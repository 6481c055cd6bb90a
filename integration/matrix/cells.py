"""The cells of the matrix: a client, a request of it, and the trouble that this request meets once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from integration.clients.clients import CLIENTS, Client
from wire.errors import ErrorCode

SHOWN: Final[Mapping[str, str]] = {
    "kafka-python": "kafka-python",
    "aiokafka": "aiokafka",
    "confluent": "librdkafka (confluent-kafka)",
    "kafkajs": "kafkajs",
    "java": "Java",
    "franz-go": "franz-go",
}
"""The clients, by the names of their folders, and what they are called in the table."""
APIS: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch")
DROPPED: Final = "dropped"
"""The request is handled, and the connection closed without an answer."""
ERRORS: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.FENCED_INSTANCE_ID,
)
TROUBLES: Final = (*(str(int(error)) for error in ERRORS), DROPPED)


@dataclass(frozen=True)
class Cell:
    """What is tried. `trouble` is one of `TROUBLES`."""

    client: str
    api: str
    trouble: str

    @property
    def driver(self) -> Client:
        """What plays the client."""
        return CLIENTS[self.client]

    @property
    def group(self) -> str:
        """Its group, which no other cell has."""
        return f"{self.client}-{self.api}-{self.trouble}"

    @property
    def static(self) -> bool:
        """Whether the member is static: where the error is about static members, and the client has them."""
        return self.trouble == str(int(ErrorCode.FENCED_INSTANCE_ID)) and "static" in self.driver.can

    @property
    def partitions(self) -> int:
        """How many partitions its topic has."""
        return 2 if self.by_another else 1

    @property
    def by_another(self) -> bool:
        """Whether it takes another member, which leaves, to have it ask for offsets.

        It asks for those of partitions that it is newly given only, and of no others when its group rebalances.
        """
        return self.api == "OffsetFetch" and self.client == "kafka-python"

    @property
    def fault(self) -> dict[str, Any]:
        """The fault, as `Kcoord.faults` takes it."""
        action = {"drop": "after"} if self.trouble == DROPPED else {"error": int(self.trouble)}
        return {"api": self.api, "group": self.group, "times": 1, **action}


@dataclass(frozen=True)
class Outcome:
    """What became of a client that met its trouble.

    `what` is "recovered": it commits again what it consumes, and sends heartbeats; "stopped": the application was told
    of an error and nothing more was consumed and committed, or the client ended; "hung": nothing more was, and nothing
    was told; "no heartbeats": it commits, but sends none; or "not met": it never sent the request. `seconds` is the
    time from the trouble to the first commit after which nothing else happened, and `same_member` whether that bears
    the member id of before. `told` are the errors that the application got, each once, `requests` what the client asked
    its coordinator for, and `read_again` how many records it consumed that had been committed before the trouble.
    """

    what: str
    seconds: float | None = None
    same_member: bool | None = None
    told: tuple[str, ...] = ()
    ended: bool = False
    requests: tuple[str, ...] = ()
    read_again: int = 0


def cells(clients: list[str], apis: list[str], troubles: list[str]) -> Iterator[Cell]:
    """Return all cells of these, clients in turn, so that those which start slowly do not start at once."""
    for trouble in troubles:
        for api in apis:
            for client in clients:
                yield Cell(client, api, trouble)
