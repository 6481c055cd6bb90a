"""The fixture for tests that run on asyncio or on trio: the same as `kcoord.testing.sync`, to be awaited.

The server runs in a thread of its own here as well, so neither loop is stopped by it, and it goes on serving clients
while the test's loop is busy.
"""

from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kcoord.control import Control, GroupView, TopicView, given
from kcoord.control.groups import USUAL_TIMEOUT, Offset
from kcoord.control.topics import NO_SETTINGS
from kcoord.core.outcome import Now
from kcoord.testing.awaiting import awaited
from kcoord.testing.brokers import AsyncBrokers
from kcoord.testing.defaults import Masks, Settings, Topics, config_for
from kcoord.testing.faults import AsyncFaults
from kcoord.testing.refusals import is_refusal
from kcoord.testing.thread import Call, RunsHere, ServerGone, ServerThread
from kcoord.timeline import Timeline

__tracebackhide__ = is_refusal
T = TypeVar("T")


class AsyncKcoord(RunsHere):
    """A server that real clients connect to, for as long as the `async with` statement lasts; see `Kcoord`."""

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
        self._owner: object = self._server
        self._bootstrap = ""
        self.clock = AsyncClock(self)
        self.faults = AsyncFaults(self)
        self.brokers = AsyncBrokers(self)

    @classmethod
    def of(cls, server: ServerThread, bootstrap: str, owner: object) -> "AsyncKcoord":
        """Return what controls a server that runs already, and that its `owner` stops."""
        self = cls.__new__(cls)
        self._server = server
        self._owner = owner
        self._bootstrap = bootstrap
        self.clock = AsyncClock(self)
        self.faults = AsyncFaults(self)
        self.brokers = AsyncBrokers(self)
        return self

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        # As in `kcoord.testing.sync.Kcoord`.
        server: ServerThread | None = getattr(self, "_server", None)
        if server is not None and self._owner is server:
            server.forgotten()

    async def start(self) -> None:
        """Start the server, and return when clients can connect. Raises CannotListen; ServerGone a second time."""
        ready = self._server.start()
        try:
            self._bootstrap = await awaited(ready, self._server.abandon)
        except BaseException:
            # Who is cancelled cannot await the end.
            self._server.join()
            raise

    async def close(self) -> None:
        """Stop the server, and return when nothing is left of it, cancelled or not. A second time does nothing.

        One that is never closed is stopped when it is collected as garbage, with a ResourceWarning.
        """
        try:
            await awaited(self._server.stop(), lambda: None)
        finally:
            # Nothing of the end needs the caller's loop, which stands still for these milliseconds if it is cancelled.
            self._server.join()

    @property
    def bootstrap(self) -> str:
        """What clients are given as `bootstrap.servers`: "host:port". Raises ServerGone before the start."""
        if not self._bootstrap:
            raise ServerGone("the server does not run: use it in an async with statement")
        return self._bootstrap

    async def control_url(self) -> str:
        """Return where the server can be controlled over HTTP: see `kcoord.testing.sync.Kcoord.control_url`."""
        return await self.run_async(lambda control: self._server.control_url(control))

    async def run(self, work: Callable[[Control], T]) -> T:
        """Have something done in the server's loop, by its `Control`, that has no need to wait there.

        Returns or raises what comes of it. Raises ServerGone, from what made the server crash if it did.
        """
        call: Call[T] = self._server.call(work)
        return await awaited(call.future, call.cancel)

    async def run_async(self, work: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
        """Have something done in the server's loop that waits there; see `run`."""
        call: Call[T] = self._server.call(work)
        return await awaited(call.future, call.cancel)

    async def create_topic(
        self, name: str, partitions: int = 1, settings: Mapping[str, str] = NO_SETTINGS
    ) -> TopicView:
        """Create a topic, with settings of its own by Kafka's names. Raises Impossible."""
        return await self.run(lambda control: control.topics.create(name, partitions, settings))

    async def delete_topic(self, name: str) -> None:
        """Delete a topic, and what groups committed for it. Raises NotFound, Impossible."""
        await self.run_async(lambda control: control.topics.delete(name))

    async def topics(self) -> tuple[TopicView, ...]:
        """Return all topics but internal ones."""
        return await self.run(lambda control: control.topics.list())

    async def groups(self) -> tuple[GroupView, ...]:
        """Return all groups as they stand."""
        return await self.run(lambda control: control.groups.list())

    def group(self, group_id: str) -> "AsyncGroup":
        """Return a group, which need not exist yet. Raises Impossible for what no group can be called."""
        return AsyncGroup(self, given.group(group_id))

    async def timeline(self, group_id: str) -> Timeline:
        """Return what happened to a group until now: printed it is a story. Raises NotFound if nothing did."""
        return await self.run(lambda control: control.timeline.of(group_id))

    async def timelines(self) -> tuple[Timeline, ...]:
        """Return what happened to each group, also to those that are no more; the oldest group first."""
        return await self.run(lambda control: tuple(map(control.timeline.of, control.timeline.groups())))

    async def reset(self) -> None:
        """Let nothing be left of what was before: see `kcoord.control.Control.reset`."""
        await self.run_async(lambda control: control.reset())


class AsyncClock:
    """The server's clock; see `kcoord.testing.sync.Clock`."""

    def __init__(self, kcoord: AsyncKcoord) -> None:
        self._run, self._run_async = kcoord.run, kcoord.run_async

    async def now(self) -> Now:
        """Return the time: `mono` in seconds, from some moment on, and `wall_ms`, Unix time in ms."""
        return await self._run(lambda control: control.clock.now())

    async def advance(self, seconds: float, *, heartbeats: bool = True) -> None:
        """Move time forward; everything that was due has happened when this returns. Raises Impossible."""
        await self._run_async(lambda control: control.clock.advance(seconds, heartbeats=heartbeats))

    async def freeze(self) -> None:
        """Let time stand still but for `advance`, until `resume`."""
        await self._run(lambda control: control.clock.freeze())

    async def resume(self) -> None:
        """Let time go on from where it stands."""
        await self._run(lambda control: control.clock.resume())


class AsyncGroup:
    """One group, by its id; see `kcoord.testing.sync.Group`."""

    def __init__(self, kcoord: AsyncKcoord, group_id: str) -> None:
        self._run, self._run_async = kcoord.run, kcoord.run_async
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"AsyncGroup({self.group_id!r})"

    async def view(self) -> GroupView:
        """Return the group as it stands, all of one moment. Raises NotFound."""
        return await self._run(lambda control: control.groups.get(self.group_id))

    async def wait(
        self,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        synced: bool = False,
        timeout: float = USUAL_TIMEOUT,  # noqa: ASYNC109 - it is over with a story, not with a cancelled scope
    ) -> GroupView:
        """Wait until the group is all that is named: see `kcoord.control.groups.GroupsControl.wait`.

        `timeout` is in seconds of real time. Raises TimedOut, with what happened; Impossible.
        """
        return await self._run_async(
            lambda control: control.groups.wait(
                self.group_id, state=state, members=members, generation=generation, synced=synced, timeout=timeout
            )
        )

    async def rebalance(self, reason: str = "") -> GroupView:
        """Let every member join again; nobody is added. Raises NotFound; Impossible without members."""
        return await self._run_async(lambda control: control.groups.rebalance(self.group_id, reason))

    async def expire(self, member: str) -> GroupView:
        """Put a member out as if its session had ended. Raises NotFound, Impossible."""
        return await self._run_async(lambda control: control.groups.expire(self.group_id, member))

    async def fence(self, instance_id: str) -> GroupView:
        """Let a static member meet FENCED_INSTANCE_ID (82), as if its place had been taken. Raises NotFound."""
        return await self._run_async(lambda control: control.groups.fence(self.group_id, instance_id))

    async def evict(self, member: str, reason: str = "evicted by an operator") -> GroupView:
        """Let a member leave, as an operator's LeaveGroup does. Raises NotFound."""
        return await self._run_async(lambda control: control.groups.evict(self.group_id, member, reason))

    async def set_offsets(self, offsets: Mapping[tuple[str, int], Offset]) -> GroupView:
        """Let these be committed, by topic and partition; None deletes one. Raises Impossible."""
        return await self._run_async(lambda control: control.groups.set_offsets(self.group_id, offsets))

    async def delete(self) -> None:
        """Let the group be no more, whoever is in it. Raises NotFound."""
        await self._run_async(lambda control: control.groups.delete(self.group_id))
