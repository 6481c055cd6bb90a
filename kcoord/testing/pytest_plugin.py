"""pytest's fixtures: `kcoord`, a running server; `make_kcoord`, for others; `kcoord_config`, to be overridden.

It is loaded in every test run of an environment that has kcoord, so nothing of kcoord is loaded before a test asks for
one of these.
"""

import os
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from kcoord.testing.sync import Kcoord

BOOTSTRAP = "KCOORD_BOOTSTRAP"
"""The environment variable that names a server, "host:port", to be used instead of one of ours."""
CONTROL = "KCOORD_CONTROL"
"""The environment variable that names the control of a kcoord, a URL, which is then used, with all that it can."""
TIMELINES = "kcoord timeline"
"""What the sections of a failing test's report are called."""
MOST_EVENTS = 200
"""Events of a group that such a section shows: the last ones."""
_SERVERS = pytest.StashKey["list[Kcoord]"]()
"""The servers that a test uses."""


class Servers:
    """The servers of one test run (under pytest-xdist, of one worker): one for each configuration that tests have.

    One that the environment names is there for all: each test begins it anew, with the topics of its own configuration,
    and where several workers run they take turns at it, by a lock on the file `turns`.
    """

    def __init__(self, turns: "Path | None") -> None:
        self._turns = turns
        self._running: list[tuple[Mapping[str, Any], Kcoord]] = []

    @contextmanager
    def lent(self, config: Mapping[str, Any]) -> "Iterator[Kcoord]":
        """Give a test the server with this configuration, started if need be; the next test finds nothing of it."""
        check(config)
        if is_elsewhere():
            with self._turn(), closing(started(config)) as server:
                yield server
            return
        server = self._of(config)
        try:
            yield server
        finally:
            self._reset(server)

    def _of(self, config: Mapping[str, Any]) -> "Kcoord":
        for known, server in self._running:
            if known == config:
                return server
        server = started(config)
        self._running.append((dict(config), server))
        return server

    def _reset(self, server: "Kcoord") -> None:
        """Let nothing be left; a server that cannot be reset is not used again.

        A test may have closed it, to see what its clients make of that: the next one gets another.
        """
        from kcoord.testing.thread import ServerGone

        try:
            server.reset()
        except BaseException as error:
            self._running = [pair for pair in self._running if pair[1] is not server]
            server.close()
            if not isinstance(error, ServerGone) or error.__cause__ is not None:
                raise

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if self._turns is None:
            yield
            return
        import fcntl

        with self._turns.open("w") as file:
            # It is let go when the file is closed, also because the worker is no more.
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def close(self) -> None:
        """Stop all of them."""
        while self._running:
            self._running.pop()[1].close()


def is_elsewhere() -> bool:
    """Whether the environment names a server."""
    return bool(os.environ.get(CONTROL) or os.environ.get(BOOTSTRAP))


def check(config: object) -> None:
    """Raise ConfigError for what `kcoord_config` is not meant to give."""
    from kcoord.config import ConfigError
    from kcoord.shown import shown
    from kcoord.testing.sync import Kcoord

    arguments = tuple(signature(Kcoord).parameters)
    if not isinstance(config, Mapping):
        raise ConfigError(f"kcoord_config is {shown(config)}: it must be arguments of Kcoord by name, as in a dict")
    for name in config:
        if name not in arguments:
            raise ConfigError(f"kcoord_config has {shown(name)}: Kcoord takes {', '.join(arguments)}")


def started(config: Mapping[str, Any]) -> "Kcoord":
    """Return a server that runs: the one that the environment names, or a new one."""
    external = os.environ.get(BOOTSTRAP)
    control = os.environ.get(CONTROL)
    if control:
        from kcoord.testing.remote import RemoteKcoord

        return RemoteKcoord(control, bootstrap=external, **config)
    if external:
        from kcoord.testing.external import ExternalKcoord

        return ExternalKcoord(external, **config)
    from kcoord.testing.sync import Kcoord

    server = Kcoord(**config)
    server.start()
    return server


@pytest.fixture(scope="session")
def kcoord_config() -> Mapping[str, Any]:
    """What `kcoord` is started with: arguments of `kcoord.testing.Kcoord`. Override it, in any scope."""
    return {}


@pytest.fixture(scope="session")
def kcoord_servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """The servers behind `kcoord`; a server outlives the tests that use it."""
    turns = None
    if is_elsewhere() and hasattr(request.config, "workerinput"):
        # The directories of all workers are in one.
        turns = request.getfixturevalue("tmp_path_factory").getbasetemp().parent / "kcoord.turns"
    servers = Servers(turns)
    yield servers
    servers.close()


@pytest.fixture
def kcoord(
    request: pytest.FixtureRequest, kcoord_config: Mapping[str, Any], kcoord_servers: Servers
) -> Iterator["Kcoord"]:
    """A running server (`kcoord.testing.Kcoord`) with nothing in it but the configured topics."""
    with kcoord_servers.lent(kcoord_config) as server:
        request.node.stash.setdefault(_SERVERS, []).append(server)
        yield server
        warn_of_faults(server)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach to a failing test what happened to its groups, but for what its error tells already."""
    report = yield
    if report.failed:
        servers = item.stash.get(_SERVERS, ())
        known = set(told(call.excinfo.value)) if call.excinfo is not None and servers else set()
        for server in servers:
            report.sections += stories(server, known)
    return report


def told(error: BaseException) -> Iterator[tuple[object, ...]]:
    """Yield of which timelines an error tells, itself or by what it comes of; see `_identity`."""
    from kcoord.control import TimedOut

    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, TimedOut) and each.timeline is not None:
            yield _identity(each.timeline)
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
        waiting += [each.__cause__, None if each.__suppress_context__ else each.__context__]


def _identity(timeline: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what tells a timeline from that of another server's group of the same name: its beginning."""
    return (timeline["group"], *(timeline["events"][0][name] for name in ("kind", "at", "wall_ms")))


def stories(server: "Kcoord", known: set[tuple[object, ...]]) -> list[tuple[str, str]]:
    """Return a section with the story of each group of a server; the oldest events are left out of long ones.

    Those that are `known` are left out.
    """
    from kcoord.control import ControlError
    from kcoord.testing.thread import ServerGone

    try:
        timelines = server.timelines()
    except (ControlError, ServerGone) as error:
        return [(TIMELINES, str(error))]
    return [
        (f"{TIMELINES}: {each.group}", each.text(most_events=MOST_EVENTS))
        for each in timelines
        if not known or _identity(each.plain()) not in known
    ]


@pytest.fixture
def make_kcoord(request: pytest.FixtureRequest) -> "Iterator[Callable[..., Kcoord]]":
    """A function that starts a server of this test's own, with arguments of `kcoord.testing.Kcoord`."""
    from kcoord.testing.sync import Kcoord

    with ExitStack() as made:

        def make(*given: Any, **how: Any) -> Kcoord:
            server = Kcoord(*given, **how)
            server.start()
            made.callback(server.close)
            # Where warnings are errors, it is closed all the same.
            made.callback(warn_of_faults, server)
            request.node.stash.setdefault(_SERVERS, []).append(server)
            return server

        yield make


def warn_of_faults(server: "Kcoord") -> None:
    """Warn of faults that stayed in force until the end of a test, and were for no request."""
    from kcoord.control import ControlError
    from kcoord.testing.faults import FaultNeverMet
    from kcoord.testing.thread import ServerGone

    try:
        faults = server.faults.list()
    except (ControlError, ServerGone):
        # What became of the server, the reset tells; on one that is not ours there are no faults.
        return
    for each in faults:
        if not each.applied:
            warnings.warn(FaultNeverMet(each.why_never), stacklevel=2)
