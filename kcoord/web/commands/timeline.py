"""`kcoord timeline`: what happened to a group, and why."""

import sys
from typing import Annotated, Any

from cyclopts import Parameter

from kcoord.control import given
from kcoord.timeline.names import printable
from kcoord.timeline.timeline import LONGEST_LINE
from kcoord.web.client import ControlClient
from kcoord.web.commands.common import USUAL, Server, commands, say

app = commands("timeline", "What happened to a group, as a story. Without a group: which groups there are.")


@app.default
def show(
    group: str | None = None,
    *,
    findings: Annotated[bool, Parameter(name="--findings", negative=())] = False,
    server: Server = USUAL,
) -> None:
    """Tell what happened to a group.

    Parameters
    ----------
    group
        The group's id.
    findings
        Tell nothing but what should not have happened.

    """
    if group is None:
        server.ask(lambda client: client.get("timeline"), _groups)
    elif findings:
        server.ask(lambda client: client.get("timeline", given.group(group), "findings"), _findings)
    else:
        server.ask(lambda client: _timeline(client, group, text=not server.json), _story)


def _groups(told: dict[str, Any]) -> None:
    for each in told["groups"]:
        say(each)


def _timeline(client: ControlClient, group: str, *, text: bool) -> Any:
    return client.get("timeline", given.group(group), text=text)


def _story(text: str) -> None:
    sys.stdout.write("".join(f"{printable(line, LONGEST_LINE)}\n" for line in text.splitlines()))


def _findings(found: list[dict[str, Any]]) -> None:
    for each in found:
        say(f"{each['at']:12.3f} s  {each['kind']}: {each['sentence']}")
    if not found:
        say("nothing")
