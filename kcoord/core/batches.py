"""How large what is written is: the records of one request are one batch of the offsets topic, or are not written."""

from collections.abc import Iterator, Sequence

from kcoord.core.answers import fits
from kcoord.core.behaviour import OffsetValues
from kcoord.core.outcome import Record
from kcoord.core.settings import GroupSettings
from wire.messages import OffsetCommitRequest
from wire.payloads import encode_key, encode_value
from wire.primitives import write_uvarint
from wire.records import HEADER_SIZE, size_of, size_of_lengths

NO_RETENTION = -1
MOST_FRAMING = 80
"""Bytes that a committed offset takes at most beside its texts: in its key, in its value, and around them."""


def too_large(settings: GroupSettings, records: Sequence[Record]) -> bool:
    """Whether records are more than one batch of the offsets topic may have (`max.message.bytes`); none never are.

    Apache Kafka finds that out when it appends them (`CoordinatorRuntime.append`, an atomic write), and tells clients
    UNKNOWN_SERVER_ERROR (`CoordinatorOperationExceptionHelper`). What it does of itself, as retention is, may be
    several batches.

    Raises:
        wire.errors.Unsendable: A record has no bytes.

    """
    rows = [
        (encode_key(record.key), None if record.value is None else encode_value(record.value)) for record in records
    ]
    return bool(rows) and size_of(rows) > settings.message_max_bytes


def commit_too_large(settings: GroupSettings, request: OffsetCommitRequest) -> bool:
    """Whether the offsets that a commit may store are more than one batch may have.

    Most commits are so far from it that a sum of the texts tells.
    """
    return (
        most_bytes(request) > settings.message_max_bytes
        and size_of_lengths(commit_lengths(settings, request)) > settings.message_max_bytes
    )


def most_bytes(request: OffsetCommitRequest) -> int:
    """Return how many bytes the records of a commit have at most."""
    group = bytes_of(request.group_id)
    total = HEADER_SIZE
    for topic in request.topics:
        total += (MOST_FRAMING + group + bytes_of(topic.name)) * len(topic.partitions)
        total += sum(bytes_of(one.committed_metadata or "") for one in topic.partitions)
    return total


def commit_lengths(settings: GroupSettings, request: OffsetCommitRequest) -> Iterator[tuple[int, int]]:
    """Return the lengths of the keys and values that Kafka writes for a commit.

    A value with an expiry has version 1 (Apache Kafka `GroupCoordinatorRecordHelpers.newOffsetCommitRecord`).
    """
    group = bytes_of(request.group_id)
    for topic in request.topics:
        key = 10 + group + bytes_of(topic.name)
        for one in topic.partitions:
            metadata = one.committed_metadata or ""
            if not can_keep(settings, metadata):
                continue
            length = bytes_of(metadata)
            if request.retention_time_ms != NO_RETENTION:
                yield key, 28 + length
            else:
                yield key, around(settings.behaviour.offset_values, length) + length


def around(values: OffsetValues, length: int) -> int:
    """Return how many bytes a committed offset has beside its metadata, which has that length in bytes."""
    if values is OffsetValues.VERSION_3:
        return 24
    topic_id = 18 if values is OffsetValues.WITH_TOPIC_ID else 0
    return 23 + topic_id + len(write_uvarint(length + 1))


def can_keep(settings: GroupSettings, metadata: str) -> bool:
    """Whether the metadata of an offset is not too long, counted as Java does, in UTF-16 code units."""
    return utf16_length(metadata) <= settings.offset_metadata_max_bytes and fits(metadata)


def utf16_length(text: str) -> int:
    """Return the length of `text` as a Java string."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2


def bytes_of(text: str) -> int:
    """Return the length of `text` in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
