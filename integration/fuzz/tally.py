"""What a run reached: operations, answers by request and error, states, and what came of the sequences."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from wire.errors import ErrorCode
from wire.messages import DescribeGroupsResponse, ListGroupsResponse
from wire.schema import Struct


@dataclass
class Tally:
    """Counts."""

    sequences: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    twists: Counter[str] = field(default_factory=Counter)
    answers: dict[str, Counter[str]] = field(default_factory=dict)
    versions: dict[str, set[int]] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)

    def answer(self, name: str, version: int, answer: Any) -> None:
        """Count an answer, once for each error in it."""
        self.versions.setdefault(name, set()).add(version)
        counter = self.answers.setdefault(name, Counter())
        if not isinstance(answer, Struct):
            counter["(closed)"] += 1
            return
        counter.update({ErrorCode(code).name for code in errors(answer)} or {"NONE"})
        if isinstance(answer, (DescribeGroupsResponse, ListGroupsResponse)):
            self.states.update(group.group_state for group in answer.groups if group.group_state)

    def lines(self) -> list[str]:
        """Write it for people."""
        lines = [
            f"sequences   {shares(self.sequences)}",
            f"operations  {sum(self.operations.values())}: {shares(self.operations)}",
            f"twists      {shares(self.twists)}",
            f"states      {shares(self.states)}",
            f"held        {shares(self.held)}",
        ]
        for name, counter in sorted(self.answers.items()):
            versions = ",".join(str(version) for version in sorted(self.versions[name]))
            lines.append(f"{name} {versions}: {shares(counter)}")
        lines += [f"known       {count} x {reason}" for reason, count in self.known.most_common()]
        return lines


def errors(message: Any) -> set[int]:
    """Return the error codes in a message; those within it, if there are any but the outermost."""
    own = {getattr(message, "error_code", None)} - {None}
    inner: set[int] = set()
    for field_ in message.FIELDS:
        value = getattr(message, field_.name)
        if isinstance(value, list):
            for each in value:
                inner |= errors(each) if isinstance(each, Struct) else set()
    return inner or own


def shares(counter: Counter[str]) -> str:
    """Write counts, the largest first."""
    return ", ".join(f"{name} {count}" for name, count in counter.most_common()) or "none"
