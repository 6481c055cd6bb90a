"""What is advertised must be something that each client can speak, and keep out of its negotiation's traps.

The ranges are what the named releases can use of each API that is served; where a client has only a few versions
of an API, these are listed one by one. A client counts on its highest version that is in both ranges.
"""

import pytest

from kcoord.apis import APIS, BY_KEY
from tests.server.client import Client
from wire.messages import ApiVersionsRequest

FETCH, LIST_OFFSETS, METADATA, COMMIT, OFFSET_FETCH, FIND, JOIN, HEARTBEAT, LEAVE, SYNC = (
    1,
    2,
    3,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
)
DESCRIBE, LIST, VERSIONS, DELETE, OFFSET_DELETE = 15, 16, 18, 42, 47


def upto(highest: int, lowest: int = 0) -> set[int]:
    return set(range(lowest, highest + 1))


CLIENTS: dict[str, dict[int, set[int]]] = {
    "kafka-python 3.0": {
        FETCH: upto(12),
        LIST_OFFSETS: upto(11),
        METADATA: upto(13),
        COMMIT: upto(8),
        OFFSET_FETCH: upto(8),
        FIND: upto(6),
        JOIN: upto(7),
        SYNC: upto(5),
        HEARTBEAT: upto(4),
        LEAVE: upto(5),
        DESCRIBE: upto(6),
        LIST: upto(5),
        VERSIONS: upto(4),
        DELETE: upto(2),
        OFFSET_DELETE: {0},
    },
    "aiokafka 0.14": {
        FETCH: upto(11, 1),
        LIST_OFFSETS: upto(3),
        METADATA: upto(5),
        COMMIT: {2, 3},
        OFFSET_FETCH: upto(3, 1),
        FIND: upto(1),
        JOIN: {0, 1, 2, 5},
        SYNC: {0, 1, 3},
        HEARTBEAT: upto(1),
        LEAVE: upto(1),
        DESCRIBE: upto(3),
        LIST: upto(2),
        VERSIONS: upto(2),
        DELETE: upto(1),
    },
    "librdkafka 2.16": {
        FETCH: upto(16),
        LIST_OFFSETS: upto(7),
        METADATA: upto(13),
        COMMIT: upto(9),
        OFFSET_FETCH: upto(9),
        FIND: upto(2),
        JOIN: upto(5),
        SYNC: upto(3),
        HEARTBEAT: upto(3),
        LEAVE: upto(1),
        DESCRIBE: upto(5),
        LIST: upto(5),
        VERSIONS: upto(3),
        DELETE: upto(2),
        OFFSET_DELETE: {0},
    },
    "librdkafka 2.0 (kcat)": {
        FETCH: {11},
        LIST_OFFSETS: {2},
        METADATA: {4},
        COMMIT: {7},
        OFFSET_FETCH: {7},
        FIND: {2},
        JOIN: {5},
        SYNC: {3},
        HEARTBEAT: {3},
        LEAVE: {1},
        VERSIONS: {3},
    },
    "kafkajs 2.2": {
        FETCH: upto(11),
        LIST_OFFSETS: upto(3),
        METADATA: upto(6),
        COMMIT: upto(5),
        OFFSET_FETCH: upto(4, 1),
        FIND: upto(2),
        JOIN: upto(5),
        SYNC: upto(3),
        HEARTBEAT: upto(3),
        LEAVE: upto(3),
        DESCRIBE: upto(2),
        LIST: upto(2),
        VERSIONS: upto(2),
        DELETE: {1},
    },
    "platformatic 1.35": {
        FETCH: upto(17, 13),
        LIST_OFFSETS: upto(9, 5),
        METADATA: upto(12, 9),
        COMMIT: {8, 9},
        OFFSET_FETCH: {8, 9},
        FIND: upto(6, 4),
        JOIN: upto(9, 6),
        SYNC: {4, 5},
        HEARTBEAT: {4},
        LEAVE: {4, 5},
        DESCRIBE: upto(5),
        LIST: upto(5),
        VERSIONS: {3},
        DELETE: {2},
        OFFSET_DELETE: {0},
    },
    "franz-go 1.22": {
        FETCH: upto(18),
        LIST_OFFSETS: upto(10),
        METADATA: upto(13),
        COMMIT: upto(10),
        OFFSET_FETCH: upto(10),
        FIND: upto(6),
        JOIN: upto(9),
        SYNC: upto(5),
        HEARTBEAT: upto(4),
        LEAVE: upto(5),
        DESCRIBE: {6},
        LIST: {5},
        VERSIONS: {4},
    },
    "sarama 1.61": {
        FETCH: upto(12),
        LIST_OFFSETS: {6},
        METADATA: {11},
        COMMIT: {8},
        OFFSET_FETCH: {7, 8},
        FIND: {3},
        JOIN: {7, 8},
        SYNC: {5},
        HEARTBEAT: {4},
        LEAVE: {4, 5},
        DESCRIBE: {5},
        LIST: {4, 5},
        VERSIONS: {3, 4},
        DELETE: {2},
    },
    "kafka-go 0.4": {
        FETCH: {2, 5, 10},
        LIST_OFFSETS: {1},
        METADATA: {1, 6, 8},
        COMMIT: {2},
        OFFSET_FETCH: {1},
        FIND: {0},
        JOIN: {1, 2},
        SYNC: {0},
        HEARTBEAT: {0},
        LEAVE: {0},
        VERSIONS: {0},
    },
    "Java 4": {
        FETCH: upto(18, 4),
        LIST_OFFSETS: upto(11, 1),
        METADATA: upto(13),
        COMMIT: upto(10, 2),
        OFFSET_FETCH: upto(10, 1),
        FIND: upto(6),
        JOIN: upto(9),
        SYNC: upto(5),
        HEARTBEAT: upto(4),
        LEAVE: upto(5),
        DESCRIBE: upto(6),
        LIST: upto(5),
        VERSIONS: {4},
        DELETE: upto(2),
        OFFSET_DELETE: {0},
    },
}


def served(key: int) -> set[int]:
    return upto(BY_KEY[key].versions.highest, BY_KEY[key].versions.lowest)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_finds_a_version_of_everything_it_needs(client):
    missing = {BY_KEY[key].name: usable for key, usable in CLIENTS[client].items() if not usable & served(key)}
    assert missing == {}


def test_a_client_that_knows_no_minimum_is_not_led_below_it():
    """kafkajs takes the lower of both maxima, whatever the server's minimum."""
    for key, usable in CLIENTS["kafkajs 2.2"].items():
        assert min(max(usable), max(served(key))) in served(key)


def test_librdkafka_sees_the_features_that_groups_need():
    """It compares ranges with fixed ones of its own; without these it has no consumer groups at all."""
    assert {0} <= served(FIND) & served(JOIN) & served(SYNC) & served(HEARTBEAT) & served(LEAVE)
    assert served(COMMIT) & {1, 2}
    assert {1} <= served(OFFSET_FETCH) & served(LIST_OFFSETS)
    assert {4, 10} <= served(FETCH)


def test_static_membership_is_offered_as_a_whole_or_not_at_all():
    assert max(served(JOIN)) >= 5
    assert min(max(served(SYNC)), max(served(HEARTBEAT)), max(served(LEAVE))) >= 3
    assert max(served(COMMIT)) >= 7


def test_nothing_is_advertised_that_makes_clients_ask_for_what_is_not_served():
    """Telemetry, the newer consumer protocol and share groups are used by clients as soon as they are listed."""
    assert not {68, 69, 71, 72, 76, 77, 78, 79} & {api.key for api in APIS}


async def test_version_0_of_api_versions_never_fails(autojump_clock, server):
    """A client that cannot read the answer to its newest version asks with version 0, some of them without a pause."""
    client: Client = server.connect()
    answer = await client.call(ApiVersionsRequest(), 0)
    assert answer.error_code == 0
    assert {(one.api_key, one.min_version, one.max_version) for one in answer.api_keys} == {
        (api.key, api.offered.lowest, api.offered.highest) for api in APIS
    }
