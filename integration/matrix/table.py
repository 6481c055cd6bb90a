"""The matrix as README's table, as sentences, and as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from integration.clients.clients import CLIENTS
from integration.matrix.cells import APIS, DROPPED, SHOWN, TROUBLES, Cell, Outcome
from wire.errors import ErrorCode

Outcomes = Mapping[Cell, Outcome]
STOPPED: Final = "stopped"
SAYS: Final = {
    "stopped": "It stopped with an error",
    "hung": "It hung, and told the application nothing",
    "no heartbeats": "It went on consuming and committing, and sent no heartbeats any more",
    "not met": "It never sent the request",
}
SOON_S: Final = 2.0
"""What takes less is within the noise of the heartbeats' interval and of a busy machine."""
LONG_S: Final = 9.95
"""From here on tenths of seconds are left out."""


def shown(outcome: Outcome) -> str:
    """Return a cell of the table: seconds, `new id`, or what else became of it, and its marks.

    † stands for an error that the application was told of, ‡ for records that were read again.
    """
    told = f"{'†' if outcome.told else ''}{'‡' if outcome.read_again else ''}"
    if outcome.what != "recovered":
        return STOPPED if outcome.what == STOPPED else f"{outcome.what}{told}"
    assert outcome.seconds is not None
    time = f"{outcome.seconds:.{0 if outcome.seconds >= LONG_S else 1}f} s"
    return f"{time}{'' if outcome.same_member else ', new id'}{told}"


def table(outcomes: Outcomes) -> str:
    """Return the table: a row for each client and request, a column for each trouble."""
    rows = [
        ["client", "request", *TROUBLES],
        ["---", "---", *("---" for _ in TROUBLES)],
        *(
            [
                f"{SHOWN[client]} {CLIENTS[client].version}",
                api,
                *(shown(outcomes[Cell(client, api, trouble)]) for trouble in TROUBLES),
            ]
            for client in SHOWN
            for api in APIS
        ),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def sentences(outcomes: Outcomes) -> list[str]:
    """Return what stands out: who stops, who hangs, and who comes back as another member."""
    found = []
    for what, says in SAYS.items():
        cells = [cell for cell, outcome in outcomes.items() if outcome.what == what]
        if cells or what != "not met":
            found.append(f"- {says}: {by_client(cells)}.")
    again = [cell for cell, outcome in outcomes.items() if outcome.read_again]
    found.append(f"- It consumed again what had been committed: {by_client(again)}.")
    recovered = [cell for cell, outcome in outcomes.items() if outcome.what == "recovered"]
    others = [cell for cell in recovered if not outcomes[cell].same_member]
    found.append(f"- It came back as another member: {by_client(others)}.")
    slow = [cell for cell in recovered if (outcomes[cell].seconds or 0) >= SOON_S and cell not in others]
    found.append(f"- It came back as the same member, but after {SOON_S:.0f} s or more: {by_client(slow)}.")
    return found


def by_client(cells: Sequence[Cell]) -> str:
    """Return cells in words: by client, and its requests with their troubles."""
    parts = []
    for client, name in SHOWN.items():
        its = [cell for cell in cells if cell.client == client]
        requests = [
            f"{api} {'/'.join(cell.trouble for cell in its if cell.api == api)}"
            for api in APIS
            if any(cell.api == api for cell in its)
        ]
        if requests:
            parts.append(f"{name} ({', '.join(requests)})")
    return "; ".join(parts) or "nobody"


def readme(outcomes: Outcomes, date: str) -> str:
    """Return what stands between README's markers."""
    errors = ", ".join(f"{each} {ErrorCode(int(each)).name}" for each in TROUBLES if each != DROPPED)
    return "\n".join((f"Run on {date}. {errors}.", "", table(outcomes), "", *sentences(outcomes)))


def plain(outcomes: Outcomes, date: str) -> dict[str, Any]:
    """Return the matrix as what JSON can hold."""
    return {
        "date": date,
        "clients": {SHOWN[client]: CLIENTS[client].version for client in clients_of(outcomes)},
        "cells": [
            {
                "client": SHOWN[cell.client],
                "api": cell.api,
                "error": None if cell.trouble == DROPPED else int(cell.trouble),
                "dropped": cell.trouble == DROPPED,
                "static": cell.static,
                "outcome": outcome.what,
                "seconds": outcome.seconds,
                "same_member": outcome.same_member,
                "told": list(outcome.told),
                "ended": outcome.ended,
                "requests": list(outcome.requests),
                "read_again": outcome.read_again,
            }
            for cell, outcome in outcomes.items()
        ],
    }


def clients_of(cells: Iterable[Cell]) -> list[str]:
    """Return the clients of cells, in the table's order."""
    there = {cell.client for cell in cells}
    return [client for client in SHOWN if client in there]


def listed(outcomes: Outcomes) -> str:
    """Return cells one a line, for a run of only some of them."""
    return "\n".join(f"{SHOWN[cell.client]} {cell.api} {cell.trouble}: {shown(out)}" for cell, out in outcomes.items())
