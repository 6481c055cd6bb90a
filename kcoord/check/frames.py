"""Requests as short and as long as they can be, and answers that are looked at to their last byte.

A request "in full" has every field of its version: tagged fields also where they are at their defaults, which no client
sends then, and at the end of each struct two tagged fields that nobody knows (KIP-482).
"""

import struct
from typing import Any, Final

from kcoord.check.outcome import NotApplicable
from kcoord.check.probe import Call, Client, offered
from kcoord.check.tags import UNKNOWN_TAGS
from wire.codec import encode, reader
from wire.header import request_header_version, response_header_version
from wire.primitives import skip_tags
from wire.schema import Message, Struct
from wire.structs import struct_of

UNKNOWN: Final = ({"tag": 90, "body": b"abc"}, {"tag": 1000, "body": b""})
"""Two tagged fields that nobody knows, as the Structs of `wire.structs` want them: those of `UNKNOWN_TAGS`."""
NO_TAGS: Final = b"\x00"


def kebab(api: str) -> str:
    """Return the name of an API as the ids of rules have it."""
    return "".join(f"-{each.lower()}" if each.isupper() else each for each in api).lstrip("-")


async def ask(client: Client, request: Message, version: int) -> Any:
    """Send a request, and return the answer, which ends where its last field does. Raises NotApplicable, Closed."""
    return await exchange(client, type(request), version, encode(request, version))


async def ask_in_full(client: Client, request: Message, version: int) -> Any:
    """Send a request in full, and return the answer, which ends where its last field does.

    Raises NotApplicable, Closed.
    """
    return await exchange(client, type(request), version, in_full(request, version), UNKNOWN_TAGS)


def in_full(request: Message, version: int) -> bytes:
    """Write a request in full."""
    data: bytes = struct_of(type(request), version).build(_laid_out(request, version))
    return data


def header_of(
    cls: type[Message], version: int, number: int, client_id: bytes | None = b"client", tags: bytes = NO_TAGS
) -> bytes:
    """Write the header of a request, with this tag buffer if the version has one."""
    start = struct.pack(">hhih", cls.API_KEY, version, number, -1 if client_id is None else len(client_id))
    return start + (client_id or b"") + (tags if request_header_version(cls.API_KEY, version) == 2 else b"")


async def exchange(
    client: Client,
    cls: type[Message],
    version: int,
    body: bytes,
    tags: bytes = NO_TAGS,
    *,
    number: int | None = None,
    client_id: bytes | None = b"client",
) -> Any:
    """Send a request with this body, and return the answer, which ends where its last field does.

    `tags` is the tag buffer of its header, if the version has one; `number` its correlation id, by default the next.

    Raises:
        NotApplicable: The broker does not offer the version, or answers what a setting explains which the rule does
            not count on.
        Closed: It closed the connection instead.

    """
    if version not in (theirs := offered(client.offers, cls)):
        name = cls.__name__.removesuffix("Request")
        raise NotApplicable(f"{name} {version} is not advertised, only {theirs.lowest} to {theirs.highest}")
    number = next(client.ids) if number is None else number
    call = Call(client, number, cls, cls.RESPONSE, version)
    client.waiting.append(call)
    await client.send_frame(header_of(cls, version, number, client_id, tags) + body)
    frame = await client.read_frame()
    client.waiting.remove(call)
    start = 4
    if response_header_version(cls.API_KEY, version) == 1:
        start = skip_tags(frame, start)
    answer, end = reader(cls.RESPONSE, version)(frame, start)
    assert struct.unpack_from(">i", frame) == (number,)
    assert end == len(frame)
    if why := client.names.limits.why_refused_as_sent(cls, version, body, answer):
        raise NotApplicable(why)
    return answer


def _laid_out(message: Struct, version: int) -> dict[str, Any]:
    present = [f for f in message.FIELDS if version in f.versions]
    out = {f.name: _plain(getattr(message, f.name), version) for f in present if f.tag is None}
    tagged = sorted((f.tag, f.name) for f in present if f.tag is not None)
    known = [{"tag": tag, "body": _plain(getattr(message, name), version)} for tag, name in tagged]
    return out | {"tags": [*known, *UNKNOWN]}


def _plain(value: Any, version: int) -> Any:
    if isinstance(value, Struct):
        return _laid_out(value, version)
    return [_plain(each, version) for each in value] if isinstance(value, list) else value
