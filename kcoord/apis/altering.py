"""Settings changed by request, in both forms: everything anew (key 33) and one by one (key 44).

The rules and their order are those of Apache Kafka 4 (`ConfigAdminManager.preprocess`, then
`ConfigurationControlManager`). On purpose it differs in these points:

- Only topics have settings that can be changed. Those of the broker are fixed when it is started: they are refused as
  Kafka refuses its own that are. Groups, client metrics and loggers have none here.
- A resource that comes twice is refused in both forms; asked in the older one, Kafka never answers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kcoord.apis.api import Call
from kcoord.apis.config_entries import ResourceType
from kcoord.apis.resources import ResourceRefused, check_name, named_broker
from kcoord.apis.turns import Turns
from kcoord.config import SETTINGS
from kcoord.log.topic_config import TOPIC_SETTINGS, InvalidSetting, appended, quoted, subtracted
from wire.errors import ErrorCode
from wire.messages import AlterConfigsResource, AlterConfigsResourceResponse, IncrementalAlterConfigsResource

KEPT_BY_CONTROLLERS = frozenset(ResourceType) - {ResourceType.BROKER_LOGGER}
"""What a broker of Kafka's hands on, with all that is wished for, to one that controls the cluster."""


class Operation(IntEnum):
    """What is to be done with one setting (Apache Kafka `AlterConfigOp.OpType`)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """What is wished for one setting; the value of a deletion does not matter."""

    key: str
    operation: int
    value: str | None


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wished for one resource. With `anew`, what is not named shall not be set any more."""

    resource_type: int
    name: str
    changes: Sequence[Change]
    anew: bool


async def wishes_of(
    resources: Iterable[AlterConfigsResource | IncrementalAlterConfigsResource],
    change_of: Callable[[Any], Change],
    *,
    anew: bool,
) -> list[Wish]:
    """Return what a request wishes for its resources; `change_of` says what one of its entries asks for."""
    turns = Turns()
    wishes = []
    for resource in resources:
        changes = []
        for each in resource.configs:
            await turns.step()
            changes.append(change_of(each))
        await turns.step()
        wishes.append(Wish(resource.resource_type, resource.resource_name, changes, anew))
    return wishes


async def alter(call: Call, wishes: Sequence[Wish], *, validate_only: bool) -> list[AlterConfigsResourceResponse]:
    """Do what is wished for each resource, in full or not at all; return what became of each, in their order.

    An operation that does not exist lets all wishes fail that Kafka hands on together: its controller stumbles.
    """
    turns = Turns()
    times: dict[tuple[int, str], int] = {}
    for wish in wishes:
        await turns.step()
        place = (wish.resource_type, wish.name)
        times[place] = times.get(place, 0) + 1
    refusals: list[ResourceRefused | None] = []
    stumbles = False
    for wish in wishes:
        await turns.step()
        refusal = await refusal_of(call, turns, wish, times[wish.resource_type, wish.name])
        refusals.append(refusal)
        if refusal is None and wish.resource_type in KEPT_BY_CONTROLLERS:
            stumbles |= await has_unknown_operation(turns, wish)
    for index, wish in enumerate(wishes):
        await turns.step()
        if refusals[index] is None and wish.resource_type in KEPT_BY_CONTROLLERS:
            if stumbles:
                refusals[index] = ResourceRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
            else:
                refusals[index] = await changed(call, turns, wish, validate_only=validate_only)
    pairs = zip(wishes, refusals, strict=True)
    return [answer_to(wish, refusal) async for wish, refusal in turns.over(pairs)]


async def refusal_of(call: Call, turns: Turns, wish: Wish, times: int) -> ResourceRefused | None:
    """Return why a wish is refused before a controller sees it, or None."""
    try:
        await check(call, turns, wish, times)
    except ResourceRefused as refusal:
        return refusal.with_traceback(None)  # it is kept, and would keep all that is on the stack
    return None


async def check(call: Call, turns: Turns, wish: Wish, times: int) -> None:
    """Raise ResourceRefused, mostly with INVALID_REQUEST."""
    if times > 1:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, "the resource comes more than once")
    keys: set[str] = set()
    without_value: str | None = None
    for each in wish.changes:
        await turns.step()
        if each.key in keys:
            raise ResourceRefused(ErrorCode.INVALID_REQUEST, f"{quoted(each.key)} comes more than once")
        keys.add(each.key)
        if each.value is None and each.operation != Operation.DELETE and without_value is None:
            without_value = each.key
    if without_value is not None:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, f"{quoted(without_value)} has no value")
    if wish.resource_type == ResourceType.BROKER:
        if wish.name:
            named_broker(wish.name, call.node.id)
        await check_broker(turns, wish)
    elif wish.resource_type == ResourceType.BROKER_LOGGER and not wish.anew:
        named_broker(wish.name, call.node.id)
        await check_loggers(turns, wish)
    elif wish.resource_type not in KEPT_BY_CONTROLLERS:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, f"no resource of type {wish.resource_type} can be changed")


async def has_unknown_operation(turns: Turns, wish: Wish) -> bool:
    """Whether there is an operation that does not exist."""
    for each in wish.changes:
        await turns.step()
        if each.operation not in tuple(Operation):
            return True
    return False


async def check_broker(turns: Turns, wish: Wish) -> None:
    """Raise ResourceRefused if anything shall change: only what is not set anyway may be deleted."""
    if await has_unknown_operation(turns, wish):
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, "there is no such operation")
    fixed: str | None = None
    for each in wish.changes:
        await turns.step()
        if each.operation in (Operation.APPEND, Operation.SUBTRACT):
            setting = SETTINGS.get(each.key)
            if setting is None or setting.type_name != "list":
                raise ResourceRefused(ErrorCode.INVALID_CONFIG, f"{quoted(each.key)} is no setting that is a list")
        if each.operation != Operation.DELETE and fixed is None:
            fixed = each.key
    if fixed is not None:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, f"{quoted(fixed)} cannot be changed while the server runs")


async def check_loggers(turns: Turns, wish: Wish) -> None:
    """Raise ResourceRefused if the level of any logger shall change, for there are none."""
    for each in wish.changes:
        await turns.step()
        if each.operation not in (Operation.SET, Operation.DELETE):
            raise ResourceRefused(ErrorCode.INVALID_REQUEST, "the level of a logger can be set or deleted")
        raise ResourceRefused(ErrorCode.INVALID_CONFIG, f"there is no logger {quoted(each.key)}")


async def changed(call: Call, turns: Turns, wish: Wish, *, validate_only: bool) -> ResourceRefused | None:
    """Change a topic if that is wished; return why not, or None."""
    try:
        if wish.resource_type == ResourceType.TOPIC:
            await change_topic(call, turns, wish, validate_only=validate_only)
        elif wish.resource_type != ResourceType.BROKER:
            await check_nothing(call, turns, wish)
    except InvalidSetting as wrong:
        return ResourceRefused(ErrorCode.INVALID_CONFIG, str(wrong))
    except ResourceRefused as refusal:
        return refusal.with_traceback(None)
    return None


async def change_topic(call: Call, turns: Turns, wish: Wish, *, validate_only: bool) -> None:
    """Let a topic have other settings of its own. Raises ResourceRefused, InvalidSetting.

    That the topic does not exist comes last.
    """
    topic = call.broker.catalog.by_name(wish.name)
    before: Mapping[str, str] = {} if topic is None else topic.settings
    after = {} if wish.anew else dict(before)
    for each in wish.changes:
        await turns.step()
        apply(after, each)
    if not wish.name:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, "there are no settings of all topics")
    check_name(wish.name)
    call.broker.topic_defaults.with_settings(after)
    if topic is None or topic is not call.broker.catalog.by_name(wish.name):
        raise ResourceRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {wish.name}")
    if after != before and not validate_only:
        call.broker.configure_topic(topic, after, "a client changed it")


def apply(settings: dict[str, str], change: Change) -> None:
    """Do one operation on the settings of a topic. Raises InvalidSetting for a list operation on what is no list."""
    if change.operation == Operation.DELETE:
        settings.pop(change.key, None)
        return
    assert change.value is not None
    if change.operation == Operation.SET:
        settings[change.key] = change.value
        return
    setting = TOPIC_SETTINGS.get(change.key)
    if setting is None or setting.type_name != "list":
        raise InvalidSetting(f"{quoted(change.key)} is no setting that is a list")
    how: Callable[[str, str], str] = appended if change.operation == Operation.APPEND else subtracted
    settings[change.key] = how(settings.get(change.key, setting.default), change.value)


async def check_nothing(call: Call, turns: Turns, wish: Wish) -> None:
    """Raise ResourceRefused if settings shall be set of what has none."""
    if wish.resource_type == ResourceType.GROUP and call.broker.config.is_before_4:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, "groups have no settings before Kafka 4.0")
    if not wish.name:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, "the resource has no name")
    async for each in turns.over(wish.changes):
        if each.operation != Operation.DELETE:
            groups = wish.resource_type == ResourceType.GROUP
            code = ErrorCode.INVALID_CONFIG if groups else ErrorCode.INVALID_REQUEST
            what = "groups" if groups else "client metrics"
            raise ResourceRefused(code, f"{quoted(each.key)} is not honoured here: {what} have no settings")


def answer_to(wish: Wish, refusal: ResourceRefused | None) -> AlterConfigsResourceResponse:
    """Return the entry of a resource."""
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if refusal is None else refusal.code,
        error_message=None if refusal is None else str(refusal) or None,
        resource_type=wish.resource_type,
        resource_name=wish.name,
    )
