"""The fixture for tests that are plain functions."""

from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kcoord.control import Control, GroupView, Impossible, MemberView, TopicView, given
from kcoord.control.groups import USUAL_TIMEOUT, Offset
from kcoord.control.topics import NO_SETTINGS
from kcoord.core.outcome import Now
from kcoord.testing.awaiting import blocked, running_loop
from kcoord.testing.brokers import Brokers
from kcoord.testing.defaults import Masks, Settings, Topics, config_for
from kcoord.testing.faults import Faults
from kcoord.testing.refusals import is_refusal
from kcoord.testing.thread import Call, RunsHere, ServerThread
from kcoord.timeline import Timeline

if TYPE_CHECKING:
    from kcoord.testing.aio import AsyncKcoord

__tracebackhide__ = is_refusal
T = TypeVar("T")


class Kcoord(RunsHere):
    """A server that real clients connect to, for as long as the `with` statement lasts.

    `topics` are there from the start, by name with their numbers of partitions. `brokers` (1) are logical ones: one
    server at several ports, each of which leads a part of all partitions. `as_version` is a release of Apache Kafka, as
    "2.8", whose API versions are offered and whose coordinator is imitated; `mask` leaves fewer versions of some APIs,
    as {"OffsetCommit": "0-6", "OffsetDelete": None}. `settings` bear Kafka's names; without them all are Kafka's
    defaults, but that a group's first member is not kept waiting, and that sessions may be as short as one likes.
    `kafka_defaults` takes Kafka's for these as well; what `settings` say comes before either.

    Raises ConfigError for settings and topics that cannot be, and for a setting that contradicts an argument; entering
    raises CannotListen if a port is taken.
    """

    def __init__(
        self,
        topics: Topics | None = None,
        *,
        brokers: int | None = None,
        as_version: str | None = None,
        mask: Masks | None = None,
        settings: Settings | None = None,
        kafka_defaults: bool = False,
    ) -> None:
        config = config_for(
            topics, settings, kafka_defaults=kafka_defaults, brokers=brokers, as_version=as_version, mask=mask
        )
        self._server = ServerThread(config)
        self._bootstrap = ""
        self.clock = Clock(self)
        self.faults = Faults(self)
        self.brokers = Brokers(self)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # One that was not made in the end, or that runs somewhere else, has none.
        server: ServerThread | None = getattr(self, "_server", None)
        if server is not None:
            server.forgotten()

    def start(self) -> None:
        """Start the server, and return when clients can connect. Raises CannotListen; ServerGone a second time."""
        ready = self._server.start()
        try:
            self._bootstrap = blocked(ready, self._server.abandon)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the server, and return when nothing is left of it. A second time does nothing.

        One that is never closed is stopped when it is collected as garbage, with a ResourceWarning.
        """
        blocked(self._server.stop(), lambda: None)
        self._server.join()

    @property
    def bootstrap(self) -> str:
        """What clients are given as `bootstrap.servers`: "host:port". Raises ServerGone before the start."""
        return self._bootstrap or self.run(lambda control: control.bootstrap)

    @property
    def aio(self) -> "AsyncKcoord":
        """The same server for tests that run on asyncio or trio, whose loops it does not stop."""
        from kcoord.testing.aio import AsyncKcoord

        return AsyncKcoord.of(self._server, self.bootstrap, self)

    @property
    def control_url(self) -> str:
        """Where the server can be controlled over HTTP, as by `kcoord groups` and by other languages.

        It is served from the first time on that this is asked for, on a port of its own, to this machine alone. Raises
        ConfigError without what `kcoord[web]` brings.
        """
        return self.run_async(lambda control: self._server.control_url(control))

    def run(self, work: Callable[[Control], T]) -> T:
        """Have something done in the server's loop, by its `Control`, that has no need to wait there.

        Returns or raises what comes of it. Raises ServerGone, from what made the server crash if it did.
        """
        call: Call[T] = self._server.call(work)
        return blocked(call.future, call.cancel)

    def run_async(self, work: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
        """Have something done in the server's loop that waits there; see `run`."""
        call: Call[T] = self._server.call(work)
        return blocked(call.future, call.cancel)

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] = NO_SETTINGS) -> TopicView:
        """Create a topic, with settings of its own by Kafka's names. Raises Impossible."""
        return self.run(lambda control: control.topics.create(name, partitions, settings))

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and what groups committed for it. Raises NotFound, Impossible."""
        self.run_async(lambda control: control.topics.delete(name))

    def topics(self) -> tuple[TopicView, ...]:
        """Return all topics but internal ones."""
        return self.run(lambda control: control.topics.list())

    def groups(self) -> tuple[GroupView, ...]:
        """Return all groups as they stand."""
        return self.run(lambda control: control.groups.list())

    def group(self, group_id: str) -> "Group":
        """Return a group, which need not exist yet. Raises Impossible for what no group can be called."""
        return Group(self, given.group(group_id))

    def timeline(self, group_id: str) -> Timeline:
        """Return what happened to a group until now: printed it is a story. Raises NotFound if nothing did."""
        return self.run(lambda control: control.timeline.of(group_id))

    def timelines(self) -> tuple[Timeline, ...]:
        """Return what happened to each group, also to those that are no more; the oldest group first."""
        return self.run(lambda control: tuple(map(control.timeline.of, control.timeline.groups())))

    def reset(self) -> None:
        """Let nothing be left of what was before: see `kcoord.control.Control.reset`."""
        self.run_async(lambda control: control.reset())


class Clock:
    """The server's clock. Clients, and their sockets, live in real time."""

    def __init__(self, kcoord: Kcoord) -> None:
        self._run, self._run_async = kcoord.run, kcoord.run_async

    def now(self) -> Now:
        """Return the time: `mono` in seconds, from some moment on, and `wall_ms`, Unix time in ms."""
        return self._run(lambda control: control.clock.now())

    def advance(self, seconds: float, *, heartbeats: bool = True) -> None:
        """Move time forward; everything that was due has happened when this returns.

        Members whose connection is open count as having sent heartbeats meanwhile, unless `heartbeats` is False: see
        `kcoord.control.clock.ClockControl.advance`. Raises Impossible.
        """
        self._run_async(lambda control: control.clock.advance(seconds, heartbeats=heartbeats))

    def freeze(self) -> None:
        """Let time stand still but for `advance`, until `resume`."""
        self._run(lambda control: control.clock.freeze())

    def resume(self) -> None:
        """Let time go on from where it stands."""
        self._run(lambda control: control.clock.resume())


class Group:
    """One group, by its id. What it says of itself is asked for each time: `view` has all of one moment."""

    def __init__(self, kcoord: Kcoord, group_id: str) -> None:
        self._run, self._run_async = kcoord.run, kcoord.run_async
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"Group({self.group_id!r})"

    def view(self) -> GroupView:
        """Return the group as it stands. Raises NotFound, as all that is asked below does."""
        return self._run(lambda control: control.groups.get(self.group_id))

    @property
    def state(self) -> str:
        """Empty, PreparingRebalance, CompletingRebalance or Stable."""
        return self.view().state

    @property
    def generation(self) -> int:
        """The number of the generation."""
        return self.view().generation

    @property
    def protocol(self) -> str | None:
        """The assignor that was chosen, or None."""
        return self.view().protocol

    @property
    def leader(self) -> str | None:
        """The member id of the leader, or None without members."""
        return self.view().leader

    @property
    def members(self) -> tuple[MemberView, ...]:
        """The members."""
        return self.view().members

    @property
    def offsets(self) -> dict[tuple[str, int], int]:
        """The committed offsets, by topic and partition."""
        return {(each.topic, each.partition): each.offset for each in self.view().offsets}

    def wait(
        self,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        synced: bool = False,
        timeout: float = USUAL_TIMEOUT,
    ) -> GroupView:
        """Wait until the group is all that is named: see `kcoord.control.groups.GroupsControl.wait`.

        `timeout` is in seconds of real time. Raises TimedOut, with what happened; Impossible, also on an event loop,
        which this would stop: there is `await kcoord.aio.group(...).wait(...)`.
        """
        loop = running_loop()
        if loop is not None:
            raise Impossible(
                f"this wait would stop the {loop} loop that it is called on: "
                f"await kcoord.aio.group({self.group_id!r}).wait(...) instead"
            )
        return self._run_async(
            lambda control: control.groups.wait(
                self.group_id, state=state, members=members, generation=generation, synced=synced, timeout=timeout
            )
        )

    def rebalance(self, reason: str = "") -> GroupView:
        """Let every member join again; nobody is added. Raises NotFound; Impossible without members."""
        return self._run_async(lambda control: control.groups.rebalance(self.group_id, reason))

    def expire(self, member: str) -> GroupView:
        """Put a member out as if its session had ended.

        It is named by its member id, its instance id, or a client id that it has alone. Raises NotFound, Impossible.
        """
        return self._run_async(lambda control: control.groups.expire(self.group_id, member))

    def fence(self, instance_id: str) -> GroupView:
        """Let a static member meet FENCED_INSTANCE_ID (82), as if its place had been taken. Raises NotFound."""
        return self._run_async(lambda control: control.groups.fence(self.group_id, instance_id))

    def evict(self, member: str, reason: str = "evicted by an operator") -> GroupView:
        """Let a member leave, as an operator's LeaveGroup does; named as in `expire`. Raises NotFound."""
        return self._run_async(lambda control: control.groups.evict(self.group_id, member, reason))

    def set_offsets(self, offsets: Mapping[tuple[str, int], Offset]) -> GroupView:
        """Let these be committed, by topic and partition, whoever is in the group; None deletes one.

        A value is an offset, or an offset and metadata. Raises Impossible; NotFound for a topic or a partition that
        there is not.
        """
        return self._run_async(lambda control: control.groups.set_offsets(self.group_id, offsets))

    def delete(self) -> None:
        """Let the group be no more, whoever is in it. Raises NotFound."""
        self._run_async(lambda control: control.groups.delete(self.group_id))
