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


USUAL_LENGTH = 256
_usual_hash = lru_cache(maxsize=8192)(java_string_hash)
java_string_hash("")
"""Python loads an encoding at its first use; that must not be when there is no descriptor left to load it with."""
