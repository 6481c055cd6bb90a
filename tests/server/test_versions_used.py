"""A client's versions: told at the first request of each, once a connection."""

import json

from kcoord.notices import ApiVersionUsed, RequestUnreadable
from kcoord.watch.log_lines import log_lines, render_line
from tests.server.client import find, find_all, heartbeat
from tests.server.test_connection import header
from wire.messages import ApiVersionsRequest


def told(server):
    return [(note.client_id, note.api, note.version) for note in server.seen(ApiVersionUsed)]


def software(server):
    return [(note.client_software_name, note.client_software_version) for note in server.seen(ApiVersionUsed)]


def i_am(name, version, **place):
    return ApiVersionsRequest(client_software_name=name, client_software_version=version, **place)


async def test_each_version_is_told_once(autojump_clock, server):
    client = server.connect("10.0.0.1")
    for version in (4, 3, 4, 3):
        for _ in range(2):
            await client.call(heartbeat("g", 1, "m"), version)
    await client.call(find("g"), 3)
    assert told(server) == [("c", "Heartbeat", 4), ("c", "Heartbeat", 3), ("c", "FindCoordinator", 3)]
    assert {(note.host, note.port) for note in server.seen(ApiVersionUsed)} == {("10.0.0.1", 0)}


async def test_another_connection_is_another_client(autojump_clock, server):
    for _ in range(2):
        await server.connect().call(find("g"), 3)
    assert told(server) == [("c", "FindCoordinator", 3)] * 2


async def test_another_name_on_the_same_connection_is_not(autojump_clock, server):
    client = server.connect()
    for name in ("one", "two", "one", None):
        await client.call(find("g"), 3, client_id=name)
    await client.call(find("g"), 2, client_id=None)
    assert told(server) == [("one", "FindCoordinator", 3), ("", "FindCoordinator", 2)]


async def test_names_too_long_to_be_kept_are_told_once_as_well(autojump_clock, server):
    client = server.connect()
    for _ in range(3):
        await client.call(find("g"), 3, client_id="x" * 5_000)
    assert told(server) == [("x" * 5_000, "FindCoordinator", 3)]


async def test_what_is_not_served_is_not_used(autojump_clock, server):
    client = server.connect()
    await client.send_frame(header(18, 6) + b"\0")
    await client.receive_frame()
    await client.send_frame(header(11, 10))
    assert await client.is_closed()
    assert told(server) == []


async def test_the_software_is_told_from_the_moment_that_it_is_known(autojump_clock, server):
    client = server.connect()
    await client.call(find("g"), 3)
    await client.call(i_am("apache-kafka-java", "4.4.0"), 3)
    await client.call(find_all("g"), 4)
    await client.call(ApiVersionsRequest(), 2)
    await client.call(i_am("other", "1"), 4)
    await client.call(find_all("g"), 5)
    java = ("apache-kafka-java", "4.4.0")
    assert software(server) == [(None, None), java, java, java, ("other", "1"), ("other", "1")]


async def test_software_whose_name_is_refused_has_none(autojump_clock, server):
    client = server.connect()
    assert (await client.call(i_am("not/fine", "1"), 3)).error_code == 42
    await client.call(find("g"), 3)
    assert software(server) == [(None, None)] * 2


async def test_software_that_means_another_broker_is_known_unless_it_says_but_half(autojump_clock, server):
    client = server.connect()
    assert (await client.call(i_am("halves", "1", node_id=7), 5)).error_code == 42
    await client.call(find("g"), 3)
    assert software(server) == [(None, None)] * 2
    other = server.connect()
    assert (await other.call(i_am("lost", "1", cluster_id="there", node_id=7), 5)).error_code == 129
    assert software(server)[-1] == ("lost", "1")


async def test_an_unreadable_introduction_closes_the_connection(autojump_clock, server):
    client = server.connect()
    await client.send_frame(header(18, 3) + b"\0\x7f")
    assert await client.is_closed()
    assert len(server.seen(RequestUnreadable)) == 1
    assert told(server) == []


async def test_a_large_introduction_is_answered_and_not_looked_into(server):
    client = server.connect()
    size = 300_000
    tag = b"\1\x05" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + bytes(size)
    await client.send_frame(header(18, 3) + b"\0" + b"\2a\2b" + tag)
    assert (await client.receive_frame())[4:6] == b"\0\0"
    assert told(server) == [("c", "ApiVersions", 3)]
    assert software(server) == [(None, None)]


async def test_the_line_is_for_those_who_debug_and_not_as_long_as_a_client_likes(autojump_clock, server):
    await server.connect().call(find("g"), 3, client_id="x" * 30_000)
    (note,) = server.seen(ApiVersionUsed)
    written = []
    for level in ("info", "debug"):
        log_lines(level, render_line("json"), written.append)(note)
    (line,) = written
    assert len(line) < 2_000
    assert json.loads(line)["event"] == "api_version_used"
