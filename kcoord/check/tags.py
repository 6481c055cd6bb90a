"""Requests put together byte by byte, with tagged fields that nobody knows wherever there may be some (KIP-482)."""

import struct
from typing import Any, Final

from kcoord.check.outcome import NotApplicable
from kcoord.check.probe import Client, offered
from wire.header import read_response
from wire.schema import Message

UNKNOWN_TAGS: Final = b"\x02" + b"\x5a\x03abc" + b"\xe8\x07\x00"
"""Two tagged fields that nobody knows: 90 with three bytes, 1000 with none."""
_CORRELATION_ID: Final = 7


def uvarint(number: int) -> bytes:
    """Return a number below 2**14 as an unsigned varint."""
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


def compact(value: str | bytes | None) -> bytes:
    """Return a compact string or compact bytes."""
    data = value.encode() if isinstance(value, str) else value
    return b"\x00" if data is None else uvarint(len(data) + 1) + data


def many(*items: bytes) -> bytes:
    """Return a compact array of items that are bytes already."""
    return uvarint(len(items) + 1) + b"".join(items)


async def ask_with_tags(
    client: Client, cls: type[Message], version: int, *parts: bytes, client_id: str = "tags"
) -> Any:
    """Send a request of these parts, tags in its header and at its end, and return the answer.

    Tags within the body are up to the parts. Raises NotApplicable if the broker does not offer the version, or
    answers what a setting explains which the rule does not count on.
    """
    if version not in (theirs := offered(client.offers, cls)):
        name = cls.__name__.removesuffix("Request")
        raise NotApplicable(f"{name} {version} is not advertised, only {theirs.lowest} to {theirs.highest}")
    name_of_client = client_id.encode()
    header = struct.pack(">hhih", cls.API_KEY, version, _CORRELATION_ID, len(name_of_client)) + name_of_client
    body = b"".join(parts) + UNKNOWN_TAGS
    await client.send_frame(header + UNKNOWN_TAGS + body)
    number, answer = read_response(await client.read_frame(), cls.RESPONSE, version)
    assert number == _CORRELATION_ID
    if why := client.names.limits.why_refused_as_sent(cls, version, body, answer):
        raise NotApplicable(why)
    return answer
