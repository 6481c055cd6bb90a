"""ApiVersions: what it answers in each version, also in one that is not served, and that the table tells the truth."""

import pytest

from kcoord.apis import APIS
from tests.server.client import find
from tests.server.conftest import start, without_sockets
from wire.header import read_response, request_frame
from wire.messages import REQUESTS, ApiVersionsRequest, ApiVersionsResponse, ProduceRequest

TABLE = {
    0: (0, 13),
    1: (4, 18),
    2: (1, 11),
    3: (0, 13),
    8: (2, 10),
    9: (1, 10),
    10: (0, 6),
    11: (0, 9),
    12: (0, 4),
    13: (0, 5),
    14: (0, 5),
    15: (0, 6),
    16: (0, 5),
    18: (0, 5),
    19: (2, 7),
    20: (1, 6),
    21: (0, 2),
    22: (0, 5),
    23: (2, 4),
    32: (1, 4),
    33: (0, 2),
    35: (1, 5),
    37: (0, 3),
    42: (0, 3),
    44: (0, 1),
    47: (0, 0),
    60: (0, 2),
    74: (0, 1),
    75: (0, 0),
}
SERVED = TABLE | {0: (3, 13)}
"""Produce is offered in versions that are not served, as librdkafka wants to see them (KAFKA-18659)."""


NEWEST = TABLE[18][1]


def request(version, name="x", number="1", **place):
    if version < 3:
        return ApiVersionsRequest()
    return ApiVersionsRequest(client_software_name=name, client_software_version=number, **place)


def ranges(response):
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


def test_the_table_lists_each_key_once_and_in_order():
    assert [api.key for api in APIS] == list(TABLE)


@pytest.mark.parametrize("version", range(NEWEST + 1))
async def test_the_answer_is_the_table(autojump_clock, server, version):
    answer = await server.connect().call(request(version), version)
    assert (answer.error_code, answer.throttle_time_ms) == (0, 0)
    assert ranges(answer) == TABLE


async def test_version_0_has_no_throttle_time(autojump_clock, server):
    client = server.connect()
    await client.send_raw(request_frame(1, "c", request(0), 0))
    assert len(await client.receive_frame()) == 4 + 2 + 4 + 6 * len(TABLE)


async def test_the_header_stays_old_when_the_body_is_flexible(autojump_clock, server):
    client = server.connect()
    await client.send_raw(request_frame(1, "c", request(3), 3))
    frame = await client.receive_frame()
    assert frame[:6] == b"\0\0\0\1\0\0"
    assert frame[6] == len(TABLE) + 1


@pytest.mark.parametrize(
    ("name", "number"),
    [("", "1"), ("x", ""), ("a b", "1"), ("-x", "1"), ("x-", "1"), ("x", ".1"), ("ü", "1"), ("x\n", "1")],
)
@pytest.mark.parametrize("version", [3, 4, 5])
async def test_software_without_a_proper_name_is_refused(autojump_clock, server, name, number, version):
    client = server.connect()
    answer = await client.call(request(version, name, number), version)
    assert (answer.error_code, answer.api_keys) == (42, [])
    assert (await client.call(request(0), 0)).error_code == 0


@pytest.mark.parametrize(("name", "number"), [("a-b.c1", "1"), ("a--b", "3.0.12"), ("0", "v1.0-rc.2")])
async def test_proper_names_are_fine(autojump_clock, server, name, number):
    assert (await server.connect().call(request(3, name, number), 3)).error_code == 0


@pytest.mark.parametrize("version", [NEWEST + 1, 32767, -1, -32768])
async def test_an_unsupported_version_is_answered_so_that_every_client_can_read_it(autojump_clock, server, version):
    client = server.connect()
    frame = bytearray(request_frame(7, "c", request(3 if version > 0 else 0), 3 if version > 0 else 0))
    frame[6:8] = version.to_bytes(2, "big", signed=True)
    for _ in range(2):
        await client.send_raw(bytes(frame))
        raw = await client.receive_frame()
        assert raw == bytes.fromhex("00000007 0023 00000001 0012 0000 0005")
    for supported in range(NEWEST + 1):
        assert (await client.call(request(supported), supported)).error_code == 0


async def test_the_body_of_an_unsupported_version_is_not_read(autojump_clock, server):
    client = server.connect()
    await client.send_frame(bytes.fromhex("0012 7fff 00000001 0001 63 00") + b"\xff" * 40)
    number, answer = read_response(await client.receive_frame(), ApiVersionsResponse, 0)
    assert (number, answer.error_code) == (1, 35)


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_no_feature_is_listed(autojump_clock, server, version):
    answer = await server.connect().call(request(version), version)
    assert answer.supported_features == []
    assert answer.finalized_features_epoch == -1


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        ("here", 1, 0),
        (None, -1, 0),
        ("here", 2, 129),
        ("here", 0, 129),
        ("here", -2, 129),
        ("HERE", 1, 129),
        ("her", 1, 129),
        ("", 1, 129),
        ("there", 2, 129),
        ("here", -1, 42),
        ("there", -1, 42),
        ("", -1, 42),
        (None, 1, 42),
        (None, 2, 42),
        (None, 0, 42),
    ],
)
async def test_whoever_means_another_broker_has_to_bootstrap_anew(autojump_clock, nursery, cluster_id, node_id, error):
    """KIP-1242; what is there but half is no question."""
    server = await start(nursery, without_sockets(cluster_id="here"))
    client = server.connect()
    answer = await client.call(request(5, cluster_id=cluster_id, node_id=node_id), 5)
    assert (answer.error_code, answer.throttle_time_ms) == (error, 0)
    assert ranges(answer) == ({} if error else TABLE)
    assert (await client.call(request(0), 0)).error_code == 0


async def test_what_a_client_is_comes_before_whom_it_means(autojump_clock, server):
    answer = await server.connect().call(request(5, "not/fine", cluster_id="there", node_id=2), 5)
    assert answer == ApiVersionsResponse(error_code=42)


@pytest.mark.parametrize("version", [3, 4])
async def test_older_versions_have_nobody_in_them(autojump_clock, server, version):
    answer = await server.connect().call(request(version, cluster_id="there", node_id=2), version)
    assert ranges(answer) == TABLE


@pytest.mark.parametrize("key", SERVED)
async def test_every_version_that_is_listed_is_served(autojump_clock, server, key):
    """Send the emptiest request there is of each version: whatever it is answered, it is answered."""
    low, high = SERVED[key]
    emptiest = ProduceRequest(acks=1) if key == 0 else REQUESTS[key]()
    for version in range(low, high + 1):
        client = server.connect()
        answer = await client.call(emptiest, version)
        assert type(answer) is REQUESTS[key].RESPONSE
        assert (await client.call(find("g"), 0)).error_code == 0


@pytest.mark.parametrize("key", SERVED)
async def test_the_versions_beside_those_are_not(autojump_clock, server, key):
    if key == 18:
        return
    low, high = SERVED[key]
    for version in {-1, low - 1, high + 1}:
        client = server.connect()
        await client.send_frame(
            key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + bytes(4) + b"\0\0" + bytes(40)
        )
        assert await client.is_closed()
