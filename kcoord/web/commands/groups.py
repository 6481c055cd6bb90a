"""`kcoord groups`: to look at a running server's groups, to wait for them, and to interfere with them."""

from dataclasses import asdict
from typing import Annotated, Any

from cyclopts import Parameter

from kcoord.config import ConfigError
from kcoord.control import given
from kcoord.control.groups import USUAL_TIMEOUT
from kcoord.control.wishes import Wish
from kcoord.web.client import PATIENCE, ControlClient
from kcoord.web.commands.brokers import show_one
from kcoord.web.commands.common import USUAL, Server, commands, partitions, say, seconds, table

app = commands("groups", "The groups of a running server. Without a command: a list.")


@app.default
def show_all(*, server: Server = USUAL) -> None:
    """List all groups."""
    server.ask(lambda client: client.get("groups"), _list)


@app.command
def show(group: str, *, server: Server = USUAL) -> None:
    """Show a group, its members and its offsets."""
    server.ask(lambda client: client.get("groups", given.group(group)), _show)


@app.command
def wait(
    group: str,
    *,
    state: Annotated[str | None, Parameter(name="--state")] = None,
    members: Annotated[int | None, Parameter(name="--members")] = None,
    generation: Annotated[int | None, Parameter(name="--generation")] = None,
    synced: Annotated[bool, Parameter(name="--synced", negative=())] = False,
    timeout: Annotated[float, Parameter(name="--timeout")] = USUAL_TIMEOUT,
    server: Server = USUAL,
) -> None:
    """Wait until a group is what is asked for, and show it; it need not exist yet.

    If it does not become that in time, what it waits for and its timeline go to standard error, and the exit status
    is 1.

    Parameters
    ----------
    group
        The group's id.
    state
        Dead, Empty, PreparingRebalance, CompletingRebalance or Stable.
    members
        So many.
    generation
        This one, or a later one.
    synced
        That it is Stable, and each of its members has been given its assignment.
    timeout
        Seconds of real time.

    """

    def work(client: ControlClient) -> Any:
        wish = Wish(state=state, members=members, generation=generation, synced=synced, timeout=timeout)
        return client.post("groups", given.group(group), "wait", patience=PATIENCE + timeout, **asdict(wish))

    server.ask(work, _show)


@app.command
def rebalance(
    group: str,
    *,
    reason: Annotated[str, Parameter(name="--reason")] = "",
    server: Server = USUAL,
) -> None:
    """Let every member join again; nobody is added.

    Parameters
    ----------
    group
        The group's id.
    reason
        Why; it is told in the timeline.

    """
    server.ask(lambda client: client.post("groups", given.group(group), "rebalance", reason=reason), _show)


@app.command
def expire(group: str, member: str, *, server: Server = USUAL) -> None:
    """Put a member out as if its session had ended.

    Parameters
    ----------
    group
        The group's id.
    member
        A member id, an instance id, or a client id that one member has alone.

    """
    server.ask(lambda client: client.post("groups", given.group(group), "expire", member=member), _show)


@app.command
def fence(group: str, instance_id: str, *, server: Server = USUAL) -> None:
    """Let a static member meet FENCED_INSTANCE_ID (82), as if its place had been taken."""
    server.ask(lambda client: client.post("groups", given.group(group), "fence", instance_id=instance_id), _show)


@app.command
def evict(
    group: str,
    member: str,
    *,
    reason: Annotated[str | None, Parameter(name="--reason")] = None,
    server: Server = USUAL,
) -> None:
    """Let a member leave, as an operator's LeaveGroup does.

    Parameters
    ----------
    group
        The group's id.
    member
        A member id, an instance id, or a client id that one member has alone.
    reason
        Why; it is told in the timeline.

    """
    body = {"member": member} if reason is None else {"member": member, "reason": reason}
    server.ask(lambda client: client.ask("POST", "groups", given.group(group), "evict", body=body), _show)


@app.command
def set_offsets(group: str, *offsets: str, server: Server = USUAL) -> None:
    """Let these be the committed offsets, whoever is in the group; others stay.

    Parameters
    ----------
    group
        The group's id; one that there is not comes into being.
    offsets
        TOPIC:PARTITION=OFFSET; without an offset behind the = what is committed is deleted.

    """
    if not offsets:
        raise ConfigError("which offsets? Give TOPIC:PARTITION=OFFSET")
    wanted = {"offsets": [_offset(each) for each in offsets]}
    server.ask(lambda client: client.ask("PUT", "groups", given.group(group), "offsets", body=wanted), _show)


@app.command
def delete(group: str, *, server: Server = USUAL) -> None:
    """Let a group be no more, whoever is in it."""
    server.ask(lambda client: client.delete("groups", given.group(group)), lambda _: None)


@app.command
def move(
    group: str,
    *,
    to: Annotated[int | None, Parameter(name="--to")] = None,
    loading: Annotated[float, Parameter(name="--loading")] = 0.0,
    server: Server = USUAL,
) -> None:
    """Let another broker coordinate a group, and all groups of its partition.

    Parameters
    ----------
    group
        The group's id.
    to
        The node id of that broker; else it is the next replica that runs.
    loading
        Seconds on the server's clock for which it loads.

    """
    server.ask(
        lambda client: client.post(
            "groups", given.group(group), "move", to=to, loading=given.seconds("loading", loading)
        ),
        show_one,
    )


@app.command
def load(group: str, seconds: float, *, server: Server = USUAL) -> None:
    """Let a group's coordinator load for so many seconds on the server's clock."""
    server.ask(
        lambda client: client.post("groups", given.group(group), "load", seconds=given.seconds("loading", seconds)),
        lambda _: None,
    )


def _offset(text: str) -> dict[str, Any]:
    place, found, offset = text.rpartition("=")
    topic, colon, partition = place.rpartition(":")
    if not found or not colon or not topic or not _is_number(partition) or not (_is_number(offset) or not offset):
        raise ConfigError(f"{text!r} is no offset: it must be TOPIC:PARTITION=OFFSET")
    return {"topic": topic, "partition": int(partition), "offset": int(offset) if offset else None}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _TOO_LONG


_TOO_LONG = 20
"""Digits: offsets have 64 bits."""


def _list(groups: list[dict[str, Any]]) -> None:
    rows = (
        (
            each["group_id"],
            each["state"],
            each["generation"],
            each["protocol"],
            len(each["members"]),
            len(each["offsets"]),
            each["coordinator"],
        )
        for each in groups
    )
    columns = ["GROUP", "STATE", "GENERATION", "PROTOCOL", "MEMBERS", "OFFSETS", "COORDINATOR"]
    table(columns, rows, right=("GENERATION", "MEMBERS", "OFFSETS", "COORDINATOR"))


def _show(group: dict[str, Any]) -> None:
    protocol = f", protocol {group['protocol']}" if group["protocol"] else ""
    say(
        f"{group['group_id']}: {group['state']}, generation {group['generation']}{protocol}, "
        f"coordinated by broker {group['coordinator']}"
    )
    if group["phase_ends_in"] is not None:
        say(f"waits for {', '.join(group['waiting_for'])}; the phase ends in {seconds(group['phase_ends_in'])} s")
    if group["members"]:
        print()
        _members(group)
    if group["offsets"]:
        print()
        rows = ((each["topic"], each["partition"], each["offset"], each["metadata"]) for each in group["offsets"])
        table(["TOPIC", "PARTITION", "OFFSET", "METADATA"], rows, right=("PARTITION", "OFFSET"))


def _members(group: dict[str, Any]) -> None:
    rows = (
        (
            f"{each['member_id']}{' (leader)' if each['leads'] else ''}",
            each["instance_id"],
            each["client_id"],
            each["host"],
            partitions(each["assignment"]),
            seconds(each["heartbeat_age"]),
            seconds(each["session_ends_in"]),
            each["waits_in"],
        )
        for each in group["members"]
    )
    columns = ["MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNMENT", "HEARD OF (s)", "SESSION ENDS (s)", "WAITS IN"]
    table(columns, rows, right=("HEARD OF (s)", "SESSION ENDS (s)"))
