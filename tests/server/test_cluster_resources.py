"""What this server has no settings for, and what of itself may be deleted without any effect."""

import pytest

from wire.errors import ErrorCode
from wire.messages import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    ListConfigResourcesRequest,
)

BROKER, CLIENT_METRICS, GROUP = 4, 16, 32


@pytest.mark.parametrize(
    ("version", "types"), [(0, []), (1, [GROUP]), (1, [CLIENT_METRICS]), (1, [GROUP, CLIENT_METRICS])]
)
async def test_groups_and_client_metrics_have_no_settings(autojump_clock, server, version, types):
    answer = await server.connect().call(ListConfigResourcesRequest(resource_types=types), version)
    assert (answer.throttle_time_ms, answer.error_code, answer.config_resources) == (0, 0, [])


@pytest.mark.parametrize("name", ["1", ""])
@pytest.mark.parametrize("key", ["num.partitions", "no.such.key"])
async def test_what_a_broker_was_started_with_may_be_deleted(autojump_clock, server, name, key):
    before = server.broker.config
    change = IncrementalAlterableConfig(name=key, config_operation=1, value=None)
    resource = IncrementalAlterConfigsResource(resource_type=BROKER, resource_name=name, configs=[change])
    (one,) = (await server.connect().call(IncrementalAlterConfigsRequest(resources=[resource]), 1)).responses
    assert (one.error_code, one.error_message) == (ErrorCode.NONE, None)
    assert server.broker.config == before
