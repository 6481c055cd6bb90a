"""Connections to a broker as clients have them: plain or by TLS, with or without SASL."""

import ssl
from dataclasses import dataclass
from typing import Final

import trio

from kcoord.check.first_answer import NotKafka, first_answer
from kcoord.check.outcome import CannotRun
from kcoord.check.probe import Client, Closed, error_name
from kcoord.check.scram import Scram, ScramError
from kcoord.check.tls import shake_hands
from wire.errors import ErrorCode, WireError
from wire.messages import SaslAuthenticateRequest, SaslHandshakeRequest, SaslHandshakeResponse

PATIENCE: Final = 20.0
"""Seconds in which a connection must be ready to be used, unless told otherwise."""
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


@dataclass(frozen=True)
class Sasl:
    """As whom to authenticate, and how: by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."""

    mechanism: str
    username: str
    password: str

    def __repr__(self) -> str:
        return f"Sasl({self.mechanism!r}, {self.username!r})"


@dataclass(frozen=True)
class Endpoint:
    """Where a broker is, and how to connect there."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    sasl: Sasl | None = None
    patience: float = PATIENCE
    """Seconds in which a connection must be ready to be used."""

    async def open(self) -> trio.abc.Stream:
        """Connect, so that requests can be sent.

        Raises:
            OSError: Nobody listens there, or the other side of TLS is not who it should be.
            CannotRun: The broker does not let us in.

        """
        with trio.move_on_after(self.patience):
            plain = await trio.open_tcp_stream(self.host, self.port)
            try:
                stream: trio.abc.Stream = plain
                if self.tls is not None:
                    secure = trio.SSLStream(plain, self.tls, server_hostname=self.host, https_compatible=True)
                    await shake_hands(secure)
                    stream = secure
                if self.sasl is not None:
                    await authenticate(stream, self.sasl)
            except BaseException:
                await trio.aclose_forcefully(plain)
                raise
            return stream
        raise TimeoutError(f"the connection is not ready within {self.patience:g} s")


def address_of(text: str) -> tuple[str, int]:
    """Read HOST:PORT; IPv6 addresses are in brackets. Raises CannotRun."""
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not bare or (":" in bare and bare == host) or not (port.isascii() and port.isdecimal()) or len(port) > 5:
        raise CannotRun(f"{text!r} is not the address of a broker: it must be HOST:PORT")
    try:
        bare.encode("idna")
    except UnicodeError:
        raise CannotRun(f"{text!r} is not the address of a broker: no host can be called {bare!r}") from None
    if not 1 <= int(port) <= 65535:
        raise CannotRun(f"{text!r} has no port that there is: 1 to 65535")
    return bare, int(port)


async def authenticate(stream: trio.abc.Stream, sasl: Sasl) -> None:
    """Authenticate on a new connection, as KIP-43 and KIP-152 have it. Raises CannotRun."""
    client = Client(stream, "kcoord-check")
    try:
        answer = await first_answer(client, SaslHandshakeRequest(mechanism=sasl.mechanism), PATIENCE, version=1)
        if answer.error_code != ErrorCode.NONE:
            raise CannotRun(_why_no_handshake(sasl.mechanism, answer))
        if sasl.mechanism == "PLAIN":
            await _send(client, sasl, f"\0{sasl.username}\0{sasl.password}".encode())
            return
        scram = Scram(_HASHES[sasl.mechanism], sasl.username, sasl.password)
        challenge = await _send(client, sasl, scram.first())
        scram.verify(await _send(client, sasl, scram.final(challenge)))
    except Closed:
        raise CannotRun("the broker closes connections that authenticate; does it want SASL here?") from None
    except NotKafka as error:
        raise CannotRun(f"the broker is of no use: {error}") from None
    except (WireError, ScramError, TimeoutError) as error:
        raise CannotRun(f"authentication failed: {error}") from None


def _why_no_handshake(mechanism: str, answer: SaslHandshakeResponse) -> str:
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        return f"the broker does not take {mechanism}; it offers {', '.join(answer.mechanisms) or 'none'}"
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        # What KafkaApis says to it, which it reaches only where no authenticator has taken it.
        return "the broker does not authenticate here: connect without --sasl-mechanism"
    return f"the broker answers SaslHandshake with {error_name(answer.error_code)}"


async def _send(client: Client, sasl: Sasl, data: bytes) -> bytes:
    answer = await client.call(SaslAuthenticateRequest(auth_bytes=data), 1)
    if answer.error_code != ErrorCode.NONE:
        why = answer.error_message or error_name(answer.error_code)
        raise CannotRun(f"the broker does not let {sasl.username!r} in: {why}")
    found: bytes = answer.auth_bytes
    return found
