"""SaslAuthenticate (key 36): the tokens of the mechanism that SaslHandshake named. KIP-152.

| version | added |
|---|---|
| 0 | the API |
| 1 | session_lifetime_ms (KIP-368) |
| 2 | flexible (KIP-482) |
"""

from wire.schema import BYTES, INT16, INT64, STRING, Message, field, message


@message(api=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(Message):
    """One token of the client."""

    auth_bytes: bytes = field(BYTES)


@message(api=36, versions="0-2", flexible="2+", answers=SaslAuthenticateRequest)
class SaslAuthenticateResponse(Message):
    """One token of the broker, or an error, after which the connection is closed. A lifetime of 0 has no end."""

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    auth_bytes: bytes = field(BYTES)
    session_lifetime_ms: int = field(INT64, "1+", ignorable=True)
