"""Headers, and whole frames made of size, header and message.

| | version | layout after the size | used by |
|---|---|---|---|
| request | 1 | api_key INT16, api_version INT16, correlation_id INT32, client_id STRING | versions not flexible |
| request | 2 | the same and a tag buffer | flexible versions |
| response | 0 | correlation_id INT32 | versions not flexible, and ApiVersions in all |
| response | 1 | the same and a tag buffer | flexible versions |

Two oddities. The client id keeps its INT16 length in header 2 (KIP-482), so that a broker can read it before it knows
whether it knows the version. And the answer to ApiVersions has header 0 for ever (KIP-511): a client that asked in
a version the broker lacks could not otherwise tell where the error code is.
"""

import struct
from dataclasses import dataclass
from typing import Final, TypeVar

from wire import primitives
from wire.codec import encode, reader
from wire.errors import Truncated, Unsendable
from wire.messages import REQUESTS
from wire.schema import Message

_M = TypeVar("_M", bound=Message)

_REQUEST: Final = struct.Struct(">hhi")
_FRAMED_REQUEST: Final = struct.Struct(">ihhih")
_FRAMED_RESPONSE: Final = struct.Struct(">ii")
_CORRELATION: Final = struct.Struct(">i")
_API_VERSIONS: Final = 18

_FLEXIBLE_FROM: Final = {key: cls.FLEXIBLE.lowest for key, cls in REQUESTS.items() if cls.FLEXIBLE.highest >= 0}


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """What stands in front of a request. A null `client_id` is none (Apache Kafka treats it as "")."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def request_header_version(api_key: int, api_version: int) -> int:
    """Tell which header a request has: 2 for flexible versions, 1 for others and for keys not known here.

    A version above those known counts as flexible if the newest known one is (Apache Kafka,
    `ApiKeys.requestHeaderVersion`): so it is for ApiVersions, whose unknown versions still get an answer.
    """
    first = _FLEXIBLE_FROM.get(api_key)
    return 2 if first is not None and api_version >= first else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """Tell which header the answer to a request has."""
    return 0 if api_key == _API_VERSIONS else request_header_version(api_key, api_version) - 1


def read_request_header(frame: bytes) -> tuple[RequestHeader, int]:
    """Read the header of a request; return it and the offset of the body.

    Whether key and version are served is not asked here. `frame` is without its size.

    Raises:
        Truncated: The frame ends inside the header.
        BadLength: Its tag buffer makes no sense.

    """
    if len(frame) < _REQUEST.size:
        raise Truncated(f"a request of {len(frame)} bytes")
    api_key, api_version, correlation_id = _REQUEST.unpack_from(frame)
    client_id, pos = primitives.read_string(frame, _REQUEST.size)
    if request_header_version(api_key, api_version) == 2:
        pos = primitives.skip_tags(frame, pos)
    return RequestHeader(api_key, api_version, correlation_id, client_id), pos


def request_frame(correlation_id: int, client_id: str | None, message: Message, version: int) -> bytes:
    """Write a request, complete with header and size.

    Raises:
        Unsupported: The message has no such version.
        Unsendable: The version cannot carry the message, or the header its values.

    """
    key = message.API_KEY
    body = encode(message, version)
    try:
        name = b"" if client_id is None else client_id.encode()
        tags = b"\0" if request_header_version(key, version) == 2 else b""
        size = _FRAMED_REQUEST.size - 4 + len(name) + len(tags) + len(body)
        start = _FRAMED_REQUEST.pack(size, key, version, correlation_id, -1 if client_id is None else len(name))
    except (struct.error, UnicodeEncodeError) as error:
        raise Unsendable(f"request header: {error}") from error
    return b"".join((start, name, tags, body))


def response_frame(correlation_id: int, message: Message, version: int) -> bytes:
    """Write a response, complete with header and size.

    Raises:
        Unsupported: The message has no such version.
        Unsendable: The version cannot carry the message.

    """
    body = encode(message, version)
    try:
        if response_header_version(message.API_KEY, version) == 0:
            return _FRAMED_RESPONSE.pack(4 + len(body), correlation_id) + body
        return b"".join((_FRAMED_RESPONSE.pack(5 + len(body), correlation_id), b"\0", body))
    except struct.error as error:
        raise Unsendable(f"response header: {error}") from error


def read_response(frame: bytes, cls: type[_M], version: int) -> tuple[int, _M]:
    """Read a response of a known kind: its correlation id and the message. `frame` is without its size.

    Raises:
        Unsupported: `cls` has no such version.
        Truncated, BadLength, UnexpectedNull: `frame` holds no such response.

    """
    if len(frame) < _CORRELATION.size:
        raise Truncated(f"a response of {len(frame)} bytes")
    pos = _CORRELATION.size
    if response_header_version(cls.API_KEY, version) == 1:
        pos = primitives.skip_tags(frame, pos)
    message, _ = reader(cls, version)(frame, pos)
    return _CORRELATION.unpack_from(frame)[0], message
