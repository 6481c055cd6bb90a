"""A server in a thread of its own, with a trio loop of its own, and calls into it from any other thread.

A call is a function of the server's `Control` that returns a value or something to await. It is run in the server's
loop, and its outcome is a `concurrent.futures.Future`: who calls from a plain function waits for that in its thread,
who runs on an event loop awaits it there (`kcoord.testing.awaiting`).
"""

import os
import threading
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar

import trio

from kcoord.config import Address, Config
from kcoord.control import Control, Impossible
from kcoord.serve import serve

T = TypeVar("T")


class ServerGone(Exception):
    """The server does not run: it was not started, has been stopped, or has crashed; then that is the cause."""


class RunsHere:
    """What stands for a server that runs in this process: it is neither copied nor pickled."""

    def __reduce__(self) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(
            f"{type(self).__name__} can be neither copied nor pickled: another process is given its bootstrap, and its "
            "control_url, instead"
        )


class Call(Generic[T]):
    """One call on its way."""

    def __init__(self, server: "ServerThread", work: Callable[[Control], Any]) -> None:
        self.future: Future[T] = Future()
        self._server = server
        self._work = work
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """Let it end, as nobody waits for its outcome any more."""
        self._server.soon(self._scope.cancel)

    def begin(self, control: Control, nursery: trio.Nursery) -> None:
        """Do it, in the server's loop; what has to be awaited goes on in a task."""
        try:
            result = self._work(control)
        except BaseException as error:  # noqa: BLE001 - the caller gets it, also what is no Exception: `pytest.fail`
            self.future.set_exception(error)
        else:
            if isinstance(result, Coroutine):
                nursery.start_soon(self._go_on, result)
            else:
                self.future.set_result(result)

    async def _go_on(self, coroutine: Coroutine[Any, Any, T]) -> None:
        try:
            # What fails while it is cancelled comes out of the scope, too.
            with self._scope:
                self.future.set_result(await coroutine)
        except BaseException as error:
            if _is_cancellation(error):
                raise  # the server ends, and tells that to whoever still waits for something
            self.future.set_exception(error)
        if not self.future.done():
            self.future.cancel()


def _is_cancellation(error: BaseException) -> bool:
    """Whether trio cancels, and nothing else has gone wrong."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_cancellation, error.exceptions))
    return isinstance(error, trio.Cancelled)


class ServerThread:
    """One server; it can be started once."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._ready: Future[str] = Future()
        self._ended: Future[None] = Future()
        # It may be asked for by `forgotten`, which comes whenever garbage is collected, also while this thread has it.
        self._lock = threading.RLock()
        self._calls: set[Call[Any]] = set()
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._stopping = trio.Event()
        self._wanted = True
        self._crash: BaseException | None = None
        self._control_url = ""
        self._controlling = trio.Lock()
        self._process = os.getpid()

    def start(self) -> Future[str]:
        """Start it; the outcome, once connections are accepted, is the address for clients, "host:port".

        The outcome may be CannotListen, or whatever else keeps a server from starting; the thread ends then.
        """
        if self._thread is not None:
            raise ServerGone("a server is started once: make another one")
        self._thread = threading.Thread(target=self._main, name="kcoord", daemon=True)
        self._thread.start()
        return self._ready

    def stop(self) -> Future[None]:
        """Stop it; the outcome comes when everything is closed. A server that does not run is no error.

        In a process forked from the one that started it there is nothing to stop. Raises Impossible in its own loop.
        """
        self._check_not_within("stopped")
        if self._is_elsewhere:
            nothing: Future[None] = Future()
            nothing.set_result(None)
            return nothing
        if self._thread is None:
            self._ended.set_result(None)
            self._thread = threading.current_thread()
        else:
            self.abandon()
        return self._ended

    def abandon(self) -> None:
        """Let it stop, and wait for nothing, as nobody waits for its start any more."""
        with self._lock:
            self._wanted = False
        self.soon(self._stopping.set)

    def forgotten(self) -> None:
        """Let it stop, as nobody can ask it for anything any more, and warn of it: a ResourceWarning.

        It comes in whatever thread collects garbage, which may well be the server's own.
        """
        if self._thread is None or self._is_elsewhere or not self._wanted or self._ended.done():
            return
        self.abandon()
        # Where warnings are errors, nothing comes after it.
        warnings.warn("a server of kcoord.testing was never closed: use it in a with statement", ResourceWarning, 3)

    def join(self) -> None:
        """Wait for the end of the thread, which takes no time once `stop` has its outcome."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def call(self, work: Callable[[Control], Any]) -> Call[Any]:
        """Have something done. Raises ServerGone; Impossible in its own loop, which would wait for itself."""
        self._check_not_within("asked")
        if self._is_elsewhere:
            raise ServerGone(
                "the server runs in the process that started it, of which this one is a copy: "
                "it is reached by its bootstrap and its control_url"
            )
        call: Call[Any] = Call(self, work)
        with self._lock:
            if self._token is None:
                raise self._gone()
            self._calls.add(call)
        call.future.add_done_callback(lambda _: self._calls.discard(call))
        self.soon(partial(self._begin, call))
        return call

    @property
    def _is_elsewhere(self) -> bool:
        """Whether this is a fork of the process in which it runs: threads are not copied."""
        return self._process != os.getpid()

    def _check_not_within(self, what: str) -> None:
        if self._thread is threading.current_thread() and not self._ended.done():
            raise Impossible(
                f"the server cannot be {what} from within its own loop, which would wait for itself: use the Control "
                "that is given there"
            )

    def soon(self, action: Callable[[], object]) -> None:
        """Do something in the server's loop, if that runs."""
        # It may be over by now without anybody having been told.
        with self._lock, suppress(trio.RunFinishedError):
            if self._token is not None:
                self._token.run_sync_soon(action)

    # In the thread.

    async def control_url(self, control: Control) -> str:
        """Return where the server is controlled over HTTP; it is from now on. Raises ConfigError, CannotListen."""
        async with self._controlling:
            if not self._control_url:
                from kcoord.web.serving import ControlListener

                listener = ControlListener(Address("127.0.0.1", 0))
                self._control_url = await self._nursery.start(listener.serve, self._running, control)
            return self._control_url

    def _main(self) -> None:
        try:
            trio.run(self._serve)
        except BaseException as error:  # noqa: BLE001 - the next call tells it
            self._crash = error
        with self._lock:
            self._token = None
            calls = tuple(self._calls)
        for call in calls:
            call.future.set_exception(self._gone())
        if not self._ready.done():
            self._ready.set_exception(self._gone())
        self._ended.set_result(None)

    async def _serve(self) -> None:
        try:
            await self._serve_until_stopped()
        finally:
            # After a crash, calls that are on their way are not begun: `_main` tells who made them.
            self._stopping.set()

    async def _serve_until_stopped(self) -> None:
        async with trio.open_nursery() as nursery:
            try:
                running = await nursery.start(serve, self._config)
            except Exception as error:  # noqa: BLE001 - the caller gets it
                self._ready.set_exception(error)
                return
            self._running = running
            self._control = Control(running)
            self._nursery = nursery
            with self._lock:
                if not self._wanted:
                    self._stopping.set()
                self._token = trio.lowlevel.current_trio_token()
            self._ready.set_result(running.bootstrap)
            await self._stopping.wait()
            nursery.cancel_scope.cancel()

    def _begin(self, call: Call[Any]) -> None:
        if not self._stopping.is_set():
            call.begin(self._control, self._nursery)

    def _gone(self) -> ServerGone:
        if self._crash is not None:
            gone = ServerGone(f"the server has crashed: {self._crash!r}")
            gone.__cause__ = self._crash
            return gone
        started = self._thread is not None
        return ServerGone(
            "the server has stopped" if started else "the server does not run: use it in a with statement"
        )
