"""Different clients in one group, each of which may be the leader that assigns for all."""

from collections.abc import Sequence

import pytest

from integration.clients import toolchains
from integration.clients.clients import CLIENTS, Client, having
from integration.clients.driver import wait_until
from integration.clients.group import CRASH_MS, STATIC_MS, wrote


def cast(*names: str) -> tuple[Client, ...]:
    """These clients; one that is not there yet is an error of the collection."""
    return tuple(CLIENTS[name] for name in names)


FIVE = cast("kafka-python", "confluent", "java", "franz-go", "kafkajs")
FOUR = cast("kafka-python", "java", "confluent", "franz-go")
ALL_HERE = tuple(client for client in having("consume", "range") if not toolchains.missing(client))
"""Everybody who has range and can run on this machine."""
MIXES = [
    pytest.param(FIVE, "range", id="five-range"),
    pytest.param(FOUR, "cooperative-sticky", id="four-cooperative-sticky"),
    pytest.param(ALL_HERE, "range", id="all-range"),
]


def name_all(clients: Sequence[Client]) -> str:
    return "+".join(client.name for client in clients)


@pytest.mark.parametrize(("clients", "assignor"), MIXES)
def test_they_join_leave_and_crash(clients, assignor, new_group):
    group = new_group(3 * len(clients), assignors=[assignor])
    members = [group.join(client) for client in clients[:-1]]
    members.append(group.join(clients[-1], session_timeout_ms=CRASH_MS))
    group.settled(*members)
    assert group.world.describe(group.id).protocol == assignor
    group.write(CLIENTS["confluent"], 20 * len(clients))
    group.all_read()
    leaver, crasher = members[0], members[-1]
    leaver.close()
    members.remove(leaver)
    group.settled(*members)
    group.write(CLIENTS["confluent"], 20 * len(clients))
    group.all_read()
    group.all_committed()
    crasher.kill()
    members.remove(crasher)
    group.settled(*members)
    members += [group.join(clients[0]), group.join(clients[-1])]
    group.write(CLIENTS["confluent"], 20 * len(clients))
    group.settled(*members)
    group.all_read()
    group.none_twice()


@pytest.mark.parametrize(("clients", "assignor"), MIXES[:2])
def test_each_leaves_and_comes_back(clients, assignor, new_group):
    group = new_group(2 * len(clients), assignors=[assignor])
    members = {client.name: group.join(client) for client in clients}
    group.settled(*members.values())
    for client in clients:
        group.write(CLIENTS["kafka-python"], 10 * len(clients))
        members.pop(client.name).close()
        group.settled(*members.values())
        members[client.name] = group.join(client)
        group.settled(*members.values())
    group.all_read()
    group.none_twice()
    group.all_committed()


@pytest.mark.parametrize("clients", [FOUR], ids=name_all)
def test_static_members_restart_unnoticed(clients, new_group):
    group = new_group(2 * len(clients))
    config = {"session_timeout_ms": STATIC_MS}
    members = {client: group.join(client, instance_id=client.name, **config) for client in clients}
    group.settled(*members.values())
    heard = {client: member.moves() for client, member in members.items()}
    for client in clients:
        held = set(members[client].held)
        members[client].close()
        members[client] = group.join(client, instance_id=client.name, **config)
        group.settled(*members.values())
        assert members[client].held == held
        assert [each.moves() for each in members.values() if each is not members[client]] == [
            heard[other] for other in clients if other is not client
        ]
        heard[client] = members[client].moves()
    group.write(CLIENTS["confluent"], 80)
    group.all_read()
    group.none_twice()


@pytest.mark.parametrize("clients", [cast("java", "franz-go", "sarama")], ids=name_all)
def test_a_rolling_upgrade_of_a_mixed_group(clients, new_group):
    group = new_group(6)
    members = [group.join(client) for client in clients]
    group.settled(*members)
    assert group.world.describe(group.id).protocol == "range"
    for assignors in (["cooperative-sticky", "range"], ["cooperative-sticky"]):
        for index, client in enumerate(clients):
            members[index].close()
            members[index] = group.join(client, assignors=assignors)
            group.write(CLIENTS["confluent"], 60)
            group.settled(*members)
            group.all_read()
    assert group.world.describe(group.id).protocol == "cooperative-sticky"
    group.none_twice()


@pytest.mark.parametrize(
    ("producer", "clients"),
    [(each, tuple(other for other in FIVE if other is not each)) for each in FIVE],
    ids=[f"{each}-to-the-others" for each in FIVE],
)
def test_ten_thousand_records_of_one_consumed_by_the_others(producer, clients, new_group):
    group = new_group(8)
    members = [group.join(client) for client in clients[:-1]]
    group.settled(*members)
    writing = group.begin_to_write(producer, 10_000)
    wait_until(lambda: members[0].records, "the first records", members[0], writing)
    members.append(group.join(clients[-1]))
    group.settled(*members)
    members.pop(0).close()
    group.settled(*members)
    wrote(writing)
    group.all_read()
    group.none_twice()
    group.all_committed()
    assert sum(len(each.records) for each in group.members) == 10_000
