"""What the commands share: which server, in which form its answers are printed, and how it is told what went wrong."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text

from kcoord.config import ConfigError, printable
from kcoord.console import OutputConsole
from kcoord.control.errors import ControlError, Impossible
from kcoord.web.client import ControlClient

REFUSED = 1


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Server:
    """Which server, and how it is told what it answers."""

    control: Annotated[str | None, Parameter(name="--control")] = None
    """http://HOST:PORT of the server's control; else it is taken from KCOORD_CONTROL in the environment."""
    control_token: Annotated[str | None, Parameter(name="--control-token")] = None
    """Its token, if it has one; else it is taken from KCOORD_CONTROL_TOKEN in the environment."""
    json: Annotated[bool, Parameter(name="--json", negative=())] = False
    """Print the answer as JSON."""

    def ask(self, work: Callable[[ControlClient], Any], show: Callable[[Any], object]) -> None:
        """Ask, and print what comes of it: as JSON, or as `show` does, which is given the answer.

        Raises ConfigError for what is no address. Ends in SystemExit with status 1 if the server refuses.
        """
        try:
            client = ControlClient.from_environment(self.control, self.control_token)
        except Impossible as error:
            raise ConfigError(str(error)) from None
        try:
            answer = work(client)
        except ControlError as error:
            complain(str(error))
            sys.exit(REFUSED)
        if self.json:
            print(json.dumps(answer, indent=2, ensure_ascii=not _is_utf8()))
        else:
            show(answer)


USUAL = Server()
"""The server that the environment names."""


def commands(name: str, says: str) -> App:
    """Return what the commands of one kind are registered at."""
    return App(name=name, help=says, help_format="plaintext", version_flags=[])


def complain(text: str) -> None:
    """Say on standard error what went wrong: a sentence, and perhaps what is behind it."""
    sentence, *detail = text.split("\n")
    with suppress(OSError, ValueError):
        print("\n".join(map(printable, [f"kcoord: {sentence}", *detail])), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print one line, whatever is in names."""
    print(printable(text))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print a table: lines are as long as they are where the output is no terminal."""
    made = Table(show_edge=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for each in columns:
        justify: Literal["left", "right"] = "right" if each in right else "left"
        made.add_column(each, justify=justify, overflow="fold", header_style="bold")
    for row in rows:
        made.add_row(*(Text("" if each is None else printable(str(each))) for each in row))
    width = None if sys.stdout.isatty() else _WIDEST
    OutputConsole(file=sys.stdout, highlight=False, width=width).print(made)


_WIDEST = 1_000_000
"""Characters of a line where the output is no terminal: nothing is folded there."""


def partitions(given: dict[str, Any] | None) -> str:
    """Write the partitions of topics as people do."""
    if given is None:
        return "?"
    return ", ".join(f"{topic} {','.join(map(str, found))}" for topic, found in given.items())


def seconds(value: float | None) -> str:
    """Write seconds."""
    return "" if value is None else f"{value:.3f}"


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
