"""A conversation without what no two brokers share, and no two runs of a rule: the same thing gets the same name.

Member ids, topic ids, producer ids and the like are called member-1, topic-1, producer-1; groups and topics that the
rule made are called by their stem and a number. Numbers are given out from one connection to the next and, in a list
of elements that have names, in the order of these, so that they do not depend on who was faster. Times, hosts and
ports become words in angle brackets.

Connections are told apart by what was asked on them: a script that opens several at the same time does not know which
comes first, and which member leads depends on who was faster.

Left out are groups and topics which nobody asked about, in answers that tell of all there are: other rules run beside
this one, and a broker may be in use.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from kcoord.check.exchanges import Conversation, Exchange, Said
from kcoord.dump.fields import ABSENT, MASKED, NEVER, key_of
from kcoord.dump.learning import GENERATION, KINDS, NODE, is_id

TIMES: Final = frozenset({"base_timestamp", "commit_timestamp", "log_append_time_ms", "max_timestamp", "timestamp"})
"""Masked only if they are times of these days (ms since the epoch): what else is in such a field, a rule put there."""
THESE_DAYS: Final = 1_500_000_000_000
TEXTS: Final = frozenset({"error_message", "batch_index_error_message", "documentation"})
"""Written for people, each broker in its own words: only whether there is one is compared."""
_SOURCE: Final = "config_source"
_OF_THE_BROKER: Final = (2, 3, 4, 5)
"""Sources of a setting that is not the topic's own (Apache Kafka DescribeConfigsResponse.ConfigSource): the broker, the
cluster, the broker's file, the default. Which of them it is, is up to whoever runs the broker."""
_OF_ONE_BROKER: Final = frozenset(
    {"advertised.listeners", "broker.id", "broker.rack", "listeners", "log.dir", "log.dirs", "node.id"}
)
"""Settings that no two brokers share."""
OFFSETS: Final = "__consumer_offsets"
_OF_OFFSETS: Final = frozenset(
    {
        "partition", "partition_index", "offset", "fetch_offset", "high_watermark", "last_stable_offset",
        "log_start_offset", "partition_size", "records",
    }
)  # fmt: skip
"""Of the partitions of `OFFSETS`, not compared: a group is in any of them, by its name, and the others that are in the
same one write there, too. Rules look for their own records, and what they say is judged by them."""
_HIDDEN: Final = (MASKED | TEXTS) - TIMES
_PLACED: Final = frozenset({"rack"})
"""Up to whoever runs the broker, also whether there is one."""
_OF_ALL: Final = {"groups": ("group_id",), "topics": ("name", "topic"), "config_resources": ("resource_name",)}
"""Lists that may tell of all there are at a broker, and what their elements are called by."""
_PAGES: Final = "DescribeTopicPartitions "
"""An API that tells of all topics a page at a time: what is on which depends on how many there are."""
_PREFIX: Final = "kcoord-check-[0-9a-f]{8}-"
_NUMBER: Final = "(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_MADE: Final = re.compile(f"{_PREFIX}([A-Za-z0-9._-]*?)-{_NUMBER}")
"""A name of a group or a topic (`kcoord.check.names`) within a text: the run's prefix, a stem, a number."""
_MADE_OF_ANYTHING: Final = re.compile(f"{_PREFIX}(.*?)-{_NUMBER}", re.DOTALL)
"""The same where the text is nothing else: rules about names have stems of all kinds."""
_SHARED: Final = re.compile(_PREFIX)
"""What is left then: the prefix of a shared topic."""
_ANY_NUMBER: Final = re.compile(f"{_PREFIX}|{_NUMBER}")
_BROKER: Final = 4
"""The type of a resource with settings that is a broker (Apache Kafka ConfigResource.Type)."""


_A_FIELD: Final = {kind: name for name, kind in KINDS.items()}
"""A field that has ids of a kind."""


class Mask(str):
    """A word that stands for what it names; shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_ALIKE: Final = ((None, True), (None, False), (1, True), (1, False), (0, True))
"""How connections are recognized, the surest way first: by so many of the questions, and by the number or not."""


def alike(first: Conversation, other: Conversation) -> Conversation:
    """Return the other conversation with its connections numbered as those of the first on which the same was asked.

    Those on which all was the same come first, then those that began in the same way, then those of the same number.
    """
    ours, theirs = _asked(first), _asked(other)
    free, rest = set(ours), list(theirs)
    numbers: dict[int, int] = {}
    for length, numbered in _ALIKE:
        for its in rest.copy():
            for mine in sorted(free):
                if ours[mine][:length] == theirs[its][:length] and (mine == its or not numbered):
                    numbers[its] = mine
                    free.remove(mine)
                    rest.remove(its)
                    break
    above = max(ours, default=0)
    numbers |= {its: above + at for at, its in enumerate(rest, 1)}
    return replace(
        other, exchanges=tuple(replace(each, connection=numbers[each.connection]) for each in other.exchanges)
    )


def folded(said: Conversation) -> Conversation:
    """Take connections for one on which the very same was asked: who polls may open another one each time."""
    questions: dict[int, list[str]] = {}
    for each in said.exchanges:
        questions.setdefault(each.connection, []).append(repr(each.asked))
    first: dict[tuple[str, ...], int] = {}
    numbers = {number: first.setdefault(tuple(asked), number) for number, asked in questions.items()}
    return replace(said, exchanges=tuple(replace(each, connection=numbers[each.connection]) for each in said.exchanges))


def _asked(said: Conversation) -> dict[int, list[str]]:
    """Return what was asked on each connection, each only once, without what is made up anew in each run."""
    found: dict[int, list[str]] = {}
    known = {one for _, one in _known_before(said.exchanges)}
    for each in said.exchanges:
        asked = found.setdefault(each.connection, [])
        if each.asked is not None:
            text = repr((_ANY_NUMBER.sub("*", each.asked.title), _without_ids(each.asked.value, "", known)))
            if text not in asked:
                asked.append(text)
    return found


def _without_ids(value: Any, name: str, known: set[Any]) -> Any:
    if isinstance(value, dict):
        return {inner: _without_ids(one, inner, known) for inner, one in value.items() if inner not in NEVER}
    if isinstance(value, list):
        return [_without_ids(one, name, known) for one in value]
    if (_kind(name) is not None and is_id(KINDS[name], value) and value not in known) or name in _OF_OFFSETS | TIMES:
        return "*"
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("latin-1")
    return _ANY_NUMBER.sub("*", value) if isinstance(value, str) else value


def masked(said: Conversation) -> Conversation:
    """Return the conversation with names for what differs from broker to broker and from run to run."""
    names = _Names(said.exchanges)
    return replace(said, exchanges=tuple(map(names.exchange, names.exchanges)))


class _Names:
    """What everything is called in one conversation."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._own = {text for each in exchanges if each.asked is not None for text in _texts(each.asked.value)}
        self.exchanges = [self._of_ours(each) for each in exchanges]
        in_order = sorted(self.exchanges, key=lambda each: each.connection)
        questions = [each.asked.value for each in in_order if each.asked is not None]
        answers = [each.answer.value for each in in_order if each.answer is not None]
        self._offsets_ids = {found for value in answers for found in _ids_of_offsets(value)}
        self._ids: dict[tuple[str, Any], Mask] = {}
        self._in_texts: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        for value in questions:
            for text in _texts(value):
                self._learn_made(text)
        self._pattern = self._compiled()
        known = _known_before(exchanges)
        for answer in answers:
            self._learn_fields(answer, known)
        for answer in answers:
            self._learn(answer, "", known)
        for value in questions:
            self._learn_made_up(value)
        self._in_texts |= {real: name for (_, real), name in self._ids.items() if isinstance(real, str)}
        self._pattern = self._compiled()

    def exchange(self, each: Exchange) -> Exchange:
        """Return an exchange in these names."""
        return replace(each, asked=self._said(each.asked), answer=self._said(each.answer))

    def _said(self, said: Said | None) -> Said | None:
        return None if said is None else replace(said, title=self._text(said.title), value=self._value(said.value, ""))

    def _of_ours(self, each: Exchange) -> Exchange:
        """Leave out groups and topics that nobody asked about."""
        if each.answer is None or not isinstance(each.answer.value, dict):
            return each
        if each.asked is not None and each.asked.title.startswith(_PAGES) and _is_of_all(each.asked.value):
            asked = replace(each.asked, value={**each.asked.value, "cursor": Mask("<cursor>")})
            return replace(each, asked=asked, answer=replace(each.answer, value={"topics": Mask("<a page of all>")}))
        return replace(each, answer=replace(each.answer, value=self._without_others(each.answer.value)))

    def _without_others(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: self._without_others([one for one in inner if not self._is_of_others(one, _OF_ALL[name])])
                if name in _OF_ALL and isinstance(inner, list)
                else self._without_others(inner)
                for name, inner in value.items()
            }
        return [self._without_others(one) for one in value] if isinstance(value, list) else value

    def _is_of_others(self, one: Any, keys: Iterable[str]) -> bool:
        if not isinstance(one, dict):
            return False
        called = next((one[key] for key in keys if one.get(key)), None)
        return called is not None and called not in self._own

    # --- what is called what ---

    def _learn_made(self, text: str) -> None:
        """Name what the script made up, for which the world gave it a name."""
        whole = _MADE_OF_ANYTHING.fullmatch(text)
        for found in [whole] if whole is not None else _MADE.finditer(text):
            if found[0] not in self._in_texts:
                self._counts[found[1]] += 1
                self._in_texts[found[0]] = f"{found[1]}-{self._counts[found[1]]}"

    def _compiled(self) -> re.Pattern[str] | None:
        """Return what finds all that has a name, also in bytes, where texts are UTF-8."""
        self._in_texts |= {real.encode().decode("latin-1"): name for real, name in self._in_texts.items()}
        longest_first = sorted(self._in_texts, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def _learn_fields(self, answer: Any, known: set[tuple[str, Any]]) -> None:
        """Name the ids that an answer gives to the one who asked."""
        if isinstance(answer, dict):
            for name, value in answer.items():
                if not isinstance(value, (dict, list)):
                    self._learn(value, name, known)

    def _learn(self, value: Any, name: str, known: set[tuple[str, Any]]) -> None:
        """Name all ids in a value, which is that of a field of this name."""
        if isinstance(value, dict):
            for inner, what in value.items():
                self._learn(what, inner, known)
        elif isinstance(value, list):
            for one in self._in_order(value):
                self._learn(one, name, known)
        else:
            kind = _kind(name)
            if kind is None or not is_id(kind, value) or (kind, value) in known or (kind, value) in self._ids:
                return
            self._counts[kind] += 1
            self._ids[kind, value] = Mask(f"{kind}-{self._counts[kind]}")

    def _learn_made_up(self, question: Any) -> None:
        """Name the ids that a script made up of chance or of the time."""
        for kind, value in _ids(question, ""):
            if isinstance(value, UUID) or (isinstance(value, int) and value >= THESE_DAYS):
                self._learn(value, _A_FIELD[kind], set())

    def _in_order(self, items: list[Any]) -> list[Any]:
        """Return the elements in an order that is the same at each broker, if they have names at all."""
        if len(items) < 2 or key_of(items, items) is None:
            return items
        return sorted(items, key=lambda one: repr(self._value(one, "", unknown=Mask("~"))))

    # --- values in these names ---

    def _value(self, value: Any, name: str, unknown: Mask | None = None) -> Any:
        if isinstance(value, dict):
            return self._dict(value, unknown)
        if isinstance(value, list):
            return [self._value(one, name, unknown) for one in value]
        if name in _PLACED or (name in _HIDDEN and value not in ABSENT):
            return Mask(f"<{name}>")
        if name in TIMES and isinstance(value, int) and value >= THESE_DAYS:
            return Mask("<time>")
        kind = _kind(name)
        if kind is not None and is_id(kind, value):
            return self._ids.get((kind, value)) or unknown or self._plain(value)
        return self._plain(value)

    def _dict(self, value: dict[str, Any], unknown: Mask | None) -> dict[str, Any]:
        result = {name: self._value(one, name, unknown) for name, one in value.items() if name not in NEVER}
        node = value.get("resource_name")
        if value.get("resource_type") == _BROKER and isinstance(node, str) and node.isdecimal():
            result["resource_name"] = self._ids.get((NODE, int(node)), node)
        if _SOURCE in value:
            _even_out_setting(result)
        if OFFSETS in (value.get("name"), value.get("topic")) or value.get("topic_id") in self._offsets_ids:
            result["partitions"] = [_of_offsets(one) for one in result.get("partitions", ())]
        return result

    def _plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (bytes, bytearray)):
            return self._text(bytes(value).decode("latin-1")).encode("latin-1", "replace")
        return value

    def _text(self, text: str) -> str:
        whole = self._in_texts.get(text)
        if whole is not None:
            return whole
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: self._in_texts[found[0]], text)
        return _SHARED.sub("", text) if "kcoord-check-" in text else text


def _is_of_all(question: Any) -> bool:
    return isinstance(question, dict) and question.get("topics") == []


def _even_out_setting(setting: dict[str, Any]) -> None:
    """Take out of a setting what is up to whoever runs the broker."""
    if setting[_SOURCE] in _OF_THE_BROKER:
        setting[_SOURCE] = Mask("<the broker's>")
    if setting.get("name") in _OF_ONE_BROKER and "value" in setting:
        setting["value"] = Mask("<value>")
    if "synonyms" in setting:
        # Where a value comes from if not from the topic: each of the broker's own sources is one that may be there.
        own = [each for each in setting["synonyms"] if each.get("source") not in _OF_THE_BROKER[:-1]]
        hidden = setting.get("name") in _OF_ONE_BROKER
        setting["synonyms"] = Mask("<synonyms>") if hidden else own


def _of_offsets(partition: Any) -> Any:
    """Return a partition of the topic of offsets without what depends on which it is, and on who else is in it."""
    if not isinstance(partition, dict):
        return partition
    return {name: Mask(f"<{name}>") if name in _OF_OFFSETS else value for name, value in partition.items()}


def _ids_of_offsets(value: Any) -> Iterator[UUID]:
    """Yield the id of the topic of offsets, if an answer tells it."""
    if isinstance(value, dict):
        if value.get("name") == OFFSETS and isinstance(value.get("topic_id"), UUID):
            yield value["topic_id"]
        for one in value.values():
            yield from _ids_of_offsets(one)
    elif isinstance(value, list):
        for one in value:
            yield from _ids_of_offsets(one)


def _kind(name: str) -> str | None:
    """Return what a field has ids of. Generations are none here: a group is new in each run, and counts from 1."""
    kind = KINDS.get(name)
    return None if kind == GENERATION else kind


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a question, and what is text in its bytes."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, (bytes, bytearray)):
        yield bytes(value).decode("latin-1")


def _known_before(exchanges: Iterable[Exchange]) -> set[tuple[str, Any]]:
    """Return the ids that the script made up: it used them before, or when, a broker said them.

    UUIDs are none of these: those that a script makes up are made anew in each run.
    """
    used: set[tuple[str, Any]] = set()
    told: set[tuple[str, Any]] = set()
    before: set[tuple[str, Any]] = set()
    for each in exchanges:
        if each.asked is not None:
            used |= {(kind, one) for kind, one in _ids(each.asked.value, "") if not isinstance(one, UUID)}
        if each.answer is not None:
            ids = set(_ids(each.answer.value, "")) - told
            before |= ids & used
            told |= ids
    return before


def _ids(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for inner, what in value.items():
            yield from _ids(what, inner)
    elif isinstance(value, list):
        for one in value:
            yield from _ids(one, name)
    elif (kind := _kind(name)) is not None and is_id(kind, value):
        yield kind, value
