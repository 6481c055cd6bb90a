"""Which partition of the offsets topic, and so which shard, a group belongs to."""

from functools import lru_cache


def java_string_hash(text: str) -> int:
    """Return `String.hashCode()` of Java: over UTF-16 code units, in 32 bits with sign.

    A lone surrogate, which Python strings can hold, counts as the code unit that it is in Java.
    """
    units = memoryview(text.encode("utf-16-be", "surrogatepass"))
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - 0x1_0000_0000 if value & 0x8000_0000 else value


def partition_for(group_id: str, partitions: int) -> int:
    """Return the number (0 and up) of the partition, of `partitions` in all, that holds the group.

    Apache Kafka `Utils.abs(groupId.hashCode) % partitions`, where the absolute value of -2^31 is 0. Producers use
    another hash, and clear the sign bit instead.
    """
    # Only names of usual length are remembered: a client chooses them, and memory is not a client's to fill.
    value = _usual_hash(group_id) if len(group_id) <= USUAL_LENGTH else java_string_hash(group_id)
    return 0 if value == -0x8000_0000 else abs(value) % partitions


def java_hash_map_place(text: str, strings: int) -> int:
    """Return where a Java `HashMap`, into which so many strings were put, keeps this one (`HashMap.hash`, `resize`).

    It has sixteen buckets at first, and twice as many whenever more than three of four would be taken.
    """
    value = java_string_hash(text) & 0xFFFFFFFF
    buckets = 16
    while 4 * strings > 3 * buckets:
        buckets *= 2
    return (value ^ value >> 16) & buckets - 1


def scala_2_13_place(text: str, _strings: int) -> tuple[int, ...]:
    """Return what an immutable HashMap of Scala 2.13 sorts by: the hash, improved, five bits at a time from the lowest.

    (scala.collection.Hashing.improve.) A node has its own entries before those of the nodes below it, which this does
    not tell: that matters only if some of the strings have the same five bits.
    """
    value = java_string_hash(text) & 0xFFFFFFFF
    value = (value + ~(value << 9)) & 0xFFFFFFFF
    value ^= value >> 14
    value = (value + (value << 4)) & 0xFFFFFFFF
    value ^= value >> 10
    return tuple(value >> 5 * level & 31 for level in range(7))


def scala_2_12_place(text: str, _strings: int) -> int:
    """Return where a mutable HashMap of Scala 2.12, of default size, has this string, which is read from its end.

    (scala.collection.mutable.HashTable.improve, scala.util.hashing.byteswap32.)
    """
    value = (java_string_hash(text) * 0x9E3775CD) & 0xFFFFFFFF
    value = int.from_bytes(value.to_bytes(4, "little"), "big") * 0x9E3775CD & 0xFFFFFFFF
    seed = 4
    value = (value >> seed | value << 32 - seed) & 0xFFFFFFFF
    return -(value >> 28)


USUAL_LENGTH = 256
_usual_hash = lru_cache(maxsize=8192)(java_string_hash)
java_string_hash("")
"""Python loads an encoding at its first use; that must not be when there is no descriptor left to load it with."""
