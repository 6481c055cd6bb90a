"""`kcoord dump`, `kcoord record` and `kcoord replay`: the command line of what reads frames."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import trio
from cyclopts import Parameter

from kcoord.config import Address, printable
from kcoord.dump import sources
from kcoord.dump.compare import Finding
from kcoord.dump.frames import BadInput, Frame, Remark
from kcoord.dump.names import keys_of, kind_of_answer
from kcoord.dump.proxy import CannotProxy, Proxy
from kcoord.dump.replay import Replay
from kcoord.dump.session import Session
from kcoord.dump.show import finding_as_text
from kcoord.dump.taps import Printer, PrintingTap, RecordingTap, Tap
from kcoord.shown import shown

STDIN = "-"
DIFFERENT = 1
"""The exit status of a replay whose answers differ."""
LONGEST_PATIENCE = 86_400.0
"""In seconds."""
LAST_PORT = 65_535


def dump_command(
    file: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    listen: Annotated[str | None, Parameter(name="--listen")] = None,
    to: Annotated[str | None, Parameter(name="--to")] = None,
    rewrite: Annotated[bool, Parameter(name="--rewrite", negative=())] = False,
    response: Annotated[str | None, Parameter(name="--response")] = None,
    only: Annotated[str | None, Parameter(name="--only")] = None,
    group: Annotated[str | None, Parameter(name="--group")] = None,
    port: Annotated[int | None, Parameter(name="--port")] = None,
    json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    whole: Annotated[bool, Parameter(name="--whole", negative=())] = False,
) -> None:
    """Print Kafka's frames field by field, from FILE or as they pass a proxy.

    FILE is "-" for standard input, or a file of one of these forms, told by its first bytes: hex text (blanks and
    line ends anywhere, one frame behind the other, each with its size in front), the same as raw bytes, a
    capture of tcpdump (classic pcap; Ethernet, loopback, Linux cooked), or a session of kcoord record.

    For each frame it prints who sent it to whom and when, the API and its version, and one line for each field:
    its offset in bytes from the beginning of the frame, its name, its value. Arrays have indexes, tagged fields
    their tags; tag buffers that are empty, one byte each, are left out. What is inside consumer metadata,
    assignments and record batches follows below them. Where a frame stops making sense, the offset and the bytes
    from there on are printed, and that is no error; an input that is of none of the forms, or ends in the middle
    of a frame, is one, with exit status 2, after all that could be read.

    With --listen and --to it is a proxy: clients connect to the one, it connects to the broker at the other, and
    changes nothing. But a broker tells clients its own address, so after their first questions clients leave the
    proxy, unless the broker advertises the proxy's address (kcoord serve --advertise) or --rewrite puts it into
    the answers. When the proxy is ready it says so on standard error; SIGINT or SIGTERM ends it.

    Parameters
    ----------
    file
        What to read; "-" is standard input.
    listen
        HOST:PORT where clients connect to the proxy; port 0 takes a free one.
    to
        HOST:PORT of the broker behind the proxy.
    rewrite
        Put the proxy's address into Metadata, FindCoordinator and DescribeCluster answers; for a single broker.
    response
        KEY:VERSION, as in JoinGroup:9 or 11:9: single frames are answers, to that.
    only
        APIs to print, names or numbers with commas between; all frames are read.
    group
        Print only what is about this group, and the answers to it.
    port
        In a capture, only the connections with one end at this port.
    json
        Print one JSON object a line: one for each frame, with all fields.
    whole
        Print values of more than 64 bytes to their end.

    """
    if port is not None and not 1 <= port <= LAST_PORT:
        raise BadInput(f"--port is {shown(port)}: it must be a number from 1 to {LAST_PORT}")
    printer = Printer(
        _print_flushed if listen is not None or to is not None else sys.stdout.write,
        json=json,
        whole=whole,
        only=keys_of(only),
        group=group,
        answers=None if response is None else kind_of_answer(response),
    )
    _let_through_any_text()
    if listen is not None or to is not None:
        if file is not None or response is not None or port is not None:
            raise BadInput("with --listen and --to there is neither FILE nor --response nor --port")
        target = _target("--to", to)
        _run_proxy(_address("--listen", listen), target, PrintingTap(printer, str(target)), rewrite=rewrite)
        return
    if rewrite:
        raise BadInput("--rewrite is for --listen and --to")
    if file is not None and file.startswith("-") and file != STDIN:
        raise BadInput(f"there is no option {file}; a FILE of that name is ./{file}")
    if file is None:
        raise BadInput("what to read is missing: FILE, or --listen and --to")
    try:
        for what in _frames(file, port, answers=response is not None):
            printer.show(what)
    finally:
        sys.stdout.flush()


def record_command(
    file: Path,
    /,
    *,
    listen: Annotated[str, Parameter(name="--listen")],
    to: Annotated[str, Parameter(name="--to")],
    rewrite: Annotated[bool, Parameter(name="--rewrite", negative=())] = False,
) -> None:
    """Write what passes a proxy to FILE, which must not exist yet, until SIGINT or SIGTERM.

    The proxy is that of kcoord dump --listen: read there why clients leave it, and what keeps them. When it is
    ready it says so on standard error.

    FILE is a session: JSON lines, the first of which says when it started and where the broker is. Each of the
    others has "ms" since the start, the number of the connection, and either "from", "client" or "broker", with
    the "frame" in hex, its size in front; or an "event": "opened" with the "peer", "closed" or "broken" with "by".
    kcoord dump prints it, kcoord replay plays it again.

    Parameters
    ----------
    file
        Where to write.
    listen
        HOST:PORT where clients connect to the proxy; port 0 takes a free one.
    to
        HOST:PORT of the broker behind the proxy.
    rewrite
        Put the proxy's address into Metadata, FindCoordinator and DescribeCluster answers; for a single broker.

    """
    listening, target = _address("--listen", listen), _target("--to", to)
    try:
        with file.open("x", encoding="ascii", buffering=1) as lines:

            def write(line: str) -> None:
                try:
                    lines.write(line)
                except OSError as error:
                    raise BadInput(f"cannot write {file}: {error.strerror}") from None

            tap = RecordingTap(write, _say, time.time() * 1000, str(target))
            _run_proxy(listening, target, tap, rewrite=rewrite)
    except CannotProxy:
        file.unlink()  # nothing has been recorded
        raise
    except FileExistsError:
        raise BadInput(f"{file} exists already") from None
    except OSError as error:
        raise BadInput(f"cannot write {file}: {error.strerror}") from None


def replay_command(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    to: str,
    /,
    *,
    patience: Annotated[float, Parameter(name="--patience")] = 30.0,
    pace: Annotated[bool, Parameter(name="--pace", negative=())] = False,
    ignore: Annotated[str, Parameter(name="--ignore")] = "",
) -> None:
    """Play the requests of a session against another broker, and print in what its answers differ.

    FILE is a session of kcoord record, TO the HOST:PORT of the broker. There are as many connections as were
    recorded, and everything happens in the recorded order: where an answer was recorded before a request, it is
    waited for first. Pauses are left out, unless --pace asks for them.

    What the broker makes up is learned from its answers and put into later requests: member ids, generations,
    topic ids, producer ids, fetch sessions, ids of nodes and of the cluster. Such ids are not compared, only
    whether they are the same where they were the same. Not compared are times, hosts, ports and the order of
    what has names. Metadata and assignments that members give each other are sent as recorded.

    For each field that differs it prints a line, once for answers that differ alike, and behind an id what that
    has become by now, if that is known; exit status 1 if there are any, 0 if there are none. Where a connection
    cannot go on, because an answer does not come, that counts as one, and the rest of that connection is not
    played.

    Parameters
    ----------
    file
        The session; "-" is standard input.
    to
        HOST:PORT of the broker.
    patience
        Seconds to wait for an answer.
    pace
        Send no request sooner after the start than it was recorded.
    ignore
        Names of fields that are not compared, with commas between.

    """
    target = _target("TO", to)
    if not 0 < patience <= LONGEST_PATIENCE:
        raise BadInput(
            f"--patience is {patience}: it must be a number of seconds above 0, and at most {LONGEST_PATIENCE:g}"
        )
    _let_through_any_text()

    def found(finding: Finding) -> None:
        _print_flushed(finding_as_text(finding) + "\n")

    with _reading(file) as stream:
        session = Session(stream, _named(file))
        ignored = [each.strip() for each in ignore.split(",") if each.strip()]
        replay = Replay(target, found, patience=patience, pace=pace, ignored=ignored)
        count = _run(partial(replay.run, session.events()))
    again = f", {count.repeated} of them like one above" if count.repeated else ""
    _print_flushed(f"{count.requests} requests, {count.answers} answers, {count.findings} differences{again}\n")
    if count.findings:
        sys.exit(DIFFERENT)


def _run_proxy(listen: Address, to: Address, tap: Tap, *, rewrite: bool) -> None:
    """Run a proxy until a signal. Raises BadInput, and what the tap raises of OSError and BadInput."""

    async def main() -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:
                addresses = await nursery.start(Proxy(to, tap, rewrite=rewrite).run, listen)
                _say(f"listening on {', '.join(str(each) for each in addresses)}")
                async for _ in signals:
                    nursery.cancel_scope.cancel()
                    break

    _run(main)


def _run(main: Callable[[], Any]) -> Any:
    """Run trio. Raises BadInput and OSError as such, not in a group."""
    try:
        return trio.run(main)
    except BaseExceptionGroup as group:
        expected, other = group.split((BadInput, OSError))
        if other is not None or expected is None:
            raise
        first: BaseException = expected
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


def _address(flag: str, text: str | None) -> Address:
    if text is None:
        raise BadInput(f"{flag} is missing; --listen and --to go together")
    try:
        return Address.parse(text)
    except ValueError as error:
        raise BadInput(f"{flag} is {text!r}: {error}") from None


def _target(flag: str, text: str | None) -> Address:
    """Read where something is to be connected to. Raises BadInput."""
    address = _address(flag, text)
    if address.port == 0:
        raise BadInput(f"{flag} is {text!r}: nobody listens at port 0")
    return address


def _frames(file: str, port: int | None, *, answers: bool) -> Iterator[Frame | Remark]:
    """Read a file. Raises BadInput."""
    with _reading(file) as stream:
        yield from sources.read(stream, _named(file), port=port, answers=answers)


@contextmanager
def _reading(file: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input. Raises BadInput, and so does reading from it."""
    try:
        stream = sys.stdin.buffer if file == STDIN else Path(file).open("rb")  # noqa: SIM115 - below
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None
    with stream:
        yield sources.checked(stream, _named(file))


def _named(file: str) -> str:
    return "standard input" if file == STDIN else file


def _let_through_any_text() -> None:
    """Let characters that the output has no code for be written as escapes, not raise."""
    with suppress(AttributeError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _print_flushed(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _say(sentence: str) -> None:
    print(printable(f"kcoord: {sentence}"), file=sys.stderr, flush=True)
