"""What is written as a whole or not at all: the records of one request are one batch of the offsets topic."""

from collections.abc import Sequence

from kcoord.core.outcome import Record
from kcoord.core.settings import GroupSettings
from wire.payloads import encode_key, encode_value
from wire.records import size_of


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
