"""IncrementalAlterConfigs: the operations, of which AlterConfigs knows none."""

from typing import Any, Final

from kcoord.check.nodes import node_id
from kcoord.check.rule import rule
from kcoord.check.rules.altering_configs import (
    APPEND,
    BEFORE,
    DELETE,
    DRY_FIRST,
    HANDLED,
    INCREMENTAL,
    NO_OPERATION,
    SET,
    SUBTRACT,
    Change,
    Wish,
    error,
    one_by_one,
    sets,
)
from kcoord.check.topics import BROKER, BROKER_LOGGER, CLIENT_METRICS, TOPIC, created, own, owns
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import IncrementalAlterConfigsRequest

CHANGED: Final = f"{INCREMENTAL}, incrementalAlterConfigResource"
LISTS: Final = f"KIP-339; {BEFORE}, prepareIncrementalConfigs"
READ: Final = "Apache Kafka AlterConfigOp.OpType.forId"


@rule(
    id="incremental-alter-configs-20",
    api="IncrementalAlterConfigs",
    says="Settings of a topic that are not named stay; what is deleted need not be set, or be anything.",
    source=CHANGED,
    versions="0-1",
)
async def incremental_20(world: World) -> None:
    client = await world.client()
    name = await created(client, retention_ms="5", retention_bytes="6")
    assert await error(client, TOPIC, name, *sets(retention_ms="7", max_message_bytes="8")) is ErrorCode.NONE
    assert await owns(client, name, retention_ms="7", retention_bytes="6", max_message_bytes="8")
    changes = [("retention.ms", DELETE, None), ("retention.bytes", SET, "9"), ("no.such.key", DELETE, None)]
    assert await error(client, TOPIC, name, *changes) is ErrorCode.NONE
    assert await owns(client, name, retention_bytes="9", max_message_bytes="8")
    for value in ("x", None):
        assert await error(client, TOPIC, name, ("retention.bytes", DELETE, value)) is ErrorCode.NONE
    assert await owns(client, name, max_message_bytes="8")


@rule(
    id="incremental-alter-configs-21",
    api="IncrementalAlterConfigs",
    says="A topic of which nothing is to be changed stays as it is.",
    source=CHANGED,
    versions="0-1",
)
async def incremental_21(world: World) -> None:
    client = await world.client()
    name = await created(client, retention_ms="5")
    assert await error(client, TOPIC, name) is ErrorCode.NONE
    assert await own(client, name) == {"retention.ms": "5"}


@rule(
    id="incremental-alter-configs-22",
    api="IncrementalAlterConfigs",
    says="A list of a topic gets what is appended and not in it, and loses what is subtracted, once each; "
    "it begins as Kafka's own default if the topic has none.",
    source=LISTS,
    versions="0-1",
    each=(
        {"before": None, "operation": APPEND, "value": "compact", "after": "delete,compact"},
        {"before": "delete", "operation": APPEND, "value": "compact", "after": "delete,compact"},
        {"before": "compact", "operation": APPEND, "value": "compact", "after": "compact"},
        {"before": "", "operation": APPEND, "value": "compact", "after": "compact"},
        {"before": "", "operation": APPEND, "value": "compact,delete", "after": "compact,delete"},
        {"before": "", "operation": APPEND, "value": "", "after": ""},
        {"before": "delete", "operation": APPEND, "value": ",", "after": "delete"},
        {"before": None, "operation": SUBTRACT, "value": "delete", "after": ""},
        {"before": None, "operation": SUBTRACT, "value": "compact", "after": "delete"},
        {"before": "compact,delete", "operation": SUBTRACT, "value": "delete", "after": "compact"},
        {"before": "compact,delete", "operation": SUBTRACT, "value": "delete,compact,,", "after": ""},
        {"before": "compact,compact,delete", "operation": SUBTRACT, "value": "compact", "after": "compact,delete"},
        {"before": "", "operation": SUBTRACT, "value": "delete", "after": ""},
    ),
)
async def incremental_22(world: World, before: str | None, operation: int, value: str, after: str) -> None:
    client = await world.client()
    settings: dict[str, Any] = {} if before is None else {"cleanup_policy": before}
    name = await created(client, **settings)
    assert await error(client, TOPIC, name, ("cleanup.policy", operation, value)) is ErrorCode.NONE
    assert await owns(client, name, cleanup_policy=after)


@rule(
    id="incremental-alter-configs-22b",
    api="IncrementalAlterConfigs",
    says="Blanks around what is appended to a list do not make it something else.",
    source=LISTS,
    versions="0-1",
    since="4.2",
)
async def incremental_22b(world: World) -> None:
    client = await world.client()
    name = await created(client, cleanup_policy="delete")
    assert await error(client, TOPIC, name, ("cleanup.policy", APPEND, " delete")) is ErrorCode.NONE
    assert await owns(client, name, cleanup_policy="delete")


@rule(
    id="incremental-alter-configs-23",
    api="IncrementalAlterConfigs",
    says="Operations are refused that do not exist, or that a setting does not have, or that lack a value; "
    "then nothing is changed.",
    source=f"{LISTS}; {READ}",
    versions="0-1",
    each=(
        {"change": ("cleanup.policy", APPEND, "x"), "code": ErrorCode.INVALID_CONFIG},
        {"change": ("cleanup.policy", APPEND, "compact,,delete"), "code": ErrorCode.INVALID_CONFIG},
        {"change": ("retention.ms", APPEND, "1"), "code": ErrorCode.INVALID_CONFIG},
        {"change": ("retention.ms", SUBTRACT, "1"), "code": ErrorCode.INVALID_CONFIG},
        {"change": ("no.such.key", APPEND, "1"), "code": ErrorCode.INVALID_CONFIG},
        {"change": ("cleanup.policy", APPEND, None), "code": ErrorCode.INVALID_REQUEST},
        {"change": ("cleanup.policy", SUBTRACT, None), "code": ErrorCode.INVALID_REQUEST},
        {"change": ("retention.ms", NO_OPERATION, None), "code": ErrorCode.INVALID_REQUEST},
        {"change": ("retention.ms", NO_OPERATION, "1"), "code": ErrorCode.UNKNOWN_SERVER_ERROR},
        {"change": ("retention.ms", -1, "1"), "code": ErrorCode.UNKNOWN_SERVER_ERROR},
    ),
)
async def incremental_23(world: World, change: Change, code: ErrorCode) -> None:
    client = await world.client()
    name = await created(client, retention_ms="5")
    for version in world.offered(IncrementalAlterConfigsRequest, (0, 1)):
        assert await error(client, TOPIC, name, ("retention.bytes", SET, "1"), change, version=version) is code
    assert await own(client, name) == {"retention.ms": "5"}


@rule(
    id="incremental-alter-configs-24",
    api="IncrementalAlterConfigs",
    says="To append to what is no list is refused before the topic's name is looked at.",
    source=LISTS,
    versions="0-1",
)
async def incremental_24(world: World) -> None:
    code = await error(await world.client(), TOPIC, "a b", ("retention.ms", APPEND, "1"))
    assert code is ErrorCode.INVALID_CONFIG


@rule(
    id="incremental-alter-configs-25",
    api="IncrementalAlterConfigs",
    says="Loggers that do not exist are refused, as are operations that loggers do not have; "
    "to change nothing is no fault.",
    source=f"KIP-412; {BEFORE}",
    versions="0-1",
    since="4.1",
)
async def incremental_25(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    assert await error(client, BROKER_LOGGER, node) is ErrorCode.NONE
    for operation, value in ((SET, "INFO"), (DELETE, None)):
        change = ("no.such.logger", operation, value)
        assert await error(client, BROKER_LOGGER, node, change) is ErrorCode.INVALID_CONFIG
    change = ("no.such.logger", APPEND, "INFO")
    assert await error(client, BROKER_LOGGER, node, change) is ErrorCode.INVALID_REQUEST


@rule(
    id="incremental-alter-configs-26",
    api="IncrementalAlterConfigs",
    says="Of a broker, what cannot be changed while it runs may be deleted, as may what does not exist; "
    "to change nothing is no fault.",
    source=f"KIP-226; {BEFORE}",
    versions="0-1",
    each={"name": ("{node}", "")},
)
async def incremental_26(world: World, name: str) -> None:
    client = await world.client()
    name = name.format(node=await node_id(client))
    assert await error(client, BROKER, name) is ErrorCode.NONE
    for key in ("num.partitions", "no.such.key"):
        assert await error(client, BROKER, name, (key, DELETE, None), validate_only=True) is ErrorCode.NONE


@rule(
    id="incremental-alter-configs-27",
    api="IncrementalAlterConfigs",
    says="To append to a broker's setting that is no list is refused before what cannot be changed, "
    "which is refused before operations that do not exist.",
    source=LISTS,
    versions="0-1",
    each={"name": ("{node}", "")},
)
async def incremental_27(world: World, name: str) -> None:
    client = await world.client()
    name = name.format(node=await node_id(client))
    fixed = ("node.id", SET, "1")
    for validate_only in DRY_FIRST:
        how: dict[str, Any] = {"validate_only": validate_only}
        for operation in (APPEND, SUBTRACT):
            change = ("num.partitions", operation, "1")
            assert await error(client, BROKER, name, change, fixed, **how) is ErrorCode.INVALID_CONFIG
            assert await error(client, BROKER, name, fixed, change, **how) is ErrorCode.INVALID_CONFIG
        two = (("num.partitions", SET, "2"), ("node.id", DELETE, None))
        assert await error(client, BROKER, name, *two, **how) is ErrorCode.INVALID_REQUEST
        unheard_of = (("nope", APPEND, "1"), ("node.id", NO_OPERATION, "1"))
        assert await error(client, BROKER, name, *unheard_of, **how) is ErrorCode.INVALID_REQUEST


@rule(
    id="incremental-alter-configs-27b",
    api="IncrementalAlterConfigs",
    says="What a broker does not have counts as no list, to which nothing can be appended.",
    source=LISTS,
    versions="0-1",
    since="4.3",
    each={"name": ("{node}", "")},
)
async def incremental_27b(world: World, name: str) -> None:
    await assert_no_list(world, name, ErrorCode.INVALID_CONFIG)


async def assert_no_list(world: World, name: str, code: ErrorCode) -> None:
    """Check the error of who appends to what a broker does not have, or subtracts from it."""
    client = await world.client()
    name = name.format(node=await node_id(client))
    fixed = ("node.id", SET, "1")
    for validate_only in DRY_FIRST:
        for operation in (APPEND, SUBTRACT):
            change = ("no.such.key", operation, "1")
            assert await error(client, BROKER, name, change, fixed, validate_only=validate_only) is code
            assert await error(client, BROKER, name, fixed, change, validate_only=validate_only) is code


@rule(
    id="incremental-alter-configs-28",
    api="IncrementalAlterConfigs",
    says="Resources that come twice are refused as often as they come and are not looked into; the others are changed.",
    source=f"{BEFORE}; {HANDLED}",
    versions="0-1",
)
async def incremental_28(world: World) -> None:
    client = await world.client()
    twice, once = await created(client), await created(client)
    wishes: list[Wish] = [
        (TOPIC, twice, sets(retention_ms="1")),
        (TOPIC, once, sets(retention_ms="2")),
        (99, "x", []),
        (TOPIC, twice, sets(retention_ms=None)),
        (99, "x", []),
        (98, "x", []),
    ]
    assert await one_by_one(client, *wishes) == [
        (kind, name, ErrorCode.NONE if name == once else ErrorCode.INVALID_REQUEST) for kind, name, _ in wishes
    ]
    assert await owns(client, once, retention_ms="2")
    assert await own(client, twice) == {}


@rule(
    id="incremental-alter-configs-29",
    api="IncrementalAlterConfigs",
    says="An operation that does not exist is the ruin of all that the controller is asked for: "
    "nothing of it is changed, and no reason is told.",
    source=f"{READ}; ControllerApis.handleIncrementalAlterConfigs",
    versions="0-1",
)
async def incremental_29(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    name, other, metrics = await created(client), await created(client), world.group("client-metrics")
    wishes: list[Wish] = [
        (TOPIC, name, sets(retention_ms="1")),
        (BROKER, "x", []),
        (CLIENT_METRICS, metrics, []),
        (TOPIC, other, [("retention.ms", 7, "1")]),
        (BROKER, node, []),
    ]
    # What the broker refuses by itself never comes to the controller.
    assert await one_by_one(client, *wishes) == [
        (kind, each, ErrorCode.INVALID_REQUEST if each == "x" else ErrorCode.UNKNOWN_SERVER_ERROR)
        for kind, each, _ in wishes
    ]
    assert await own(client, name) == {}


@rule(
    id="incremental-alter-configs-30",
    api="IncrementalAlterConfigs",
    says="An operation that does not exist, asked of a broker, is refused by that broker, and the rest is done.",
    source=BEFORE,
    versions="0-1",
)
async def incremental_30(world: World) -> None:
    client = await world.client()
    node, name = str(await node_id(client)), await created(client)
    answer = await one_by_one(client, (BROKER, node, [("x", 7, "1")]), (TOPIC, name, sets(retention_ms="1")))
    assert answer == [(BROKER, node, ErrorCode.INVALID_REQUEST), (TOPIC, name, ErrorCode.NONE)]
    assert await owns(client, name, retention_ms="1")
