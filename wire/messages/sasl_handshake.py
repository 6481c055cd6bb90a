"""SaslHandshake (key 17): the client names the mechanism by which it will authenticate. KIP-43.

| version | added |
|---|---|
| 0 | the API; what follows are bare tokens, each with its size in front |
| 1 | no change of layout; what follows are SaslAuthenticate requests (KIP-152) |
"""

from wire.schema import INT16, STRING, Array, Message, field, message


@message(api=17, versions="0-1", flexible="none")
class SaslHandshakeRequest(Message):
    """The first request on a connection but for ApiVersions."""

    mechanism: str = field(STRING)


@message(api=17, versions="0-1", flexible="none", answers=SaslHandshakeRequest)
class SaslHandshakeResponse(Message):
    """The mechanisms are those that the broker has, also if there is no error."""

    error_code: int = field(INT16)
    mechanisms: list[str] = field(Array(STRING))
