"""The command line: flags, environment and a file become a `Config`, and the server runs until a signal.

Whatever is wrong with them is said in one sentence on standard error, with exit status 2. So is an output that
cannot be written to; but a log that cannot be written is no reason to end.
"""

import errno
import gc
import os
import re
import resource
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import trio
from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from kcoord import __version__
from kcoord.config import JAVA_BLANKS, SETTINGS, Config, ConfigError, printable
from kcoord.serve import CannotListen, Running, UnknownStore, serve
from kcoord.watch.log_lines import LinesLost, log_lines, render_line
from kcoord.watch.writer import LineWriter, bytes_to

if TYPE_CHECKING:
    from kcoord.web.serving import ControlListener

ENVIRONMENT_PREFIX = "KCOORD_"
CONTROL_TOKEN = "KCOORD_CONTROL_TOKEN"  # noqa: S105 - its name
RESERVED = frozenset({"KCOORD_BOOTSTRAP", "KCOORD_CONTROL", CONTROL_TOKEN})
"""Names under the prefix that are no settings: they are for tests and tools, which they point to a server."""
_OF_A_KUBERNETES_SERVICE = re.compile(
    "KCOORD_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""Names that Kubernetes gives every container beside a service called kcoord; no setting can be named like them."""
_SIZE = re.compile("(-1|[0-9]{1,19}) ?(KiB|MiB|GiB)?", re.ASCII)
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
USAGE_ERROR = 2
FULL_COLLECTION = 1_000
"""So many collections of younger objects go before one of all: there are several million more objects then."""
PATIENCE_WITH_THE_LOG = 0.5
"""Seconds in which the last lines may be written when the server ends; if nobody reads them, they are lost."""

app = App(
    name="kcoord",
    help="The Kafka group coordinator alone: a small server that real consumers rebalance against.",
    version=__version__,
    version_flags=["--version"],
    help_format="plaintext",
)

# Loaded when they are called.
app.command("kcoord.check.commands:check_command", name="check", help="Judge a broker by the rules of the protocol.")
app.command("kcoord.demo.commands:demo_command", name="demo", help="Watch a group rebalance in the terminal.")
app.command("kcoord.dump.commands:dump_command", name="dump", help="Print Kafka's frames field by field.")
app.command("kcoord.dump.commands:record_command", name="record", help="Write what passes a proxy to a file.")
app.command("kcoord.dump.commands:replay_command", name="replay", help="Play a recorded session; compare the answers.")
app.command("kcoord.web.commands.groups:app", name="groups", help="Look at a running server's groups; interfere.")
app.command("kcoord.web.commands.timeline:app", name="timeline", help="Tell what happened to a group, and why.")
app.command("kcoord.web.commands.faults:app", name="faults", help="Let requests to a running server go wrong.")
app.command("kcoord.web.commands.clock:app", name="clock", help="Move a running server's clock.")
app.command("kcoord.web.commands.brokers:app", name="brokers", help="Stop and start a running server's brokers.")
app.command("kcoord.web.commands.topics:app", name="topics", help="Create and delete a running server's topics.")
app.command("kcoord.web.commands.topics:reset", name="reset", help="Empty a running server of groups and topics.")


@app.command(name="serve")
def serve_command(
    *,
    listen: Annotated[str | None, Parameter(name="--listen")] = None,
    advertise: Annotated[str | None, Parameter(name="--advertise")] = None,
    topic: Annotated[list[str] | None, Parameter(name="--topic", negative=())] = None,
    override: Annotated[list[str] | None, Parameter(name="--override", negative=())] = None,
    memory_limit: Annotated[str | None, Parameter(name="--memory-limit")] = None,
    brokers: Annotated[int | None, Parameter(name="--brokers")] = None,
    as_version: Annotated[str | None, Parameter(name="--as-version")] = None,
    mask: Annotated[str | None, Parameter(name="--mask")] = None,
    config: Annotated[Path | None, Parameter(name="--config")] = None,
    control: Annotated[str | None, Parameter(name="--control")] = None,
    control_token: Annotated[str | None, Parameter(name="--control-token")] = None,
    log_format: Annotated[Literal["console", "json"], Parameter(name="--log-format")] = "console",
    log_level: Annotated[Literal["debug", "info", "warning", "error"], Parameter(name="--log-level")] = "info",
) -> None:
    """Serve until SIGTERM or SIGINT.

    A setting is taken from the flags, else from the environment, where group.max.size is
    KCOORD_GROUP_MAX_SIZE, else from the file, else it has Kafka's default. What Kubernetes puts into the
    environment for a service called kcoord (KCOORD_PORT and so on) is left alone.

    When the server is ready it prints one line, "kcoord is listening on HOST:PORT"; if standard output is
    closed, it does not, and if it takes nothing, that is an error. Log lines go to standard error. The server
    never waits for them to be read or stored: those that find no room are dropped, and counted in a line of
    their own.

    With --control, whoever connects there may move the clock, interfere with groups and more: kcoord groups,
    timeline, faults, clock, brokers, topics and reset do. A second line, "kcoord is controlled at http://HOST:PORT",
    says where.

    Parameters
    ----------
    listen
        HOST:PORT to listen on (127.0.0.1:9092); port 0 takes a free one.
    advertise
        HOST:PORT that clients are told to connect to.
    topic
        NAME:PARTITIONS of a topic that exists from the start; may be repeated.
    override
        KEY=VALUE, any of Kafka's settings; may be repeated, and of the same key the last one counts.
    memory_limit
        SIZE that all records together may take, in bytes, or with KiB, MiB or GiB behind it (1GiB); -1 is no limit.
    brokers
        How many logical brokers there are (1); each listens at a port of its own, behind that of the one before it.
    as_version
        The release of Apache Kafka, from 0.11 to 4.4, to be like: its API versions are offered, and its coordinator is
        imitated. 2 and 3 mean the newest of them.
    mask
        APIs of which fewer versions are offered, or none: OffsetCommit=0-6,OffsetDelete=none.
    config
        A TOML file with Kafka's settings, and a table [topics].
    control
        HOST:PORT at which the server may be controlled over HTTP; port 0 takes a free one. Needs kcoord[web].
    control_token
        What who controls the server has to know, if that is more than this machine; also KCOORD_CONTROL_TOKEN in
        the environment, where an empty one is none.
    log_format
        How log lines look.
    log_level
        The least that is logged.

    """
    flags = dict(_pair(each, "=", "--override", "KEY=VALUE") for each in override or [])
    own_flags = (
        ("--listen", "listeners", listen),
        ("--advertise", "advertised.listeners", advertise),
        ("--brokers", "brokers", None if brokers is None else str(brokers)),
        ("--as-version", "as.version", as_version),
        ("--mask", "mask", mask),
        ("--memory-limit", "memory.limit.bytes", None if memory_limit is None else _bytes(memory_limit)),
    )
    for flag, key, value in own_flags:
        if value is not None and flags.setdefault(key, value) != value:
            raise ConfigError(f"{flag} is {value!r}, but --override says that {key} is {flags[key]!r}")
    from_file, topics_from_file = read_file(config) if config is not None else ({}, {})
    settings = _merged(from_file, from_environment(os.environ), flags)
    effective = Config.from_settings(settings, {**topics_from_file, **_topics(topic or [])})
    controlled = None if control is None else _control(control, control_token)
    if control is None and control_token is not None:
        raise ConfigError("--control-token means nothing without --control")
    _allow_many_files()
    _serve(effective, log_format, log_level, controlled)


def run(arguments: Sequence[str] | None) -> None:
    """Run a command line, by default that of the process. Ends in SystemExit where `kcoord.cli.main` says so."""
    try:
        command, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
        if command is serve_command:
            command(*bound.args, **bound.kwargs)
            return
        if "console" in bound.arguments:
            # Of what is printed without a command of ours: help, and the version.
            from kcoord.console import OutputConsole

            bound.arguments["console"] = OutputConsole()
        _print(partial(command, *bound.args, **bound.kwargs))
    except (ConfigError, CannotListen, CannotPrint) as error:
        _fail(str(error))
    except UnusedCliTokensError as error:
        called = " ".join(("kcoord", *(error.command_chain or ())))
        words = " ".join(error.unused_tokens or ())
        _fail(f"{called} does not know what to do with {words!r}; {called} --help tells what it takes")
    except CycloptsError as error:
        _fail(" ".join(str(error).split()))


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """Return the settings that the environment has. Raises ConfigError for a name that is none."""
    keys = {ENVIRONMENT_PREFIX + key.upper().replace(".", "_"): key for key in SETTINGS}
    settings: dict[str, object] = {}
    for name, value in environment.items():
        if name in keys:
            settings[keys[name]] = value
        elif name.startswith(ENVIRONMENT_PREFIX) and not _is_meant_for_others(name):
            raise ConfigError(f"{name} in the environment is not a setting that kcoord knows")
    return settings


def _is_meant_for_others(name: str) -> bool:
    return name in RESERVED or _OF_A_KUBERNETES_SERVICE.fullmatch(name) is not None


def read_file(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Return the settings and the topics of a TOML file, under dotted keys. Raises ConfigError.

    Dots in TOML make tables, and names here have dots: a table is the part of a name before the dot.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        topics = content.pop("topics", {})
        if not isinstance(topics, dict):
            raise ConfigError(f"topics in {path} must be a table of names and numbers of partitions")
        return _flattened(path, content), _flattened(path, topics)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        # What is not TOML, not UTF-8, not a path at all, or a number of thousands of digits.
        raise ConfigError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path} is not TOML that makes sense here: it is nested too deeply") from None


def _flattened(path: Path, table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in table.items():
        nested = _flattened(path, value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        for name in nested:
            if name in flat:
                raise ConfigError(f"{path} has {name} twice")
        flat |= nested
    return flat


def _merged(*sources: Mapping[str, object]) -> dict[str, object]:
    """Merge sources, the later one wins, also where a setting has two names."""
    merged: dict[str, object] = {}
    for source in sources:
        replaced = {SETTINGS[key].attribute for key in source if key in SETTINGS}
        kept = {
            key: value
            for key, value in merged.items()
            if key not in SETTINGS or SETTINGS[key].attribute not in replaced
        }
        merged = kept | dict(source)
    return merged


def _pair(text: str, separator: str, flag: str, form: str) -> tuple[str, str]:
    key, found, value = text.partition(separator)
    if not found or not key.strip():
        raise ConfigError(f"{flag} is {text!r}: it must be {form}")
    return key.strip(), value.strip(JAVA_BLANKS)


def _bytes(text: str) -> str:
    """Return a size as the number of bytes that it stands for. Raises ConfigError."""
    match = _SIZE.fullmatch(text.strip(JAVA_BLANKS))
    if match is None:
        raise ConfigError(f"--memory-limit is {text!r}: it must be a number of bytes, or one of KiB, MiB or GiB")
    number, unit = match.groups()
    # What is too large stays so, but is said in no more digits than are read.
    return number if unit is None else str(min(int(number) * _UNITS[unit], 2**63))


def _topics(asked: Sequence[str]) -> dict[str, object]:
    topics: dict[str, object] = {}
    for name, count in (_pair(each, ":", "--topic", "NAME:PARTITIONS") for each in asked):
        if topics.setdefault(name, count) != count:
            raise ConfigError(f"--topic asks for {topics[name]} partitions of {name}, and for {count}")
    return topics


def _allow_many_files() -> None:
    """Raise the limit of open files as far as this process may, as Java does: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _control(address: str, token: str | None) -> "ControlListener":
    """Return the listener of the control, not bound yet. Raises ConfigError."""
    from kcoord.web.serving import ControlListener, control_address

    # Who unsets a variable where there is no other way leaves it empty. An empty flag is a mistake.
    known = os.environ.get(CONTROL_TOKEN) or None if token is None else token
    return ControlListener(control_address(address), known)


def _serve(config: Config, log_format: str, log_level: str, control: "ControlListener | None") -> None:
    """Serve until a signal asks to stop. Raises ConfigError, CannotListen and CannotPrint.

    Ends in SystemExit if the signal came before the server was ready, with the status that shells expect.
    """
    render = render_line(log_format, colours=not sys.stderr.closed and sys.stderr.isatty())
    log = _line_writer(lambda count: render(LinesLost(lines=count)))
    try:
        with _rare_collections():
            stopped_early_by = trio.run(_serve_until_signal, config, log_lines(log_level, render, log.write), control)
    finally:
        log.close(PATIENCE_WITH_THE_LOG)
    if stopped_early_by is not None:
        sys.exit(128 + stopped_early_by)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python seldom look through all objects for some that hold each other: nobody is served meanwhile.

    With a million batches in the logs that takes a second, and large requests would bring it about again and again.
    There is next to nothing to find: serving leaves no such objects. Young ones are looked through as ever.
    """
    before = gc.get_threshold()
    gc.set_threshold(*before[:2], FULL_COLLECTION)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class StopSignals:
    """SIGTERM and SIGINT, of which the first one counts and the others are ignored, to the end of the process.

    trio's own receiver would hand those that nobody waited for to their former handlers, and end the process as
    killed while it is stopping in good order.
    """

    ALL = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        self.first: int | None = None
        self._token = trio.lowlevel.current_trio_token()
        self._arrived = trio.Event()

    @contextmanager
    def listened_for(self) -> Iterator[None]:
        """Take the signals; where none came, their handlers are afterwards what they were."""
        before = {each: signal.signal(each, self._take) for each in self.ALL}
        try:
            yield
        finally:
            if self.first is None:
                for each, handler in before.items():
                    signal.signal(each, handler)

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._arrived.wait()

    def _take(self, number: int, _frame: FrameType | None) -> None:
        for each in self.ALL:
            signal.signal(each, signal.SIG_IGN)
        if self.first is None:
            self.first = number
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._arrived.set, idempotent=True)


async def _serve_until_signal(
    config: Config, on_note: Callable[[object], None], control: "ControlListener | None"
) -> int | None:
    """Serve, and return the signal that came before the server was ready, if one did."""
    problem: Exception | None = None
    running: Running | None = None
    signals = StopSignals()
    with signals.listened_for():
        try:
            async with trio.open_nursery() as nursery:

                async def stop_at_a_signal() -> None:
                    await signals.wait()
                    if running is not None:
                        await running.stop()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(stop_at_a_signal)
                running = await nursery.start(partial(serve, config, on_note=on_note))
                if control is not None:
                    await nursery.start(control.serve, running)
                bound = ", ".join(str(address) for address in running.addresses)
                _print(partial(print, f"kcoord is listening on {bound}"))
                if control is not None:
                    _print(partial(print, f"kcoord is controlled at {control.url}"))
        except* (CannotListen, CannotPrint, UnknownStore) as group:
            problem = group.exceptions[0]
    if isinstance(problem, UnknownStore):
        raise ConfigError(str(problem))
    if problem is not None:
        raise problem
    return signals.first if running is None else None


class CannotPrint(Exception):
    """Standard output takes nothing; the text is one sentence."""


def _print(what: Callable[[], Any]) -> None:
    """Call what prints to standard output, and see to it that it gets there. Raises CannotPrint.

    An output that is closed from the start is one that nobody wants to read, and no error.
    """
    try:
        what()
        sys.stdout.flush()
    except OSError as error:
        if error.errno == errno.EMFILE:
            # Not a word of an output: something was to be opened.
            raise
        # The interpreter will try to write the rest when it ends: let it.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        raise CannotPrint(f"cannot write to standard output: {error.strerror}") from None


def _fail(sentence: str) -> NoReturn:
    """Say it on standard error, if anybody listens there, and end with status 2."""
    last_words = _line_writer(lambda count: f"kcoord: {count} lines lost")
    last_words.write(printable(f"kcoord: {sentence}"))
    last_words.close(PATIENCE_WITH_THE_LOG)
    sys.exit(USAGE_ERROR)


def _line_writer(lost_line: Callable[[int], str]) -> LineWriter:
    return LineWriter(bytes_to(sys.stderr), lost_line, encoding=sys.stderr.encoding or "utf-8")
