"""The fixture on a server that somebody else started: any broker, named by KCOORD_BOOTSTRAP alone.

Topics are created and deleted over the wire, as clients do. What no client can do, such as moving the clock, is
refused.
"""

import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from kcoord.control import Control, Impossible, NotFound, TopicView, given
from kcoord.control.errors import ControlError
from kcoord.control.topics import NO_SETTINGS
from kcoord.testing.brokers import Brokers
from kcoord.testing.defaults import Masks, Settings, Topics
from kcoord.testing.faults import Faults
from kcoord.testing.refusals import is_refusal
from kcoord.testing.running import check_arguments, check_brokers
from kcoord.testing.sync import Clock, Kcoord
from wire.errors import ErrorCode
from wire.frame import FrameBuffer
from wire.header import read_response, request_frame
from wire.messages import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    MetadataRequest,
)

if TYPE_CHECKING:
    from kcoord.testing.aio import AsyncKcoord

__tracebackhide__ = is_refusal
T = TypeVar("T")
PATIENCE = 30.0
"""Seconds that the server may take for anything."""
LARGEST_ANSWER = 100_000_000
VERSIONS: Mapping[type, int] = {CreateTopicsRequest: 4, DeleteTopicsRequest: 3, MetadataRequest: 4}
"""Versions that every broker from Apache Kafka 2.4 on has."""


class ExternalKcoord(Kcoord):
    """A server at an address. `topics` are created by the first test that needs them, and deleted with the others.

    It has the defaults that it has, and settings are not its to have: raises Impossible if any are given, and where
    fewer brokers run than wanted; ConfigError for what no server could be given.
    """

    def __init__(
        self,
        bootstrap: str,
        topics: Topics | None = None,
        *,
        brokers: int | None = None,
        as_version: str | None = None,
        mask: Masks | None = None,
        settings: Settings | None = None,
        kafka_defaults: bool = False,
    ) -> None:
        check_arguments(
            bootstrap,
            topics,
            settings,
            kafka_defaults=kafka_defaults,
            brokers=brokers,
            as_version=as_version,
            mask=mask,
        )
        self._bootstrap = bootstrap
        self._created: set[str] = set()
        self._topics = dict(topics or {})
        self.clock = Clock(self)
        self.faults = Faults(self)
        self.brokers = Brokers(self)
        host, colon, port = bootstrap.rpartition(":")
        if not colon or not host or not port.isdecimal():
            raise Impossible(f"KCOORD_BOOTSTRAP is {bootstrap!r}: it must be HOST:PORT")
        self._address = (host.strip("[]"), int(port))
        check_brokers(bootstrap, brokers, self._count_brokers)
        try:
            self._create_configured()
        except Impossible:
            self._delete_created()
            raise

    @property
    def aio(self) -> "AsyncKcoord":
        """Refused: what it is there for cannot be done. Raises Impossible."""
        self._refuse()

    def start(self) -> None:
        """Do nothing: it runs."""

    def close(self) -> None:
        """Delete the topics that were created through this."""
        self._delete_created()

    def reset(self) -> None:
        """Delete the topics that were created through this, and create the configured ones anew. Groups stay."""
        self._delete_created()
        self._create_configured()

    def run(self, work: Callable[[Control], T]) -> T:  # noqa: ARG002 - no work is done
        """Refuse. Raises Impossible."""
        self._refuse()

    def run_async(self, work: Callable[[Control], Coroutine[Any, Any, T]]) -> T:  # noqa: ARG002 - as above
        """Refuse. Raises Impossible."""
        self._refuse()

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] = NO_SETTINGS) -> TopicView:
        """Create a topic. Raises Impossible."""
        topic = CreatableTopic(
            name=given.named("a topic's name", name),
            num_partitions=given.partitions(name, partitions),
            replication_factor=1,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in given.settings(settings).items()],
        )
        answer = self._ask(CreateTopicsRequest(topics=[topic], timeout_ms=int(PATIENCE * 1000)))
        created = answer.topics[0]
        if created.error_code != ErrorCode.NONE:
            why = created.error_message or ErrorCode(created.error_code).name
            raise Impossible(f"the server at {self._bootstrap} did not create topic {name}: {why}")
        self._created.add(name)
        return TopicView(name=name, partitions=partitions, internal=False, settings=dict(settings), records=())

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises NotFound, Impossible."""
        answer = self._ask(
            DeleteTopicsRequest(topic_names=[given.named("a topic's name", name)], timeout_ms=int(PATIENCE * 1000))
        )
        code = ErrorCode(answer.responses[0].error_code)
        self._created.discard(name)
        if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise NotFound(f"there is no topic {name}")
        if code is not ErrorCode.NONE:
            raise Impossible(f"the server at {self._bootstrap} did not delete topic {name}: {code.name}")

    def topics(self) -> tuple[TopicView, ...]:
        """Return all topics but internal ones; their settings and records are not asked for."""
        answer = self._ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
        return tuple(
            TopicView(name=each.name, partitions=len(each.partitions), internal=False, settings={}, records=())
            for each in answer.topics
            if not each.is_internal
        )

    def _count_brokers(self) -> int:
        return len(self._ask(MetadataRequest(topics=[], allow_auto_topic_creation=False)).brokers)

    def _create_configured(self) -> None:
        known = {each.name: each.partitions for each in self.topics()} if self._topics else {}
        for name, partitions in self._topics.items():
            if name not in known:
                self.create_topic(name, partitions)
            elif known[name] != partitions:
                having = f"a topic {name} with {known[name]} partitions, not {partitions}"
                raise Impossible(f"the server at {self._bootstrap} has {having}")

    def _delete_created(self) -> None:
        for name in sorted(self._created):
            # A test may have deleted it by a client of its own.
            with suppress(NotFound):
                self.delete_topic(name)

    def _refuse(self) -> NoReturn:
        raise Impossible(
            f"the server at {self._bootstrap} is one that KCOORD_BOOTSTRAP names: its clock, groups and faults cannot "
            "be controlled from here; those of a kcoord can if KCOORD_CONTROL names its control, too"
        )

    def _ask(self, request: Any) -> Any:
        """Ask over a connection of its own. Raises ControlError if there is no answer."""
        version = VERSIONS[type(request)]
        try:
            with socket.create_connection(self._address, timeout=PATIENCE) as connection:
                connection.sendall(request_frame(1, "kcoord.testing", request, version))
                frames = FrameBuffer(LARGEST_ANSWER)
                while (frame := frames.next()) is None:
                    data = connection.recv(65_536)
                    if not data:
                        raise ControlError(f"the server at {self._bootstrap} closed the connection without an answer")
                    frames.feed(data)
        except OSError as error:
            raise ControlError(f"the server at {self._bootstrap} cannot be reached: {error}") from None
        _, answer = read_response(frame, type(request).RESPONSE, version)
        return answer
