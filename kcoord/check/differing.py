"""Where two conversations differ that came of the same script at two brokers, once they are masked.

What was asked how often depends on time where a script polls or heartbeats. So questions are not compared one by one:
on each connection, those that are the same are taken together, and so are answers that are the same one after the
other. What remains is the order of different answers to the same question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kcoord.check.exchanges import Conversation, Exchange, Said
from kcoord.check.transcript import shown_value
from kcoord.dump.fields import NAMES, Absent, Path, key_of
from wire.errors import ErrorCode

NOTHING: Final = Absent()
_TWICE: Final = 2
_MOST: Final = 120
"""Characters of a value that are shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something differs: on which connection, in what (a request or a response), and in which field.

    The path is empty if it is not about a field.
    """

    connection: int
    title: str
    path: Path = ()

    @property
    def field(self) -> str:
        """The field in one word: `topics.[name t].partitions.0`."""
        return ".".join(map(str, self.path))

    @property
    def text(self) -> str:
        """All of it, as people read it."""
        return f"#{self.connection} {self.title}" + (f", {self.field}" if self.path else "")


@dataclass(frozen=True, slots=True)
class Difference:
    """A place, and what is there at the first and at the second broker, as people read it."""

    place: Place
    first: str
    second: str


def differences(first: Conversation, second: Conversation) -> list[Difference]:
    """Compare two masked conversations. Differences come in the order in which they were met at the first broker.

    Of two that do not go on to their ends, only what both have is compared.
    """
    whole = first.whole and second.whole
    ours, theirs = _questions(first.exchanges), _questions(second.exchanges)
    partners = _partners(list(ours), list(theirs))
    found: list[Difference] = []
    for mine in ours:
        other = partners.get(mine)
        if other is None:
            found += _only_one(ours[mine][0], is_first=True) if whole else ()
            continue
        question, counterpart = ours[mine][0], theirs[other][0]
        found += _said(question.connection, question.asked, counterpart.asked)
        for a, b in _to_compare(ours[mine], theirs[other]):
            found += _answers(a, b, whole=whole)
    if whole:
        taken = set(partners.values())
        for other in theirs:
            found += _only_one(theirs[other][0], is_first=False) if other not in taken else ()
    return found


_Question = tuple[int, str, str]
"""A connection, and what was asked there: the title and the body."""


def question_of(each: Exchange) -> _Question:
    """Return what was asked; it is the same if the same was asked again."""
    if each.asked is None:
        return each.connection, "", ""
    return each.connection, each.asked.title, repr(each.asked.value)


def _questions(exchanges: Sequence[Exchange]) -> dict[_Question, list[Exchange]]:
    """Take together what is the same question on the same connection."""
    found: dict[_Question, list[Exchange]] = {}
    for each in exchanges:
        found.setdefault(question_of(each), []).append(each)
    return found


def _partners(ours: Sequence[_Question], theirs: Sequence[_Question]) -> dict[_Question, _Question]:
    """Find for each question the same one, or else the next one of the same API that has no other partner."""
    partners = {each: each for each in ours if each in set(theirs)}
    rest: dict[tuple[int, str], list[_Question]] = {}
    for each in theirs:
        if each not in partners:
            rest.setdefault(each[:2], []).append(each)
    for each in ours:
        if each not in partners and rest.get(each[:2]):
            partners[each] = rest[each[:2]].pop(0)
    return partners


def _to_compare(ours: Sequence[Exchange], theirs: Sequence[Exchange]) -> Iterator[tuple[Exchange, Exchange]]:
    """Pair the exchanges of one question whose answers are to be the same.

    If the answers are the same ones in the same order, there are none. Otherwise, who asked more than twice waited for
    the last answer, and what came before depended on time; so it did if one was asked more often. Or who asked was
    stopped at some time: then those of one are the first ones of the other.
    """
    ours, theirs = _without_the_end(ours), _without_the_end(theirs)
    mine, others = _in_a_row(ours), _in_a_row(theirs)
    shorter = min(len(mine), len(others))
    often = max(len(ours), len(theirs)) > _TWICE
    if mine == others or (often and mine[:shorter] == others[:shorter]):
        return
    if not often and len(ours) == len(theirs):
        yield from zip(ours, theirs, strict=True)
    else:
        yield ours[-1], theirs[-1]


def _without_the_end(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """Leave out the last one of several if it is without an answer: who heartbeats is stopped at some time."""
    return exchanges[:-1] if len(exchanges) > 1 and exchanges[-1].answer is None else exchanges


def _in_a_row(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the answers, each only once where it came several times in a row."""
    texts = [repr((each.answer, each.closed)) for each in exchanges]
    return [text for at, text in enumerate(texts) if at == 0 or texts[at - 1] != text]


def _answers(first: Exchange, second: Exchange, *, whole: bool) -> Iterator[Difference]:
    asked = first.asked
    title = "" if asked is None else asked.title.replace(" request", " response").partition(",")[0]
    if first.answer is not None and second.answer is not None:
        yield from _said(first.connection, first.answer, second.answer)
    elif (first.answer is None) != (second.answer is None) and whole:
        words = ["no answer" if each.answer is None else "an answer" for each in (first, second)]
        yield Difference(Place(first.connection, title), *words)
    if first.closed != second.closed:
        words = ["the broker closes the connection" if each.closed else "it stays open" for each in (first, second)]
        yield Difference(Place(first.connection, title), *words)


def _only_one(only: Exchange, *, is_first: bool) -> Iterator[Difference]:
    title = "a frame" if only.asked is None else only.asked.title.partition(",")[0]
    words = ["it is sent", "it is not sent"] if only.asked is not None else ["it comes", "it does not come"]
    yield Difference(Place(only.connection, title), *(words if is_first else reversed(words)))


def _said(connection: int, first: Said | None, second: Said | None) -> Iterator[Difference]:
    """Compare two frames."""
    if first is None or second is None:
        return
    title = first.title.partition(",")[0]
    for path, a, b in _values((), first.value, second.value):
        if (first.part or second.part) and NOTHING in (a, b):
            # One was kept a little further than the other.
            continue
        yield Difference(Place(connection, title, path), shown(path, a), shown(path, b))


def _values(path: Path, first: Any, second: Any) -> Iterator[tuple[Path, Any, Any]]:
    if isinstance(first, dict) and isinstance(second, dict):
        for name in {**first, **second}:
            yield from _values((*path, name), first.get(name, NOTHING), second.get(name, NOTHING))
    elif isinstance(first, list) and isinstance(second, list):
        for step, a, b in _elements(first, second):
            yield from _values((*path, step), a, b)
    elif first != second or type(first) is not type(second):
        yield path, first, second


def _elements(first: list[Any], second: list[Any]) -> Iterator[tuple[str | int, Any, Any]]:
    """Pair the elements of two lists, by their names if they have any: Kafka's order is that of hash tables then.

    Where a name is there more than once, the elements are put in an order first.
    """
    key = key_of(first, second)
    if key is None:
        if any(all(isinstance(each, dict) and name in each for each in (*first, *second)) for name in NAMES):
            first, second = sorted(first, key=repr), sorted(second, key=repr)
        for at in range(max(len(first), len(second))):
            yield at, first[at] if at < len(first) else NOTHING, second[at] if at < len(second) else NOTHING
        return
    theirs = {each[key]: each for each in second}
    for each in first:
        yield f"[{key} {each[key]}]", each, theirs.pop(each[key], NOTHING)
    for name, each in theirs.items():
        yield f"[{key} {name}]", NOTHING, each


def shown(path: Path, value: Any) -> str:
    """Write a value as people read it; of a field with an error's number, its name as well."""
    if isinstance(value, dict):
        text = ", ".join(f"{name}: {shown((name,), one)}" for name, one in value.items())
        return text if len(text) <= _MOST else f"{text[:_MOST]}..."
    text = shown_value(value, _MOST)
    if path and str(path[-1]).endswith("error_code") and isinstance(value, int):
        text += f" {_error(value)}"
    return text


def _error(number: int) -> str:
    try:
        return ErrorCode(number).name
    except ValueError:
        return "(no error that Kafka has)"
