"""How much memory all logs together take, and how much they may. Pure."""


class LogMemory:
    """A count of bytes with a limit. One serves all partitions of a catalog.

    Batches and producers count with what is known of them, too, so that many small ones do not take several times
    what was granted.
    """

    BATCH_OVERHEAD = 384
    """In bytes: what a batch costs beside its own bytes, rounded up."""
    PRODUCER_SIZE = 1536
    """In bytes: what a producer costs in one partition, rounded up."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        """In bytes; None means no limit."""
        self.used = 0
        """In bytes."""

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more are within the limit."""
        return self.limit is None or self.used + size <= self.limit
