"""What the requests about settings have in common: which resources there are, and what is wrong with their names."""

from kcoord.log.catalog import is_legal_name, why_illegal
from kcoord.log.topic_config import INT32_MAX, java_integer, quoted
from wire.errors import ErrorCode


class ResourceRefused(Exception):
    """The settings of a resource cannot be told or changed; `code` says why in Kafka's number."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_name(name: str) -> None:
    """Raise ResourceRefused, with INVALID_TOPIC_EXCEPTION, if no topic can have that name."""
    if not is_legal_name(name):
        raise ResourceRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, why_illegal(name))


def named_broker(name: str, node_id: int) -> None:
    """Raise ResourceRefused, with INVALID_REQUEST, if the name is not this broker's: its id, however it is written."""
    try:
        number = java_integer(name)
    except ValueError:
        number = INT32_MAX + 1
    if number != node_id:
        raise ResourceRefused(
            ErrorCode.INVALID_REQUEST, f"{quoted(name)} is not this broker: its name is its id, {node_id}"
        )
