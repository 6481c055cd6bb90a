"""What no two brokers share, made the same: ids become symbols, and lists without an order are put into one.

A request has a client id of its own, so the member id that it brings about says where it is from: "a0-7-..." is that
of request 7, by actor 0. Ids of static members begin with the instance id, and are numbered as they appear.
"""

import re
import uuid
from typing import Any

from integration.fuzz.requests import TOPIC_IDS, UNKNOWN_TOPIC_ID
from wire import messages as m
from wire.errors import ErrorCode
from wire.schema import Struct

DYNAMIC = re.compile(r"(a\d+-\d+)-.{16,}")
STATIC = re.compile(r"(i\d|nobody's)-.{16,}")
LONGEST = 48
SOMEWHERE = m.Coordinator(host="(its host)", port=1, node_id=1)


class Names:
    """What one broker calls what a sequence has symbols for."""

    def __init__(self, groups: dict[str, str], topic_ids: dict[str, uuid.UUID]) -> None:
        self._real: dict[Any, Any] = dict(groups)
        self._real.update((TOPIC_IDS[name], there) for name, there in topic_ids.items())
        # The empty text stands for much else, so that the group of the empty id is called by it.
        self._symbols: dict[Any, Any] = {real: symbol for symbol, real in self._real.items() if real}
        self.own = set(groups) | {real for real in groups.values() if not real}
        self._counts: dict[str, int] = {}
        self.groups = groups

    def real(self, value: Any) -> Any:
        """Return a request as it is sent."""
        return walked(value, lambda leaf: self._real.get(leaf, leaf))

    def masked(self, value: Any) -> Any:
        """Return an answer in symbols."""
        return walked(value, self._symbol)

    def _symbol(self, leaf: Any) -> Any:
        known = self._symbols.get(leaf)
        if known is not None or not isinstance(leaf, str):
            return leaf if known is None else known
        if found := DYNAMIC.fullmatch(leaf):
            symbol = f"<{found[1]}>"
        elif found := STATIC.fullmatch(leaf):
            number = self._counts[found[1]] = self._counts.get(found[1], 0) + 1
            symbol = f"<{found[1]}#{number}>"
        else:
            return leaf
        self._symbols[leaf], self._real[symbol] = symbol, leaf
        return symbol


def walked(value: Any, change: Any) -> Any:
    """Return a copy of a message with `change` made to each of its texts and UUIDs."""
    if isinstance(value, (str, uuid.UUID)):
        return change(value)
    if isinstance(value, list):
        return [walked(each, change) for each in value]
    if isinstance(value, Struct):
        return type(value)(**{field.name: walked(getattr(value, field.name), change) for field in value.FIELDS})
    return value


def evened(answer: Any, groups: set[str]) -> Any:
    """Put the unordered lists of a masked answer in order, and leave out groups that are not of the sequence."""
    if isinstance(answer, m.JoinGroupResponse):
        answer.members.sort(key=repr)
    elif isinstance(answer, m.DescribeGroupsResponse):
        for group in answer.groups:
            group.members.sort(key=repr)
            group.error_message = group.error_message and "(a sentence)"
        answer.groups.sort(key=repr)
    elif isinstance(answer, m.ListGroupsResponse):
        answer.groups = sorted((one for one in answer.groups if one.group_id in groups), key=repr)
    elif isinstance(answer, m.DeleteGroupsResponse):
        answer.results.sort(key=repr)
    elif isinstance(answer, m.FindCoordinatorResponse):
        for one in (answer, *answer.coordinators):
            one.error_message = one.error_message and "(a sentence)"
            if one.error_code == 0 and one.port > 0:
                one.host, one.port, one.node_id = SOMEWHERE.host, SOMEWHERE.port, SOMEWHERE.node_id
    elif isinstance(answer, m.OffsetFetchResponse):
        for one in (answer, *answer.groups):
            for topic in one.topics:
                topic.partitions.sort(key=repr)
            one.topics.sort(key=repr)
        answer.groups.sort(key=repr)
    return answer


def shown(message: Any) -> str:
    """Write a message without the fields that say nothing."""
    if isinstance(message, list):
        return "[" + ", ".join(shown(each) for each in message) + "]"
    if isinstance(message, (str, bytes)) and len(message) > LONGEST:
        return f"{message[:LONGEST]!r}... ({len(message)})"
    if not isinstance(message, Struct):
        return repr(message)
    parts = []
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if value != field.default and value not in ([], UNKNOWN_TOPIC_ID):
            text = ErrorCode(value).name if field.name == "error_code" else shown(value)
            parts.append(f"{field.name}={text}")
    name = type(message).__name__.removesuffix("Request").removesuffix("Response")
    return f"{name}({', '.join(parts)})"
