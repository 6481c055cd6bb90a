"""`kcoord faults`: requests to a running server that go wrong on purpose."""

from dataclasses import fields
from typing import Any

from kcoord.config import ConfigError
from kcoord.control.errors import Impossible
from kcoord.faults import BadFault, FaultRule
from kcoord.web.client import ControlClient
from kcoord.web.commands.common import USUAL, Server, commands, say, table
from kcoord.web.shapes import hints

app = commands("faults", "The faults of a running server. Without a command: those in force.")


@app.default
def show(*, server: Server = USUAL) -> None:
    """List the faults that are in force."""
    server.ask(lambda client: client.get("faults"), _table)


@app.command
def add(*parts: str, server: Server = USUAL) -> None:
    """Put a fault in force until it is removed.

    As in: kcoord faults add api=Heartbeat error=REBALANCE_IN_PROGRESS nth=3

    Which requests it is for is said by api, group, member, instance_id, client_id, generation, state, topic, partition,
    broker, nth, times, probability (with seed) and seconds; what becomes of them by error, delay, late, hold
    (request or answer), drop (before or after) and truncate.

    Parameters
    ----------
    parts
        KEY=VALUE.

    """
    rule = fault(parts)

    def work(client: ControlClient) -> Any:
        # What JSON has no form for is looked at here.
        try:
            FaultRule.of(rule)
        except BadFault as error:
            raise Impossible(str(error)) from None
        return client.ask("POST", "faults", body=rule)

    server.ask(work, _one)


@app.command
def remove(number: int, *, server: Server = USUAL) -> None:
    """Take a fault away; what it holds goes on."""
    server.ask(lambda client: client.delete("faults", number), _one)


@app.command
def release(number: int, *, server: Server = USUAL) -> None:
    """Let go what a fault holds."""
    server.ask(lambda client: client.post("faults", number, "release"), lambda told: say(f"{told['released']} went on"))


@app.command
def clear(*, server: Server = USUAL) -> None:
    """Take all faults away."""
    server.ask(lambda client: client.delete("faults"), lambda _: None)


def fault(parts: tuple[str, ...]) -> dict[str, Any]:
    """Return the fault that KEY=VALUE after KEY=VALUE make. Raises ConfigError."""
    kinds = hints(FaultRule)
    rule: dict[str, Any] = {}
    for part in parts:
        key, found, value = part.partition("=")
        if not found or key not in kinds:
            known = ", ".join(each.name for each in fields(FaultRule))
            raise ConfigError(f"{part!r} is no part of a fault: it must be KEY=VALUE, with one of {known}")
        if key in rule:
            raise ConfigError(f"{key} is there twice")
        rule[key] = _value(kinds[key], key, value)
    return rule


def _value(kind: Any, key: str, text: str) -> Any:
    if key == "error" and text.lstrip("-").isdecimal():
        return int(text)
    if kind in (str | None, str | int | None) or key in {"hold", "drop"}:
        return text
    try:
        return int(text) if kind in (int, int | None) else float(text)
    except ValueError:
        raise ConfigError(f"{key} is {text!r}: it must be a number") from None


def _one(view: dict[str, Any]) -> None:
    _table([view])


def _table(faults: list[dict[str, Any]]) -> None:
    columns = ["FAULT", "WHAT", "MATCHED", "APPLIED", "HELD"]
    rows = ((each["number"], each["sentence"], each["matched"], each["applied"], each["held"]) for each in faults)
    table(columns, rows, right=("FAULT", "MATCHED", "APPLIED", "HELD"))
