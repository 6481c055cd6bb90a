"""What a store is, and what it raises."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from wire.errors import ErrorCode

Row = tuple[bytes, bytes | None]
"""A key and a value of the offsets topic, in Kafka's own encodings; a None value deletes the key."""


class StoreError(Exception):
    """The store could not do it, and nothing of it was done.

    `code` is what a Kafka broker's own log would have said; the shard turns it into the group's error
    (Apache Kafka `CoordinatorOperationExceptionHelper`).
    """

    def __init__(self, message: str, code: ErrorCode = ErrorCode.KAFKA_STORAGE_ERROR) -> None:
        super().__init__(message)
        self.code = code


class Fenced(StoreError):
    """Another server has taken the partition since: no write with the old epoch will be accepted again."""

    def __init__(self, partition: int, epoch: int, newest: int) -> None:
        super().__init__(
            f"partition {partition} is at epoch {newest}, a write at epoch {epoch} was refused",
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
        )
        self.partition = partition
        self.epoch = epoch
        self.newest = newest


class Store(Protocol):
    """A durable keyed map for each partition: the last value of a key wins, a None value deletes it.

    That is what a compacted topic is to its reader, so a store need not keep anything older.
    """

    async def acquire(self, partition: int) -> int:
        """Take the partition: return an epoch (1 and up) above all earlier ones, which are refused now.

        Raises StoreError.
        """
        ...

    async def append(self, partition: int, epoch: int, rows: Sequence[Row]) -> None:
        """Make all rows durable, in their order, or none of them.

        Raises Fenced when `epoch` is not the partition's newest, and StoreError for every other failure;
        after either, none of the rows is there.
        """
        ...

    def load(self, partition: int) -> AsyncGenerator[tuple[bytes, bytes], None]:
        """Iterate over the partition's living rows, each key once, in any order. Raises StoreError."""
        ...

    async def aclose(self) -> None:
        """Give back what the store holds open."""
        ...
