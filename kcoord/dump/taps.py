"""Who is told of frames: one that prints them, one that writes a session. They are told in the order of passing."""

from collections.abc import Callable
from typing import Protocol

from kcoord.dump import session
from kcoord.dump.explain import Explained, Explainer
from kcoord.dump.frames import Frame, Remark
from kcoord.dump.show import as_json, as_text, remark_as_json, remark_as_text


class Tap(Protocol):
    """Is told what a proxy sees. Times are in ms since the epoch; connections are numbered from 1 on."""

    def opened(self, time_ms: float, connection: int, peer: str) -> None:
        """A client connected from `peer`."""

    def passed(self, time_ms: float, connection: int, from_client: bool, data: bytes) -> None:
        """A frame went by, `data` with its size in front."""

    def broken(self, time_ms: float, connection: int, by: str, why: str, rubbish: bytes) -> None:
        """One side, "client" or "broker", sent what is no frame; it goes by unread from there on."""

    def noted(self, time_ms: float, connection: int, text: str) -> None:
        """Something is to be said about a connection."""

    def closed(self, time_ms: float, connection: int, by: str) -> None:
        """A connection ended, by "client", "broker" or "proxy"."""


class Printer:
    """Explains frames and writes them.

    Args:
        write: Takes text, whole lines.
        json: Whether these are JSON.
        whole: Whether long values are written to their end; JSON always has them.
        only: Keys of the APIs that are shown; None means all.
        group: The group that what is shown has to be about; None means any, and none.
        answers: Key and version of answers whose requests are not there.

    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        json: bool = False,
        whole: bool = False,
        only: frozenset[int] | None = None,
        group: str | None = None,
        answers: tuple[int, int] | None = None,
    ) -> None:
        self._write = write
        self._json = json
        self._whole = whole
        self._only = only
        self._group = group
        self._explainer = Explainer(answers)
        self._number = 0

    def show(self, what: Frame | Remark) -> None:
        """Write a frame, if it is one to be shown, or a remark; where frames are chosen, only remarks about trouble."""
        if isinstance(what, Remark):
            if what.routine and (self._only is not None or self._group is not None):
                return
            self._write(remark_as_json(what) if self._json else remark_as_text(what))
            return
        self._number += 1
        explained = self._explainer.explain(what)
        if self._is_wanted(explained):
            as_they_want = as_json(self._number, explained) if self._json else self._as_text(explained)
            self._write(as_they_want)

    def forget(self, connection: int) -> None:
        """Forget what a connection asked; it is closed."""
        self._explainer.forget(connection)

    def _as_text(self, explained: Explained) -> str:
        return as_text(self._number, explained, whole=self._whole) + "\n"

    def _is_wanted(self, explained: Explained) -> bool:
        if self._only is not None and explained.key not in self._only:
            return False
        return self._group is None or self._group in explained.groups


class PrintingTap:
    """Prints what a proxy sees. `broker` is what the other side of all connections is called."""

    def __init__(self, printer: Printer, broker: str) -> None:
        self._printer = printer
        self._broker = broker
        self._peers: dict[int, str] = {}

    def opened(self, time_ms: float, connection: int, peer: str) -> None:
        """Print that a client connected."""
        self._peers[connection] = peer
        self._routine(time_ms, connection, "opened")

    def passed(self, time_ms: float, connection: int, from_client: bool, data: bytes) -> None:
        """Print a frame."""
        source, target = self._ends(connection, from_client)
        self._printer.show(Frame(data, connection, from_client, source, target, time_ms))

    def broken(self, time_ms: float, connection: int, by: str, why: str, rubbish: bytes) -> None:
        """Print that one side sends no frames."""
        source, target = self._ends(connection, by == "client")
        text = f"{why}; what follows is passed on unread"
        self._printer.show(Remark(text, connection, source, target, time_ms, rubbish))

    def noted(self, time_ms: float, connection: int, text: str) -> None:
        """Print a remark."""
        source, target = self._ends(connection, True)
        self._printer.show(Remark(text, connection, source, target, time_ms))

    def closed(self, time_ms: float, connection: int, by: str) -> None:
        """Print that a connection ended."""
        self._routine(time_ms, connection, f"closed by the {by}")
        self._printer.forget(connection)
        del self._peers[connection]

    def _routine(self, time_ms: float, connection: int, text: str) -> None:
        source, target = self._ends(connection, True)
        self._printer.show(Remark(text, connection, source, target, time_ms, routine=True))

    def _ends(self, connection: int, from_client: bool) -> tuple[str, str]:
        peer = self._peers.get(connection, "")
        return (peer, self._broker) if from_client else (self._broker, peer)


class RecordingTap:
    """Writes a session. `write` takes lines, each of which should reach the file at once; `say` takes remarks."""

    def __init__(
        self, write: Callable[[str], object], say: Callable[[str], object], started_ms: float, to: str
    ) -> None:
        self._write = write
        self._say = say
        self._started_ms = started_ms
        write(session.first_line(started_ms, to))

    def opened(self, time_ms: float, connection: int, peer: str) -> None:
        """Write that a client connected."""
        self._tell(session.Opened(self._ms(time_ms), connection, peer))

    def passed(self, time_ms: float, connection: int, from_client: bool, data: bytes) -> None:
        """Write a frame."""
        self._tell(session.Passed(self._ms(time_ms), connection, from_client, data))

    def broken(self, time_ms: float, connection: int, by: str, why: str, rubbish: bytes) -> None:
        """Write that one side sends no frames."""
        self._tell(session.Broken(self._ms(time_ms), connection, by, why, rubbish))

    def noted(self, time_ms: float, connection: int, text: str) -> None:  # noqa: ARG002 - a Tap's
        """Say a remark; a session has no place for it."""
        self._say(f"connection {connection}: {text}")

    def closed(self, time_ms: float, connection: int, by: str) -> None:
        """Write that a connection ended."""
        self._tell(session.Closed(self._ms(time_ms), connection, by))

    def _tell(self, event: session.Event) -> None:
        self._write(session.line_of(event))

    def _ms(self, time_ms: float) -> float:
        return max(time_ms - self._started_ms, 0.0)
