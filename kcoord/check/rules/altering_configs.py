"""AlterConfigs and IncrementalAlterConfigs: settings of topics changed, and everything else refused.

Most rules are the same for both requests, and are checked for each. What belongs to the broker is never changed: it is
only asked for where it must be refused, with validate_only first, or with nothing but validate_only.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from kcoord.check.nodes import node_id, settings_of
from kcoord.check.probe import Client
from kcoord.check.rule import Script, rule
from kcoord.check.topics import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, created, own, owns
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)

SET, DELETE, APPEND, SUBTRACT, NO_OPERATION = range(5)
Change = tuple[str, int, str | None]
Wish = tuple[int, str, Sequence[Change]]
Entry = tuple[int, str, ErrorCode]
Alter = Callable[..., Awaitable[list[Entry]]]
"""Sends one of the two requests, in a version of the broker's."""
DRY_FIRST: Final = (True, False)
"""Values of validate_only, the one that does no harm first."""
ONE_BY_ONE, ANEW = "one by one", "anew"
VERSIONS: Final[Mapping[str, tuple[int, ...]]] = {ONE_BY_ONE: (0, 1), ANEW: (0, 1, 2)}

INCREMENTAL: Final = "KIP-339; Apache Kafka ConfigurationControlManager.incrementalAlterConfigs"
LEGACY: Final = "KIP-133; Apache Kafka ConfigurationControlManager.legacyAlterConfigs"
BOTH: Final = "KIP-133, KIP-339; Apache Kafka ConfigurationControlManager"
BEFORE: Final = "Apache Kafka ConfigAdminManager.preprocess"
VALIDATED: Final = "Apache Kafka ControllerConfigurationValidator.validate"
HANDLED: Final = "Apache Kafka ControllerApis.handleIncrementalAlterConfigs, handleLegacyAlterConfigs"


async def one_by_one(
    client: Client, *wishes: Wish, version: int | None = None, validate_only: bool = False
) -> list[Entry]:
    """Send IncrementalAlterConfigs; return types, names and errors, which come in the order of the request."""
    resources = [
        IncrementalAlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                IncrementalAlterableConfig(name=key, config_operation=operation, value=value)
                for key, operation, value in changes
            ],
        )
        for kind, name, changes in wishes
    ]
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
    return entries(await client.call(request, version))


async def anew(client: Client, *wishes: Wish, version: int | None = None, validate_only: bool = False) -> list[Entry]:
    """Send AlterConfigs, which knows nothing but to set; return the same."""
    resources = [
        AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[AlterableConfig(name=key, value=value) for key, _, value in changes],
        )
        for kind, name, changes in wishes
    ]
    request = AlterConfigsRequest(resources=resources, validate_only=validate_only)
    return entries(await client.call(request, version))


ALTERS: Final[Mapping[str, Alter]] = {ONE_BY_ONE: one_by_one, ANEW: anew}


def entries(answer: Any) -> list[Entry]:
    """Read an answer, which has messages beside errors at most. That there are some is refusals-7."""
    assert answer.throttle_time_ms == 0
    for one in answer.responses:
        assert one.error_message is None or one.error_code not in (0, ErrorCode.UNKNOWN_SERVER_ERROR)
        assert one.error_message != ""
    return [(one.resource_type, one.resource_name, ErrorCode(one.error_code)) for one in answer.responses]


async def error(
    client: Client, kind: int, name: str, *changes: Change, alter: Alter = one_by_one, **what: Any
) -> ErrorCode:
    """Change one resource; return the error."""
    ((_, _, code),) = await alter(client, (kind, name, changes), **what)
    return code


def sets(**settings: str | None) -> list[Change]:
    """Set these (`retention_ms="5"`)."""
    return [(key.replace("_", "."), SET, value) for key, value in settings.items()]


def in_both_forms(
    number: int | str, *, says: str, source: str = BOTH, each: Sequence[Mapping[str, Any]] = ({},), **more: Any
) -> Callable[[Script], Script]:
    """Register a script as two rules, for each request one, in each version.

    The script is called with `alter`, the name of the form, and `version`; `more` are further parts of both rules.
    """

    def register(script: Script) -> Script:
        for form, api, stem in (
            (ONE_BY_ONE, "IncrementalAlterConfigs", "incremental-alter-configs"),
            (ANEW, "AlterConfigs", "alter-configs"),
        ):
            versions = VERSIONS[form]
            rule(
                id=f"{stem}-{number}",
                api=api,
                says=says,
                source=source,
                versions=f"{versions[0]}-{versions[-1]}",
                each=[{"alter": form, "version": version, **case} for case in each for version in versions],
                **more,
            )(script)
        return script

    return register


@in_both_forms(1, says="Settings that are set on a topic are told as they were read, at once or soon.")
async def set_on_a_topic(world: World, alter: str, version: int) -> None:
    client = await world.client()
    name = await created(client)
    changes = sets(retention_ms=" 5 ", max_message_bytes="+9", cleanup_policy="compact, delete")
    assert await error(client, TOPIC, name, *changes, alter=ALTERS[alter], version=version) is ErrorCode.NONE
    assert await owns(client, name, retention_ms="5", max_message_bytes="9", cleanup_policy="compact,delete")


@in_both_forms(
    2,
    says="If one setting of a topic is refused, none is changed, whether that is only to be validated or not.",
    source=f"{BOTH}; {BEFORE}; ControllerConfigurationValidator.validate",
    each=[
        {"what": "no number"},
        {"what": "out of range"},
        {"what": "no such policy"},
        {"what": "no such compression"},
        {"what": "no such setting"},
        {"what": "no value"},
        {"what": "no such setting and no value"},
        {"what": "no number, and another without a value"},
        {"what": "one setting twice"},
        {"what": "one setting twice, once without a value"},
        {"what": "one setting set and deleted"},
    ],
)
async def one_is_refused(world: World, alter: str, version: int, what: str) -> None:
    changes, code = REFUSED[what]
    client = await world.client()
    name = await created(client, retention_ms="5")
    changes = [("max.message.bytes", SET, "7"), *changes]
    how: dict[str, Any] = {"alter": ALTERS[alter], "version": version}
    assert await error(client, TOPIC, name, *changes, **how) is code
    assert await error(client, TOPIC, name, *changes, **how, validate_only=True) is code
    assert await own(client, name) == {"retention.ms": "5"}


REFUSED: Final[Mapping[str, tuple[list[Change], ErrorCode]]] = {
    "no number": (sets(retention_ms="abc"), ErrorCode.INVALID_CONFIG),
    "out of range": (sets(retention_ms="-2"), ErrorCode.INVALID_CONFIG),
    "no such policy": (sets(cleanup_policy="none"), ErrorCode.INVALID_CONFIG),
    "no such compression": (sets(compression_type="x"), ErrorCode.INVALID_CONFIG),
    "no such setting": (sets(no_such_key="x"), ErrorCode.INVALID_CONFIG),
    "no value": (sets(retention_ms=None), ErrorCode.INVALID_REQUEST),
    "no such setting and no value": (sets(no_such_key=None), ErrorCode.INVALID_REQUEST),
    "no number, and another without a value": (
        sets(retention_ms="abc", retention_bytes=None),
        ErrorCode.INVALID_REQUEST,
    ),
    "one setting twice": ([*sets(retention_ms="1"), *sets(retention_ms="2")], ErrorCode.INVALID_REQUEST),
    "one setting twice, once without a value": (
        [*sets(retention_ms="1"), *sets(retention_ms=None)],
        ErrorCode.INVALID_REQUEST,
    ),
    "one setting set and deleted": (
        [("retention.ms", SET, "1"), ("retention.ms", DELETE, "1")],
        ErrorCode.INVALID_REQUEST,
    ),
}
"""What is refused beside a change that could be, and how. AlterConfigs has no operations: there, delete is set."""


@in_both_forms(3, says="What is only to be validated is not done.")
async def only_validated(world: World, alter: str, version: int) -> None:
    client = await world.client()
    name = await created(client, retention_ms="5")
    how: dict[str, Any] = {"alter": ALTERS[alter], "version": version, "validate_only": True}
    assert await error(client, TOPIC, name, *sets(retention_ms="7"), **how) is ErrorCode.NONE
    assert await error(client, TOPIC, name, **how) is ErrorCode.NONE
    assert await own(client, name) == {"retention.ms": "5"}


@in_both_forms(
    4,
    says="A topic that does not exist is refused: a name that cannot be before the settings are looked at, "
    "any other after that.",
    source=f"{BOTH}; {BEFORE}; ControllerConfigurationValidator.validate",
    each=[
        {"name": "{missing}", "good": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "bad": ErrorCode.INVALID_CONFIG},
        {"name": "__cluster_metadata", "good": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "bad": ErrorCode.INVALID_CONFIG},
        {"name": "", "good": ErrorCode.INVALID_REQUEST, "bad": ErrorCode.INVALID_REQUEST},
        {"name": "a b", "good": ErrorCode.INVALID_TOPIC_EXCEPTION, "bad": ErrorCode.INVALID_TOPIC_EXCEPTION},
        {"name": "x" * 250, "good": ErrorCode.INVALID_TOPIC_EXCEPTION, "bad": ErrorCode.INVALID_TOPIC_EXCEPTION},
    ],
)
async def no_such_topic(world: World, alter: str, version: int, name: str, good: ErrorCode, bad: ErrorCode) -> None:
    client = await world.client()
    name = name.format(missing=world.topic())
    for validate_only in DRY_FIRST:
        how: dict[str, Any] = {"alter": ALTERS[alter], "version": version, "validate_only": validate_only}
        assert await error(client, TOPIC, name, **how) is good
        assert await error(client, TOPIC, name, *sets(retention_ms="1"), **how) is good
        assert await error(client, TOPIC, name, *sets(retention_ms="abc"), **how) is bad
        assert await error(client, TOPIC, name, *sets(retention_ms=None), **how) is ErrorCode.INVALID_REQUEST


@in_both_forms(
    5,
    says="Kinds of resources that do not exist are refused, as are other brokers, their loggers, and names that are "
    "empty, whatever is to be changed.",
    source=f"{BEFORE}; ControllerConfigurationValidator.validate",
)
async def no_such_resource(world: World, alter: str, version: int) -> None:
    client = await world.client()
    other = str(await node_id(client) + 1)
    resources = [(kind, name) for kind in (0, 1, 3, 64, -1) for name in ("", "1")]
    resources += [(BROKER, other), (BROKER, "x"), (BROKER, "-1")]
    resources += [(BROKER_LOGGER, other), (BROKER_LOGGER, ""), (BROKER_LOGGER, "x"), (GROUP, ""), (CLIENT_METRICS, "")]
    for kind, name in resources:
        for changes in ([], sets(retention_ms="1")):
            for validate_only in DRY_FIRST:
                how: dict[str, Any] = {"alter": ALTERS[alter], "version": version, "validate_only": validate_only}
                code = await error(client, kind, name, *changes, **how)
                assert (kind, name, code) == (kind, name, ErrorCode.INVALID_REQUEST)


@in_both_forms(
    6,
    says="Settings that client metrics do not have are refused; to change nothing is no fault.",
    source=f"KIP-714; {VALIDATED}",
)
async def settings_of_client_metrics(world: World, alter: str, version: int) -> None:
    await assert_only_known(world, alter, version, CLIENT_METRICS, ErrorCode.INVALID_REQUEST)


@in_both_forms(
    "6b",
    says="Settings that groups do not have are refused; to change nothing is no fault.",
    source=f"KIP-848; {VALIDATED}",
    since="4.0",
)
async def settings_of_groups(world: World, alter: str, version: int) -> None:
    await assert_only_known(world, alter, version, GROUP, ErrorCode.INVALID_CONFIG)


async def assert_only_known(world: World, alter: str, version: int, kind: int, code: ErrorCode) -> None:
    """Check that a resource takes no setting that it does not have, and minds nothing else."""
    client, name = await world.client(), world.group()
    how: dict[str, Any] = {"alter": ALTERS[alter], "version": version}
    for validate_only in DRY_FIRST:
        assert await error(client, kind, name, *sets(retention_ms="1"), **how, validate_only=validate_only) is code
    assert await error(client, kind, name, **how) is ErrorCode.NONE
    if alter == ONE_BY_ONE:
        assert await error(client, kind, name, ("retention.ms", DELETE, None), **how) is ErrorCode.NONE


@in_both_forms(
    7,
    says="What a broker was started with cannot be changed while it runs, whatever the value.",
    source=f"KIP-226; {BEFORE}, DynamicBrokerConfig.validate",
    each=[{"name": "{node}"}, {"name": "+{node}"}, {"name": ""}],
)
async def started_with(world: World, alter: str, version: int, name: str) -> None:
    client = await world.client()
    keys = ("num.partitions", "node.id", "group.max.size")
    before = {key: each.value for key, each in (await settings_of(client, *keys)).items()}
    name = name.format(node=await node_id(client))
    wishes = [
        sets(num_partitions="2"),
        sets(num_partitions="x"),
        sets(node_id="1"),
        sets(group_max_size="3"),
        sets(num_partitions=None),
    ]
    for changes in wishes:
        for validate_only in DRY_FIRST:
            how: dict[str, Any] = {"alter": ALTERS[alter], "version": version, "validate_only": validate_only}
            assert await error(client, BROKER, name, *changes, **how) is ErrorCode.INVALID_REQUEST
    assert {key: each.value for key, each in (await settings_of(client, *keys)).items()} == before


@in_both_forms(8, says="No resources are answered with none.", source=HANDLED)
async def no_resources(world: World, alter: str, version: int) -> None:
    assert await ALTERS[alter](await world.client(), version=version) == []


@in_both_forms(
    9,
    says="Resources are answered one by one in the order of the request, and a refusal keeps none of the others from "
    "being changed.",
    source=HANDLED,
)
async def in_their_order(world: World, alter: str, version: int) -> None:
    client = await world.client()
    good, bad = await created(client), await created(client, retention_ms="5")
    wishes = [
        (TOPIC, bad, sets(retention_ms="x")),
        (BROKER, str(await node_id(client) + 6), []),
        (TOPIC, world.topic("nope"), []),
        (TOPIC, good, sets(retention_ms="6")),
    ]
    codes = [
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]
    expected = [(kind, name, code) for (kind, name, _), code in zip(wishes, codes, strict=True)]
    assert await ALTERS[alter](client, *wishes, version=version) == expected
    assert await owns(client, good, retention_ms="6")
    assert await own(client, bad) == {"retention.ms": "5"}


@rule(
    id="alter-configs-20",
    api="AlterConfigs",
    says="Settings of a topic that are not named are set no more.",
    source=LEGACY,
    versions="0-2",
)
async def alter_configs_20(world: World) -> None:
    client = await world.client()
    name = await created(client, retention_ms="5", retention_bytes="6")
    assert await error(client, TOPIC, name, *sets(max_message_bytes="8"), alter=anew) is ErrorCode.NONE
    assert await owns(client, name, max_message_bytes="8")
    assert await error(client, TOPIC, name, alter=anew) is ErrorCode.NONE
    assert await owns(client, name)


@rule(
    id="alter-configs-21",
    api="AlterConfigs",
    says="Loggers are not known, other than to IncrementalAlterConfigs.",
    source=f"KIP-412; {BEFORE}",
    versions="0-2",
)
async def alter_configs_21(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    for validate_only in DRY_FIRST:
        code = await error(client, BROKER_LOGGER, node, alter=anew, validate_only=validate_only)
        assert code is ErrorCode.INVALID_REQUEST
