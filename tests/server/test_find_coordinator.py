"""FindCoordinator: who coordinates a group, in each version, and what cannot be looked up."""

import pytest

from kcoord.core.hashing import java_string_hash, partition_for
from kcoord.nodes import Endpoint
from tests.server.client import find, find_all
from wire.messages import MetadataRequest


def place(found):
    return found.error_code, found.node_id, found.host, found.port


@pytest.mark.parametrize("version", range(4))
async def test_the_coordinator_is_a_broker_that_metadata_lists(autojump_clock, server, version):
    client = server.connect(endpoint=Endpoint("kafka.example", 1234))
    found = await client.call(find("g"), version)
    broker = (await client.call(MetadataRequest(topics=[]), 1)).brokers[0]
    assert place(found) == (0, broker.node_id, broker.host, broker.port) == (0, 1, "kafka.example", 1234)


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_success_has_a_text_that_says_so(autojump_clock, server, version):
    found = await server.connect().call(find("g", key_type=0), version)
    assert (found.error_code, found.error_message) == (0, "NONE")


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_nobody_coordinates_transactions(autojump_clock, server, version):
    found = await server.connect().call(find("tx", key_type=1), version)
    assert place(found) == (53, -1, "", -1)
    assert "transactions" in found.error_message


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_nobody_coordinates_transactions_in_many(autojump_clock, server, version):
    answer = await server.connect().call(find_all("a", "b", key_type=1), version)
    assert [place(found) for found in answer.coordinators] == [(53, -1, "", -1)] * 2
    assert all("transactions" in found.error_message for found in answer.coordinators)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("key_type", [2, 7, -1])
async def test_an_unknown_key_type_is_an_invalid_request(autojump_clock, server, version, key_type):
    found = await server.connect().call(find("g", key_type=key_type), version)
    assert place(found) == (42, -1, "", -1)


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("keys", [["g1", "g2", "g3"], [], ["g", "g"], [""], ["ü", "g" * 300]])
async def test_many_keys_are_answered_in_their_order(autojump_clock, server, version, keys):
    answer = await server.connect().call(find_all(*keys), version)
    assert [(found.key, *place(found)) for found in answer.coordinators] == [
        (key, 0, 1, "localhost", 9092) for key in keys
    ]
    assert all(found.error_message == "" for found in answer.coordinators)


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("key_type", [2, 7])
async def test_an_unknown_key_type_spoils_each_key(autojump_clock, server, version, key_type):
    answer = await server.connect().call(find_all("a", "b", key_type=key_type), version)
    assert [(found.key, *place(found)) for found in answer.coordinators] == [
        ("a", 42, -1, "", -1),
        ("b", 42, -1, "", -1),
    ]


@pytest.mark.parametrize("version", range(4))
async def test_the_empty_key_is_a_group(autojump_clock, server, version):
    assert (await server.connect().call(find(""), version)).error_code == 0


async def test_the_first_lookup_of_a_cluster_succeeds(autojump_clock, server):
    assert (await server.connect().call(find("g"), 0)).error_code == 0


@pytest.mark.parametrize(
    ("group", "value", "partition"),
    [
        ("", 0, 0),
        ("foo", 101574, 24),
        ("bar", 97299, 49),
        ("test", 3556498, 48),
        ("grp", 102629, 29),
        ("my-group", -1906497762, 12),
        ("group-1", 293427299, 49),
        ("ü", 252, 2),
        ("日本", 835047, 47),
        ("😀", 1772899, 49),
        ("polygenelubricants", -(2**31), 0),
        ("\ud83d", 0xD83D, 0xD83D % 50),
    ],
)
def test_groups_are_spread_as_java_hashes_their_names(group, value, partition):
    assert java_string_hash(group) == value
    assert partition_for(group, 50) == partition
