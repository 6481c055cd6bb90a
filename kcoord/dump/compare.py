"""Two answers to the same request, one recorded and one of now: in which fields they differ.

Not compared are times, hosts, ports, sizes of disks, and what follows from them; ids only agree or do not
(`kcoord.dump.learning`). The order of a list does not count where its elements have names of their own, because
Kafka's comes from hash tables.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from kcoord.dump.api_names import api_name
from kcoord.dump.fields import ABSENT, MASKED, NEVER, Absent, Path, key_of
from kcoord.dump.learning import KINDS, Ids, is_id, kind_of

_FIRST: Final = "member_id"
"""Learned before the rest: what else names members, as `leader` does, is held against it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field, and its value in both answers. In the path is the index, or in brackets the name, of an element.

    `by_now` is the id that a recorded one is known to have become, None where the two are the same or it is no id.
    """

    path: Path
    recorded: Any
    now: Any
    by_now: Any = None

    @property
    def gist(self) -> str:
        """What is the same in differences that are alike: of an id, or a time, it is not the value."""
        name = next((each for each in reversed(self.path) if isinstance(each, str) and each[:1] != "["), "")
        return repr(self.path if name in KINDS or name in MASKED else (self.path, self.recorded, self.now))


@dataclass(frozen=True, slots=True)
class Question:
    """A request that waits for its answer."""

    key: int
    version: int
    correlation_id: int
    group: str = ""

    def __str__(self) -> str:
        return f"{api_name(self.key)} v{self.version}, correlation id {self.correlation_id}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was not as recorded: on which connection, after which request, and what."""

    connection: int
    asked: Question | None
    text: str = ""
    difference: Difference | None = None


class Comparison:
    """Compares answers, one after the other; `ids` is what is known and what is learned, `ignored` names fields."""

    def __init__(self, ids: Ids, ignored: Iterable[str] = ()) -> None:
        self._ids = ids
        self._ignored = frozenset(ignored)

    def differences(self, recorded: Any, now: Any, group: str = "") -> list[Difference]:
        """Compare two answers as `plain` lays them out; `group` is the one that the request was about."""
        found: list[Difference] = []
        self._compare(found, (), "", recorded, now, group)
        return found

    def _compare(self, found: list[Difference], path: Path, name: str, recorded: Any, now: Any, group: str) -> None:
        if name in self._ignored:
            return
        if isinstance(recorded, dict) and isinstance(now, dict):
            self._compare_dicts(found, path, recorded, now, group)
        elif isinstance(recorded, list) and isinstance(now, list):
            self._compare_lists(found, path, name, recorded, now, group)
        elif not self._same(name, recorded, now, group):
            found.append(Difference(path, recorded, now, self._by_now(name, recorded, group)))

    def _compare_dicts(
        self, found: list[Difference], path: Path, recorded: dict[str, Any], now: dict[str, Any], group: str
    ) -> None:
        named = recorded.get("group_id")
        group = named if isinstance(named, str) and named else group
        for name in sorted({**recorded, **now}, key=lambda each: each != _FIRST):
            values = recorded.get(name, Absent()), now.get(name, Absent())
            self._compare(found, (*path, name), name, *values, group)

    def _compare_lists(
        self, found: list[Difference], path: Path, name: str, recorded: list[Any], now: list[Any], group: str
    ) -> None:
        key = key_of(recorded, now)
        for index, (old, new) in enumerate(self._paired(key, recorded, now, group)):
            step: str | int = index
            if key is not None and key not in KINDS:
                step = f"[{key} {(new if isinstance(old, Absent) else old)[key]}]"
            self._compare(found, (*path, step), name, old, new, group)

    def _paired(self, key: str | None, recorded: list[Any], now: list[Any], group: str) -> list[tuple[Any, Any]]:
        """Return which elements belong together; those of now that belong to none come last."""
        if key is None:
            length = max(len(recorded), len(now))
            return list(zip(_filled(recorded, length), _filled(now, length), strict=True))
        kind = kind_of(key, group)
        rest = {each[key]: each for each in now}
        names = [each[key] if kind is None else self._ids.now(kind, each[key]) for each in recorded]
        pairs = [(old, rest.pop(name, Absent())) for old, name in zip(recorded, names, strict=True)]
        if kind is not None:
            # Neither has been seen: the first of them that is left is as good as any other.
            fresh = iter([name for name in rest if is_id(kind, name) and not self._ids.is_taken(kind, name)])
            for index, (old, new) in enumerate(pairs):
                if isinstance(new, Absent) and not self._ids.knows(kind, old[key]):
                    name = next(fresh, None)
                    if name is None:
                        break
                    pairs[index] = (old, rest.pop(name))
        return pairs + [(Absent(), each) for each in rest.values()]

    def _by_now(self, name: str, recorded: Any, group: str) -> Any:
        kind = kind_of(name, group)
        if kind is None or isinstance(recorded, (list, dict, Absent)):
            return None
        found = self._ids.now(kind, recorded)
        return None if found == recorded else found

    def _same(self, name: str, recorded: Any, now: Any, group: str) -> bool:
        if isinstance(recorded, Absent) or isinstance(now, Absent):
            return False
        if name in NEVER:
            return True
        if name in MASKED:
            return (recorded in ABSENT) == (now in ABSENT)
        kind = kind_of(name, group)
        if kind is not None:
            return self._ids.agree(kind, recorded, now)
        if isinstance(recorded, str) and isinstance(now, str):
            return recorded == now or self._ids.text(recorded) == now
        return bool(recorded == now)


def _filled(items: list[Any], length: int) -> list[Any]:
    return items + [Absent()] * (length - len(items))
