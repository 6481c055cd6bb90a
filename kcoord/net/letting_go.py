"""Giving up messages with very many entries, a piece at a time.

What nobody holds any more, Python frees at once and in one go. Of a request that was large enough, that takes seconds
in which nobody else is served.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from wire.schema import Array, Struct

MANY = 5_000
"""Entries from which freeing a message is felt by others: about a millisecond's work."""
PIECE = 500
"""Entries that are freed in one go."""

_known: dict[type[Struct], tuple[tuple[str, bool], ...]] = {}


def has_many(message: Struct) -> bool:
    """Whether there are so many entries in a message; it is found out in little time."""
    count = 0
    for entries in _arrays(message):
        count += len(entries)
        if count >= MANY:
            return True
    return False


def let_go(held: list[Struct]) -> None:
    """Free messages that nobody else holds, piece by piece: in a thread, others have their turns in between.

    `held` is emptied. What is in the messages stays as it is, for somebody else may hold a part of them.
    """
    pieces = deque(_pieces(held))
    held.clear()
    while pieces:
        pieces.popleft()


def _pieces(held: Sequence[Struct]) -> list[Sequence[object]]:
    """Return all entries in pieces, outer ones first: when what they are in is freed, these still hold them."""
    return [
        entries[start : start + PIECE]
        for message in held
        for entries in _arrays(message)
        for start in range(0, len(entries), PIECE)
    ]


def _arrays(message: Struct) -> Iterator[Sequence[object]]:
    """Yield all arrays of a message that are not empty, outer ones first."""
    for name, has_arrays in _array_fields(type(message)):
        entries = getattr(message, name)
        if entries:
            yield entries
            if has_arrays:
                for entry in entries:
                    yield from _arrays(entry)


def _array_fields(struct: type[Struct]) -> tuple[tuple[str, bool], ...]:
    """Return the names of the fields that are arrays, and whether there are arrays in their entries."""
    known = _known.get(struct)
    if known is None:
        arrays = [(each.name, each.type.item) for each in struct.FIELDS if isinstance(each.type, Array)]
        known = tuple((name, isinstance(item, type) and bool(_array_fields(item))) for name, item in arrays)
        _known[struct] = known
    return known
