"""The fixture on a kcoord that somebody else started, and that may be controlled: its control is KCOORD_CONTROL.

Everything is asked over HTTP. Whoever resets the server resets it for all who use it, so one test run at a time does.
"""

import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kcoord.control import Control, Impossible
from kcoord.testing.brokers import Brokers
from kcoord.testing.defaults import Masks, Settings, Topics
from kcoord.testing.faults import Faults
from kcoord.testing.refusals import is_refusal
from kcoord.testing.running import check_arguments, check_brokers
from kcoord.testing.sync import Clock, Kcoord
from kcoord.testing.thread import ServerThread
from kcoord.web.client import ControlClient
from kcoord.web.remote import RemoteControl, done

if TYPE_CHECKING:
    from kcoord.testing.aio import AsyncKcoord

__tracebackhide__ = is_refusal
T = TypeVar("T")


class RemoteKcoord(Kcoord):
    """A server whose control is at `url`; its token, if it has one, is KCOORD_CONTROL_TOKEN in the environment.

    It is reset at once, and `topics` are created. `bootstrap` is where clients reach it, unless it is where the server
    itself believes to be. Timelines are told as the server tells them: their `events` and `generations` are not there,
    but in `plain()`.

    Raises Impossible for what a server that runs already cannot be given, and where fewer brokers run than wanted;
    ConfigError for what no server could be given.
    """

    def __init__(
        self,
        url: str,
        topics: Topics | None = None,
        *,
        bootstrap: str | None = None,
        brokers: int | None = None,
        as_version: str | None = None,
        mask: Masks | None = None,
        settings: Settings | None = None,
        kafka_defaults: bool = False,
    ) -> None:
        check_arguments(
            url,
            topics,
            settings,
            kafka_defaults=kafka_defaults,
            brokers=brokers,
            as_version=as_version,
            mask=mask,
        )
        self._url = url
        # It has the methods of a control, and what they return, but for timelines, is the same.
        self._control = cast("Control", RemoteControl(ControlClient.from_environment(url)))
        self._topics = dict(topics or {})
        self.clock = Clock(self)
        self.faults = Faults(self)
        self.brokers = Brokers(self)
        self._bootstrap = bootstrap or self._control.bootstrap
        check_brokers(url, brokers, lambda: len(self._control.brokers.list()))
        self.reset()

    @property
    def aio(self) -> "AsyncKcoord":
        """The same server for tests that run on asyncio or trio."""
        from kcoord.testing.aio import AsyncKcoord

        return AsyncKcoord.of(cast("ServerThread", _Calls(self)), self._bootstrap, self)

    @property
    def control_url(self) -> str:
        """Where the server is controlled."""
        return self._url

    def start(self) -> None:
        """Do nothing: it runs."""

    def close(self) -> None:
        """Let nothing be left of what was done."""
        self.run_async(lambda control: control.reset())

    def reset(self) -> None:
        """Let nothing be left of what was before, and create the topics."""
        self.run_async(lambda control: control.reset())
        there = {each.name: each.partitions for each in self.topics()}
        for name, partitions in self._topics.items():
            if name not in there:
                self.create_topic(name, partitions)
            elif there[name] != partitions:
                raise Impossible(
                    f"the server at {self._url} has a topic {name} with {there[name]} partitions, not {partitions}"
                )

    def run(self, work: Callable[[Control], T]) -> T:
        """Have something done by the server's control. Returns or raises what comes of it."""
        return work(self._control)

    def run_async(self, work: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
        """Have something done that waits there; this thread waits meanwhile."""
        return done(work(self._control))


class _Calls:
    """Has each call done in a thread of its own, for those who await it on a loop."""

    def __init__(self, kcoord: RemoteKcoord) -> None:
        self._kcoord = kcoord

    def call(self, work: Callable[[Control], Any]) -> "_Call":
        """Have something done."""
        call = _Call(self._kcoord, work)
        threading.Thread(target=call.make, name="kcoord call", daemon=True).start()
        return call

    async def control_url(self, _: Control) -> str:
        """Return where the server is controlled."""
        return self._kcoord.control_url


class _Call:
    """One call. It cannot be taken back: the server ends it, at the latest when its time is over."""

    def __init__(self, kcoord: RemoteKcoord, work: Callable[[Control], Any]) -> None:
        self.future: Future[Any] = Future()
        self._kcoord = kcoord
        self._work = work

    def cancel(self) -> None:
        """Do nothing; nobody looks at what comes of it."""

    def make(self) -> None:
        """Have it done, in this thread."""
        try:
            result = self._kcoord.run(self._work)
            self.future.set_result(done(result) if isinstance(result, Coroutine) else result)
        except Exception as error:  # noqa: BLE001 - the caller gets it
            self.future.set_exception(error)
