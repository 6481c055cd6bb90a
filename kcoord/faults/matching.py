"""Which requests a fault is for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcoord.faults.entries import Entry
from kcoord.faults.place import Name
from kcoord.faults.places import PLACES
from kcoord.faults.rule import FaultRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, and who asks. `state_of` tells the state of a group, `name_of` the name of a topic by its id."""

    api: str
    version: int
    request: Any
    client_id: str
    broker: int
    state_of: Callable[[str], str]
    name_of: Name


def why_not(rule: FaultRule, asked: Asked) -> str | frozenset[int] | None:
    """Return which entries of a request a fault is for: None are all of it; or the condition that fails, as a name."""
    if rule.api is not None and rule.api != asked.api:
        return "api"
    if rule.client_id is not None and rule.client_id != asked.client_id:
        return "client_id"
    if rule.broker is not None and rule.broker != asked.broker:
        return "broker"
    request = asked.request
    generation = getattr(request, "generation_id", getattr(request, "generation_id_or_member_epoch", None))
    if rule.generation is not None and rule.generation != generation:
        return "generation"
    return _of_entries(rule, asked)


def _of_entries(rule: FaultRule, asked: Asked) -> str | frozenset[int] | None:
    wanted = (rule.group, rule.member, rule.instance_id, rule.state, rule.topic, rule.partition)
    if all(each is None for each in wanted):
        return None
    place = PLACES[asked.api]
    entries = place.entries(asked.request, asked.name_of)
    pieces = entries or [Entry()]
    common = _of_request(asked.request)
    failing = ""
    chosen = set()
    for at, piece in enumerate(pieces):
        fails = _fails(rule, piece, common, asked)
        if fails:
            failing = failing or fails
        else:
            chosen.add(at)
    if not chosen:
        return failing
    return None if len(chosen) == len(pieces) else frozenset(chosen)


def _of_request(request: Any) -> Entry:
    """Return what a request says for all its pieces."""
    return Entry(
        group=getattr(request, "group_id", None),
        member=getattr(request, "member_id", None),
        instance_id=getattr(request, "group_instance_id", None),
    )


def _fails(rule: FaultRule, piece: Entry, common: Entry, asked: Asked) -> str:
    """Return the first condition that a piece fails; "" if it fails none."""
    group = piece.group if piece.group is not None else common.group
    if rule.group is not None and rule.group != group:
        return "group"
    member = piece.member if piece.member is not None else common.member
    if rule.member is not None and rule.member != member:
        return "member"
    instance = piece.instance_id if piece.instance_id is not None else common.instance_id
    if rule.instance_id is not None and rule.instance_id != instance:
        return "instance_id"
    if rule.topic is not None and rule.topic != piece.topic:
        return "topic"
    if rule.partition is not None and rule.partition != piece.partition:
        return "partition"
    if rule.state is not None and (group is None or rule.state != asked.state_of(group)):
        return "state"
    return ""
