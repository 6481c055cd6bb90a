"""librdkafka's mock cluster, which lives in a client: in this process.

It listens where the system lets it, which cannot be chosen. A port that was asked for is a relay to that one: clients
are told the mock's own address by Metadata and FindCoordinator and go on there. ApiVersions is known to it up to
version 2, and it mangles the refusal of later ones: clients that cannot do without that refusal do not get along with
it. A topic has four partitions, and comes into being when a client asks for it.
"""

import importlib.metadata
import importlib.util
import os
import socket
import socketserver
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from .brokers import Running, Wanted, only_one_release
from .overseer import Failed, Overseer, Unusable
from .probe import HOST, is_up

PACKAGE = "confluent-kafka"
SECONDS = 10
QUIET = 4
"""Of syslog: notices are not shown."""


def missing() -> Sequence[str]:
    """The Python package, where it is not installed."""
    return [] if importlib.util.find_spec("confluent_kafka") else [f"the Python package {PACKAGE}"]


def start(wanted: Wanted, _overseer: Overseer, undo: ExitStack) -> Running:
    """See `brokers.Kind`. The overrides are settings of the client that it lives in."""
    import confluent_kafka

    only_one_release(wanted, confluent_kafka.libversion()[0])
    if wanted.directory:
        raise Unusable("librdkafka keeps everything in memory: it has no use for a directory")
    if wanted.topics:
        raise Unusable("librdkafka makes topics when a client asks for them, of four partitions each: name none")
    try:
        mock = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": QUIET, **wanted.overrides})
        brokers = mock.list_topics(timeout=SECONDS).brokers
    except confluent_kafka.KafkaException as error:
        raise Failed(f"it does not start: {error}") from error
    undo.callback(mock.flush, 0)  # and so it stays referred to for as long
    (broker,) = brokers.values()
    if wanted.port:
        relay(wanted.port, broker.port, undo)
    port = wanted.port or broker.port
    if not is_up(port):
        raise Failed("it does not answer")
    return Running(confluent_kafka.libversion()[0], port, os.getpid(), None, None)


def relay(port: int, target: int, undo: ExitStack) -> None:
    """Pass every connection to a port on to another, with threads that end with the process."""

    class Handler(socketserver.BaseRequestHandler):
        request: socket.socket

        def handle(self) -> None:
            with socket.create_connection((HOST, target)) as upstream:
                back = threading.Thread(target=pass_on, args=(upstream, self.request), daemon=True)
                back.start()
                pass_on(self.request, upstream)
                back.join()

    class Relay(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A connection that breaks is nothing to write of."""

    server = undo.enter_context(Relay((HOST, port), Handler))
    undo.callback(server.shutdown)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what comes until its end, and then that."""
    while data := source.recv(65_536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
