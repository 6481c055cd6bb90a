"""The little of the protocol, and of ports, that it takes to start a broker."""

import contextlib
import random
import socket
import struct
from collections.abc import Mapping

from .overseer import Failed

HOST = "127.0.0.1"
PORTS = range(20_000, 30_000)
"""Free ports are looked for here: below those that systems give to outgoing connections, which come and go."""
SECONDS = 30.0
"""How long an answer may take."""
API_VERSIONS, CREATE_TOPICS = 18, 19


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    with contextlib.ExitStack() as taken:
        found: list[int] = []
        while len(found) < count:
            listener = taken.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind((HOST, random.choice(PORTS)))
                found.append(listener.getsockname()[1])
        return found


def check_free(port: int) -> None:
    """Raises Failed if the port cannot be listened on."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise Failed(f"cannot listen on {HOST}:{port}: {error.strerror}") from error


def call(port: int, key: int, version: int, body: bytes) -> bytes:
    """The body of the answer to a request whose header has no tagged fields, null client id; OSError."""
    request = struct.pack(">hhih", key, version, 0, -1) + body
    with socket.create_connection((HOST, port), SECONDS) as connection, connection.makefile("rb") as answers:
        connection.sendall(struct.pack(">i", len(request)) + request)
        size = answers.read(4)
        if len(size) < 4:
            raise ConnectionError("closed without an answer")
        return answers.read(struct.unpack(">i", size)[0])[4:]


def is_up(port: int) -> bool:
    """Whether ApiVersions is answered there, without an error."""
    try:
        return call(port, API_VERSIONS, 0, b"")[:2] == b"\0\0"
    except OSError:
        return False


def create_topics(port: int, topics: Mapping[str, int]) -> None:
    """Create topics of so many partitions (CreateTopics 2); Failed with the first that is refused.

    One that exists is left as it is: a directory that is used again has it from before.
    """
    body = struct.pack(">i", len(topics))
    for name, partitions in topics.items():
        encoded = name.encode()
        body += struct.pack(">h", len(encoded)) + encoded + struct.pack(">ihii", partitions, 1, 0, 0)
    answer = call(port, CREATE_TOPICS, 2, body + struct.pack(">i?", 30_000, False))
    at = 8  # throttle time, number of topics
    for _ in topics:
        name, at = text(answer, at)
        (code,) = struct.unpack_from(">h", answer, at)
        message, at = text(answer, at + 2)
        if code not in {0, TOPIC_ALREADY_EXISTS}:
            raise Failed(f"topic {name} is refused with error {code}: {message}")


TOPIC_ALREADY_EXISTS = 36


def text(data: bytes, at: int) -> tuple[str | None, int]:
    """A string of two bytes' length, or None, and where it ends."""
    (size,) = struct.unpack_from(">h", data, at)
    return (None, at + 2) if size < 0 else (data[at + 2 : at + 2 + size].decode(), at + 2 + size)
