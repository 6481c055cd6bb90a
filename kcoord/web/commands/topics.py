"""`kcoord topics` and `kcoord reset`: what there is on a running server for a test to begin with."""

from typing import Annotated, Any

from cyclopts import Parameter

from kcoord.config import ConfigError
from kcoord.control import given
from kcoord.shown import shown
from kcoord.web.client import ControlClient
from kcoord.web.commands.common import USUAL, Server, commands, table

app = commands("topics", "The topics of a running server. Without a command: a list.")


@app.default
def show(*, server: Server = USUAL) -> None:
    """List all topics but internal ones."""
    server.ask(lambda client: client.get("topics"), _table)


@app.command
def create(
    topic: str,
    *settings: str,
    partitions: Annotated[int, Parameter(name="--partitions")] = 1,
    server: Server = USUAL,
) -> None:
    """Create a topic.

    As in: kcoord topics create orders --partitions 6 cleanup.policy=compact

    Parameters
    ----------
    topic
        Its name.
    settings
        KEY=VALUE, by Kafka's names.
    partitions
        How many.

    """
    wanted: dict[str, str] = {}
    for each in settings:
        key, sign, value = each.partition("=")
        if not sign or not key or key in wanted:
            raise ConfigError(f"{shown(each)} is no setting: it must be KEY=VALUE, each once")
        wanted[key] = value

    def work(client: ControlClient) -> Any:
        body = {
            "name": given.named("a topic's name", topic),
            "partitions": given.partitions(topic, partitions),
            "settings": given.settings(wanted),
        }
        return client.ask("POST", "topics", body=body)

    server.ask(work, lambda made: _table([made]))


@app.command
def delete(topic: str, *, server: Server = USUAL) -> None:
    """Delete a topic, and what groups committed for it."""
    server.ask(lambda client: client.delete("topics", given.named("a topic's name", topic)), lambda _: None)


def reset(*, server: Server = USUAL) -> None:
    """Let nothing be left of what was before: groups, topics, records and faults.

    Connections are cut, stopped brokers are started, and the configured topics are there anew, empty; the clock keeps
    its time.
    """
    server.ask(lambda client: client.post("reset"), lambda _: None)


def _table(topics: list[dict[str, Any]]) -> None:
    columns = ["TOPIC", "PARTITIONS", "RECORDS", "SETTINGS"]
    rows = (
        (
            each["name"],
            each["partitions"],
            sum(end - start for start, end in each["records"]),
            ", ".join(f"{key}={value}" for key, value in each["settings"].items()),
        )
        for each in topics
    )
    table(columns, rows, right=("PARTITIONS", "RECORDS"))
