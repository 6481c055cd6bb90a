"""The store that forgets: dictionaries, for tests and for servers nobody restarts."""

from collections.abc import AsyncGenerator, Sequence

import trio

from kcoord.store.base import Fenced, Row


class MemoryStore:
    """A dictionary for each partition. It outlives a shard that reloads, but not the process."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[bytes, bytes]] = {}
        self._epochs: dict[int, int] = {}

    async def acquire(self, partition: int) -> int:
        """See `Store.acquire`."""
        await trio.lowlevel.checkpoint()
        epoch = self._epochs[partition] = self._epochs.get(partition, 0) + 1
        return epoch

    async def append(self, partition: int, epoch: int, rows: Sequence[Row]) -> None:
        """See `Store.append`. Raises Fenced; there is nothing else that could fail."""
        await trio.lowlevel.checkpoint()
        newest = self._epochs.get(partition, 0)
        if epoch != newest:
            raise Fenced(partition, epoch, newest)
        kept = self._rows.setdefault(partition, {})
        for key, value in rows:
            if value is None:
                kept.pop(key, None)
            else:
                kept[key] = value

    async def load(self, partition: int) -> AsyncGenerator[tuple[bytes, bytes], None]:
        """See `Store.load`. What is appended meanwhile is not seen."""
        await trio.lowlevel.checkpoint()
        for row in tuple(self._rows.get(partition, {}).items()):
            yield row

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        await trio.lowlevel.checkpoint()
