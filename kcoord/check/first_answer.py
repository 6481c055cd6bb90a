"""The first answer of a broker, which may be none, or that of something else than a broker of Kafka's.

What listens at a port and is no broker, or wants TLS, mostly says nothing to a request of Kafka's, or says at once what
no answer can be. So that is waited for less long than other answers are, and looked at as soon as it begins.
"""

import struct
from typing import Any, Final

import trio

from kcoord.check.outcome import CannotRun
from kcoord.check.probe import Client, Closed
from kcoord.check.tls import refusal
from wire.schema import Message

FIRST_ANSWER: Final = 10.0
"""Seconds in which a broker must take a connection, and answer a first request there, unless told otherwise."""
LARGEST: Final = 1 << 20
"""Bytes of a first answer: it has some hundreds, and what is no answer of Kafka's mostly claims far more."""
_BEGINNING: Final = struct.Struct(">ii")
"""Size and correlation id."""
_SHOWN: Final = 30
"""Bytes of what is no answer."""
_ALERT: Final = b"\x15\x03"
"""How an alert of TLS begins, in any version (RFC 8446, 5.1)."""


class NotKafka(ValueError):
    """What was said is no answer to a request of Kafka's; the text shows how it begins.

    `why` is what is wrong with it if that is not to be seen there.
    """

    def __init__(self, said: bytes, why: str = "") -> None:
        if said.startswith(_ALERT):
            super().__init__("it speaks TLS here: connect with --tls")
            return
        shown = f"{said[:_SHOWN]!r}{'...' if len(said) > _SHOWN else ''}"
        reason = f": {why}" if why else ""
        super().__init__(
            f"it says {shown}, which is no answer of Kafka's{reason}; does it speak Kafka's protocol, without TLS?"
        )


async def first_answer(client: Client, request: Message, patience: float, *, version: int = 0) -> Any:
    """Send the first request of a connection, and return the answer that comes within so many seconds.

    Raises NotKafka, Closed, TimeoutError, CannotRun if TLS ends with an alert, and WireError if the answer cannot be
    read.
    """
    call = await client.send(request, version)
    end = trio.current_time() + patience
    with trio.move_on_at(end):
        await _hear(client, call.name, call.correlation_id)
    try:
        return await call.answer(max(0.0, end - trio.current_time()))
    except TimeoutError:
        hint = "does it speak Kafka's protocol here, and without TLS? --patience waits longer"
        raise TimeoutError(f"no answer to {call.name} within {patience:g} s; {hint}") from None


async def _hear(client: Client, asked: str, correlation_id: int) -> None:
    """Wait until an answer begins, and leave it to be read.

    A size is judged by its first byte, too: who says what is none need not say as much as it would mean.
    """
    said = b""
    while len(said) < _BEGINNING.size:
        try:
            data = await client.stream.receive_some(65536)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            if why := refusal(error):
                raise CannotRun(why) from None
            data = b""
        if not data:
            raise NotKafka(said, "the connection ends there") if said else Closed(asked)
        said += data
        if not 0 <= int.from_bytes(said[:4].ljust(4, b"\0"), signed=True) <= LARGEST:
            raise NotKafka(said)
    if (number := _BEGINNING.unpack_from(said)[1]) != correlation_id:
        raise NotKafka(said, f"its correlation id would be {number}, and {asked} was asked with {correlation_id}")
    client.frames.feed(said)
