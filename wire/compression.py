"""Packing and unpacking the records of a batch: gzip, snappy, lz4, zstd, each in the frame that Kafka uses."""

from wire.errors import CorruptRecords


def compress(codec: int, data: bytes) -> bytes:
    """Pack; `codec` is Kafka's number (`wire.records.Compression`)."""
    if codec == 0:
        return data
    raise NotImplementedError


def decompress(codec: int, data: bytes) -> bytes:
    """Unpack. Raises CorruptRecords."""
    if codec == 0:
        return data
    raise CorruptRecords(f"codec {codec} is not built yet")
