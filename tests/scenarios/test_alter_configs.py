"""Settings changed, one by one and all anew: what becomes of a topic's, and how everything else is refused."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.topics import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    created,
    describe,
    fresh,
    own,
    owns,
)
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


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


async def one_by_one(client: Client, *wishes: Wish, version: int = 1, validate_only: bool = False) -> list[Entry]:
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


async def anew(client: Client, *wishes: Wish, version: int = 2, validate_only: bool = False) -> list[Entry]:
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


FORMS: Any = pytest.mark.parametrize(
    ("alter", "version"),
    [(one_by_one, 0), (one_by_one, 1), (anew, 0), (anew, 1), (anew, 2)],
    ids=["one by one-0", "one by one-1", "anew-0", "anew-1", "anew-2"],
)


def entries(answer: Any) -> list[Entry]:
    assert answer.throttle_time_ms == 0
    for one in answer.responses:
        assert (one.error_message is None) == (one.error_code in (0, ErrorCode.UNKNOWN_SERVER_ERROR))
        assert one.error_message != ""
    return [(one.resource_type, one.resource_name, ErrorCode(one.error_code)) for one in answer.responses]


async def error(
    client: Client, kind: int, name: str, *changes: Change, alter: Any = one_by_one, **what: Any
) -> ErrorCode:
    """Change one resource; return the error."""
    ((_, _, code),) = await alter(client, (kind, name, changes), **what)
    return code


def sets(**settings: str | None) -> list[Change]:
    return [(key.replace("_", "."), SET, value) for key, value in settings.items()]


@FORMS
async def test_settings_are_set(client: Client, alter: Any, version: int):
    """They are told as they were read, at once or soon."""
    name = await created(client)
    changes = sets(retention_ms=" 5 ", max_message_bytes="+9", cleanup_policy="compact, delete")
    assert await error(client, TOPIC, name, *changes, alter=alter, version=version) is ErrorCode.NONE
    assert await owns(client, name, retention_ms="5", max_message_bytes="9", cleanup_policy="compact,delete")


async def test_one_by_one_the_others_stay(client: Client):
    name = await created(client, retention_ms="5", retention_bytes="6")
    assert await error(client, TOPIC, name, *sets(retention_ms="7", max_message_bytes="8")) is ErrorCode.NONE
    assert await owns(client, name, retention_ms="7", retention_bytes="6", max_message_bytes="8")
    changes = [("retention.ms", DELETE, None), ("retention.bytes", SET, "9"), ("no.such.key", DELETE, None)]
    assert await error(client, TOPIC, name, *changes) is ErrorCode.NONE
    assert await owns(client, name, retention_bytes="9", max_message_bytes="8")
    for value in ("x", None):
        assert await error(client, TOPIC, name, ("retention.bytes", DELETE, value)) is ErrorCode.NONE
    assert await owns(client, name, max_message_bytes="8")


async def test_anew_the_others_are_set_no_more(client: Client):
    name = await created(client, retention_ms="5", retention_bytes="6")
    assert await error(client, TOPIC, name, *sets(max_message_bytes="8"), alter=anew) is ErrorCode.NONE
    assert await owns(client, name, max_message_bytes="8")
    assert await error(client, TOPIC, name, alter=anew) is ErrorCode.NONE
    assert await owns(client, name)


async def test_nothing_at_all(client: Client):
    name = await created(client, retention_ms="5")
    assert await error(client, TOPIC, name) is ErrorCode.NONE
    assert await own(client, name) == {"retention.ms": "5"}


@pytest.mark.parametrize(
    ("before", "operation", "value", "after"),
    [
        (None, APPEND, "compact", "delete,compact"),
        ("delete", APPEND, "compact", "delete,compact"),
        ("compact", APPEND, "compact", "compact"),
        ("", APPEND, "compact", "compact"),
        ("", APPEND, "compact,delete", "compact,delete"),
        ("", APPEND, "", ""),
        ("delete", APPEND, " delete", "delete"),
        ("delete", APPEND, ",", "delete"),
        (None, SUBTRACT, "delete", ""),
        (None, SUBTRACT, "compact", "delete"),
        ("compact,delete", SUBTRACT, "delete", "compact"),
        ("compact,delete", SUBTRACT, "delete,compact,,", ""),
        ("compact,compact,delete", SUBTRACT, "compact", "compact,delete"),
        ("", SUBTRACT, "delete", ""),
    ],
)
async def test_lists_grow_and_shrink(client: Client, before: str | None, operation: int, value: str, after: str):
    """From Kafka's own default, if the topic has none."""
    name = await created(client, **({} if before is None else {"cleanup_policy": before}))
    assert await error(client, TOPIC, name, ("cleanup.policy", operation, value)) is ErrorCode.NONE
    assert await owns(client, name, cleanup_policy=after)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("cleanup.policy", APPEND, "x"), ErrorCode.INVALID_CONFIG),
        (("cleanup.policy", APPEND, "compact,,delete"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG),
        (("no.such.key", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("cleanup.policy", APPEND, None), ErrorCode.INVALID_REQUEST),
        (("cleanup.policy", SUBTRACT, None), ErrorCode.INVALID_REQUEST),
        (("retention.ms", NO_OPERATION, None), ErrorCode.INVALID_REQUEST),
        (("retention.ms", NO_OPERATION, "1"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (("retention.ms", -1, "1"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
    ids=str,
)
async def test_operations_that_cannot_be(client: Client, change: Change, code: ErrorCode):
    name = await created(client, retention_ms="5")
    for version in (0, 1):
        assert await error(client, TOPIC, name, ("retention.bytes", SET, "1"), change, version=version) is code
    assert await own(client, name) == {"retention.ms": "5"}


@FORMS
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        (sets(retention_ms="abc"), ErrorCode.INVALID_CONFIG),
        (sets(retention_ms="-2"), ErrorCode.INVALID_CONFIG),
        (sets(cleanup_policy="none"), ErrorCode.INVALID_CONFIG),
        (sets(compression_type="x"), ErrorCode.INVALID_CONFIG),
        (sets(no_such_key="x"), ErrorCode.INVALID_CONFIG),
        (sets(retention_ms=None), ErrorCode.INVALID_REQUEST),
        (sets(no_such_key=None), ErrorCode.INVALID_REQUEST),
        (sets(retention_ms="abc", retention_bytes=None), ErrorCode.INVALID_REQUEST),
        ([*sets(retention_ms="1"), *sets(retention_ms="2")], ErrorCode.INVALID_REQUEST),
        ([*sets(retention_ms="1"), *sets(retention_ms=None)], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", SET, "1"), ("retention.ms", DELETE, "1")], ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
async def test_one_wrong_setting_and_nothing_is_changed(
    client: Client, alter: Any, version: int, changes: list[Change], code: ErrorCode
):
    name = await created(client, retention_ms="5")
    changes = [("max.message.bytes", SET, "7"), *changes]
    assert await error(client, TOPIC, name, *changes, alter=alter, version=version) is code
    assert await error(client, TOPIC, name, *changes, alter=alter, version=version, validate_only=True) is code
    assert await own(client, name) == {"retention.ms": "5"}


@FORMS
async def test_what_is_only_checked_is_not_done(client: Client, alter: Any, version: int):
    name = await created(client, retention_ms="5")
    changes = sets(retention_ms="7")
    assert (
        await error(client, TOPIC, name, *changes, alter=alter, version=version, validate_only=True) is ErrorCode.NONE
    )
    assert await error(client, TOPIC, name, alter=alter, version=version, validate_only=True) is ErrorCode.NONE
    assert await own(client, name) == {"retention.ms": "5"}


@FORMS
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("no-such-topic", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_CONFIG),
        ("__cluster_metadata", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_CONFIG),
        ("", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("x" * 250, ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
async def test_topics_that_do_not_exist(
    client: Client, alter: Any, version: int, name: str, good: ErrorCode, bad: ErrorCode
):
    """A name that cannot be comes before the settings, and a topic that is not there behind them."""
    how = {"alter": alter, "version": version}
    assert await error(client, TOPIC, name, **how) is good
    assert await error(client, TOPIC, name, *sets(retention_ms="1"), **how) is good
    assert await error(client, TOPIC, name, *sets(retention_ms="abc"), **how) is bad
    assert await error(client, TOPIC, name, *sets(retention_ms=None), **how) is ErrorCode.INVALID_REQUEST


async def test_a_list_operation_on_no_list_comes_before_the_name(client: Client):
    assert await error(client, TOPIC, "a b", ("retention.ms", APPEND, "1")) is ErrorCode.INVALID_CONFIG


@FORMS
@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in (0, 1, 3, 64, -1) for name in ("", "1")]
    + [(BROKER, "2"), (BROKER, "x"), (BROKER, "-1"), (BROKER_LOGGER, "2"), (BROKER_LOGGER, ""), (BROKER_LOGGER, "x")]
    + [(GROUP, ""), (CLIENT_METRICS, "")],
)
async def test_resources_that_do_not_exist(client: Client, alter: Any, version: int, kind: int, name: str):
    for changes in ([], sets(retention_ms="1")):
        code = await error(client, kind, name, *changes, alter=alter, version=version)
        assert code is ErrorCode.INVALID_REQUEST


async def test_loggers_are_only_known_one_by_one(client: Client):
    assert await error(client, BROKER_LOGGER, "1", alter=anew) is ErrorCode.INVALID_REQUEST
    assert await error(client, BROKER_LOGGER, "1") is ErrorCode.NONE
    for operation, value in ((SET, "INFO"), (DELETE, None)):
        change = ("no.such.logger", operation, value)
        assert await error(client, BROKER_LOGGER, "1", change) is ErrorCode.INVALID_CONFIG
    assert await error(client, BROKER_LOGGER, "1", ("no.such.logger", APPEND, "INFO")) is ErrorCode.INVALID_REQUEST


@FORMS
@pytest.mark.parametrize(
    ("kind", "code"), [(GROUP, ErrorCode.INVALID_CONFIG), (CLIENT_METRICS, ErrorCode.INVALID_REQUEST)]
)
async def test_settings_that_groups_and_client_metrics_do_not_have(
    client: Client, alter: Any, version: int, kind: int, code: ErrorCode
):
    assert await error(client, kind, fresh(), *sets(retention_ms="1"), alter=alter, version=version) is code
    assert await error(client, kind, fresh(), alter=alter, version=version) is ErrorCode.NONE
    if alter is one_by_one:
        assert await error(client, kind, fresh(), ("retention.ms", DELETE, None), version=version) is ErrorCode.NONE


@FORMS
@pytest.mark.parametrize("name", ["1", "+1", ""])
async def test_what_a_broker_was_started_with_cannot_be_changed(client: Client, alter: Any, version: int, name: str):
    """Whatever the value."""
    how = {"alter": alter, "version": version}
    for changes in (sets(num_partitions="2"), sets(num_partitions="x"), sets(node_id="1"), sets(group_max_size="3")):
        assert await error(client, BROKER, name, *changes, **how) is ErrorCode.INVALID_REQUEST
    assert await error(client, BROKER, name, *sets(num_partitions=None), **how) is ErrorCode.INVALID_REQUEST
    found = await describe(client, BROKER, "1", "num.partitions", "group.max.size")
    assert {each.name: each.value for each in found.configs} == {
        "num.partitions": "1",
        "group.max.size": "2147483647",
    }


@pytest.mark.parametrize("name", ["1", ""])
async def test_operations_on_a_broker(client: Client, name: str):
    assert await error(client, BROKER, name) is ErrorCode.NONE
    assert await error(client, BROKER, name, ("num.partitions", DELETE, None)) is ErrorCode.NONE
    assert await error(client, BROKER, name, ("no.such.key", DELETE, None)) is ErrorCode.NONE
    fixed: list[Change] = sets(num_partitions="2")
    for operation in (APPEND, SUBTRACT):
        for key in ("num.partitions", "no.such.key"):
            change = (key, operation, "1")
            assert await error(client, BROKER, name, change, ("node.id", SET, "1")) is ErrorCode.INVALID_CONFIG
            assert await error(client, BROKER, name, ("node.id", SET, "1"), change) is ErrorCode.INVALID_CONFIG
    assert await error(client, BROKER, name, *fixed, ("node.id", DELETE, None)) is ErrorCode.INVALID_REQUEST
    assert await error(client, BROKER, name, ("nope", APPEND, "1"), ("node.id", 4, "1")) is ErrorCode.INVALID_REQUEST


async def test_resources_are_answered_one_by_one_in_their_order(client: Client):
    good, bad = await created(client), await created(client, retention_ms="5")
    wishes = [
        (TOPIC, bad, sets(retention_ms="x")),
        (BROKER, "7", []),
        (TOPIC, "nope", []),
        (TOPIC, good, sets(retention_ms="6")),
    ]
    codes = [
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]
    expected = [(kind, name, code) for (kind, name, _), code in zip(wishes, codes, strict=True)]
    for alter in (one_by_one, anew):
        assert await alter(client, *wishes) == expected
        assert await owns(client, good, retention_ms="6")
        assert await own(client, bad) == {"retention.ms": "5"}


async def test_a_resource_that_comes_twice(client: Client):
    """It is not looked into, and the others are."""
    twice, once = await created(client), await created(client)
    wishes = [
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


async def test_an_operation_that_does_not_exist_is_the_ruin_of_all(client: Client):
    """Of all that Kafka's broker hands on to the controller; on a broker it is that broker's alone."""
    name, other = await created(client), await created(client)
    group = fresh()
    answer = await one_by_one(
        client,
        (TOPIC, name, sets(retention_ms="1")),
        (BROKER, "x", []),
        (GROUP, group, []),
        (TOPIC, other, [("retention.ms", 7, "1")]),
        (BROKER, "1", []),
    )
    assert answer == [
        (TOPIC, name, ErrorCode.UNKNOWN_SERVER_ERROR),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (GROUP, group, ErrorCode.UNKNOWN_SERVER_ERROR),
        (TOPIC, other, ErrorCode.UNKNOWN_SERVER_ERROR),
        (BROKER, "1", ErrorCode.UNKNOWN_SERVER_ERROR),
    ]
    assert await own(client, name) == {}
    answer = await one_by_one(client, (BROKER, "1", [("x", 7, "1")]), (TOPIC, name, sets(retention_ms="1")))
    assert answer == [(BROKER, "1", ErrorCode.INVALID_REQUEST), (TOPIC, name, ErrorCode.NONE)]
    assert await owns(client, name, retention_ms="1")


@FORMS
async def test_no_resources(client: Client, alter: Any, version: int):
    assert await alter(client, version=version) == []
