"""A member's host is described as Java writes an address, from wherever it came."""

import pytest

from tests.server.client import stable_member
from wire.messages import DescribeGroupsRequest


@pytest.mark.parametrize(
    ("peer", "shown"),
    [
        ("10.1.2.3", "/10.1.2.3"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("2001:db8::a", "/2001:db8:0:0:0:0:0:a"),
        ("::ffff:10.1.2.3", "/10.1.2.3"),
    ],
)
async def test_a_host_is_written_as_java_writes_it(autojump_clock, server, peer, shown):
    client = server.connect(peer)
    await stable_member(client, "g")
    (group,) = (await client.call(DescribeGroupsRequest(groups=["g"]), 5)).groups
    (member,) = group.members
    assert member.client_host == shown
