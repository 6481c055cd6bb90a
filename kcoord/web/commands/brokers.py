"""`kcoord brokers`: the logical brokers of a running server."""

from typing import Annotated, Any

from cyclopts import Parameter

from kcoord.web.commands.common import USUAL, Server, commands, table

app = commands("brokers", "The brokers of a running server. Without a command: a list.")


@app.default
def show(*, server: Server = USUAL) -> None:
    """List the brokers."""
    server.ask(lambda client: client.get("brokers"), _table)


@app.command
def stop(
    broker: int,
    *,
    elect: Annotated[bool, Parameter(name="--elect", negative="--no-elect")] = True,
    server: Server = USUAL,
) -> None:
    """Stop a broker: its connections end, and its addresses refuse new ones.

    Parameters
    ----------
    broker
        Its node id.
    elect
        Whether another replica leads what it led; otherwise nobody does.

    """
    server.ask(lambda client: client.post("brokers", broker, "stop", elect=elect), show_one)


@app.command
def start(broker: int, *, server: Server = USUAL) -> None:
    """Start a broker again, at its addresses."""
    server.ask(lambda client: client.post("brokers", broker, "start"), show_one)


@app.command
def reset(*, server: Server = USUAL) -> None:
    """Let every broker run, and lead what it led at first."""

    def work(client: Any) -> Any:
        client.post("brokers", "reset")
        return client.get("brokers")

    server.ask(work, _table)


def show_one(broker: dict[str, Any]) -> None:
    """Show a broker."""
    _table([broker])


def _table(brokers: list[dict[str, Any]]) -> None:
    columns = ["BROKER", "ADDRESS", "STATE", "CONNECTIONS", "LEADS", "COORDINATES", "GROUPS"]
    rows = (
        (
            each["node_id"],
            ", ".join(each["addresses"]),
            "runs" if each["running"] else "stopped",
            each["connections"],
            each["leads"],
            each["coordinates"],
            ", ".join(each["groups"]),
        )
        for each in brokers
    )
    table(columns, rows, right=("BROKER", "CONNECTIONS", "LEADS", "COORDINATES"))
