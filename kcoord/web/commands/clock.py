"""`kcoord clock`: the time as a running server sees it."""

from datetime import UTC, datetime
from typing import Annotated, Any

from cyclopts import Parameter

from kcoord.control import given
from kcoord.web.commands.common import USUAL, Server, commands, say

app = commands("clock", "The clock of a running server. Without a command: what time it has.")


@app.default
def show(*, server: Server = USUAL) -> None:
    """Tell what time the server has."""
    server.ask(lambda client: client.get("clock"), _show)


@app.command
def advance(
    seconds: float,
    *,
    heartbeats: Annotated[bool, Parameter(name="--heartbeats", negative="--no-heartbeats")] = True,
    server: Server = USUAL,
) -> None:
    """Move time forward; everything that was due has happened when this ends.

    Parameters
    ----------
    seconds
        How far.
    heartbeats
        Whether members whose connection is open count as having sent heartbeats meanwhile.

    """
    server.ask(
        lambda client: client.post("clock", "advance", seconds=given.move(seconds), heartbeats=heartbeats),
        _show,
    )


@app.command
def freeze(*, server: Server = USUAL) -> None:
    """Let time stand still but for advances."""
    server.ask(lambda client: client.post("clock", "freeze"), _show)


@app.command
def resume(*, server: Server = USUAL) -> None:
    """Let time go on from where it stands."""
    server.ask(lambda client: client.post("clock", "resume"), _show)


def _show(clock: dict[str, Any]) -> None:
    try:
        shown = datetime.fromtimestamp(clock["wall_ms"] / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        # It may have been moved beyond what calendars have.
        shown = f"{clock['wall_ms']} ms"
    say(f"{shown}{', and stands still' if clock['frozen'] else ''}")
