"""What each client does in a group of its own kind."""

import pytest

from integration.clients import toolchains
from integration.clients.clients import CLIENTS, CODECS, Client, having
from integration.clients.driver import wait_until
from integration.clients.group import CRASH_MS, STATIC_MS, wrote
from integration.clients.raw import Raw
from wire.records import Compression

CONSUMERS = having("consume")
PRODUCERS = having("produce")
MIXES_ASSIGNORS = ("java", "franz-go", "sarama")
"""The clients that take an eager and a cooperative assignor in one list. Without that nobody can be moved over."""

LEAVES = ("platformatic", "closed")
"""What it does that others do not: as a static member, too, it leaves when it is closed."""


def by_client(clients: list[Client]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("client", clients, ids=str)


def writer(client: Client) -> Client:
    """The client itself if it can produce."""
    return client if "produce" in client.can else CLIENTS["kafka-python"]


def its_assignor(client: Client) -> str:
    """Range where it has that."""
    return "range" if "range" in client.assignors else client.assignors[0]


def next_to(client: Client, clients: list[Client]) -> Client:
    """The one after it, that this machine can run: all of them form a ring."""
    names = list(CLIENTS)
    there = [each for each in clients if each is not client and not toolchains.missing(each)]
    after = [each for each in there if names.index(each.name) > names.index(client.name)]
    return (after or there)[0]


@by_client(CONSUMERS)
def test_join_consume_commit_and_come_back(client, new_group):
    group = new_group(assignors=[its_assignor(client)])
    group.write(writer(client), 100)
    member = group.join(client)
    group.settled(member)
    group.all_read()
    group.all_committed()
    member.close()
    assert group.world.describe(group.id).state == "Empty"
    group.all_committed()
    again = group.join(client)
    group.settled(again)
    group.write(writer(client), 20)
    group.all_read()
    group.none_twice()
    assert len(again.records) == 20
    again.close()


@by_client(CONSUMERS)
def test_members_share_join_leave_and_crash(client, new_group):
    group = new_group(6, assignors=[its_assignor(client)])
    first, second = group.join(client), group.join(client, session_timeout_ms=CRASH_MS)
    group.settled(first, second)
    group.write(writer(client), 60)
    group.all_read()
    third = group.join(client)
    group.settled(first, second, third)
    assert {len(each.held) for each in (first, second, third)} == {2}
    group.write(writer(client), 60)
    group.all_read()
    first.close()
    group.settled(second, third)
    group.write(writer(client), 60)
    group.all_read()
    group.all_committed()
    second.kill()
    group.settled(third)
    group.write(writer(client), 60)
    group.all_read()
    group.none_twice()
    third.close()


@by_client(having("consume", "cooperative-sticky"))
def test_cooperative_members_keep_what_stays_theirs(client, new_group):
    group = new_group(6, assignors=["cooperative-sticky"])
    first = group.join(client)
    group.settled(first)
    group.write(writer(client), 60)
    second = group.join(client)
    group.settled(first, second)
    given_up = {tuple(each) for event in first.told("revoked") for each in event["partitions"]}
    assert given_up == second.held
    assert not first.told("lost")
    group.write(writer(client), 60)
    group.all_read()
    second.close()
    group.settled(first)
    group.all_read()
    group.none_twice()
    first.close()


@pytest.mark.parametrize(
    ("client", "way"),
    [
        pytest.param(client, way, id=f"{client}-{way}")
        for client in having("consume", "static")
        for way in ("closed", "killed")
        if (client.name, way) != LEAVES
    ],
)
def test_a_static_member_restarts_unnoticed(client, way, new_group):
    group = new_group(assignors=[its_assignor(client)])
    config = {"session_timeout_ms": STATIC_MS}
    first, second = group.join(client, instance_id="one", **config), group.join(client, instance_id="two", **config)
    group.settled(first, second)
    group.write(writer(client), 40)
    group.all_read()
    group.all_committed()
    held, heard = set(first.held), second.moves()
    if way == "closed":
        first.close()
    else:
        first.kill()
    again = group.join(client, instance_id="one", **config)
    group.settled(again, second)
    group.write(writer(client), 40)
    group.all_read()
    group.none_twice()
    assert again.held == held
    assert second.moves() == heard
    described = group.world.describe(group.id).members
    assert {each["group_instance_id"] for each in described} == {"one", "two"}


@by_client([client for client in having("consume", "range", "cooperative-sticky") if client.name in MIXES_ASSIGNORS])
def test_a_rolling_upgrade_from_range_to_cooperative_sticky(client, new_group):
    group = new_group(6)
    members = [group.join(client), group.join(client)]
    group.settled(*members)
    assert group.world.describe(group.id).protocol == "range"
    both, new = ["cooperative-sticky", "range"], ["cooperative-sticky"]
    steps = [(both, "range"), (both, "cooperative-sticky"), (new, "cooperative-sticky"), (new, "cooperative-sticky")]
    for number, (assignors, protocol) in enumerate(steps):
        index = number % 2
        members[index].close()
        members[index] = group.join(client, assignors=assignors)
        group.write(writer(client), 60)
        group.settled(*members)
        group.all_read()
        assert group.world.describe(group.id).protocol == protocol
    group.none_twice()


@by_client(CONSUMERS)
def test_ten_thousand_records_while_members_come_and_go(client, new_group):
    group = new_group(6, assignors=[its_assignor(client)])
    first, second = group.join(client), group.join(client)
    group.settled(first, second)
    writing = group.begin_to_write(writer(client), 5_000)
    wait_until(lambda: first.records, "the first records", first, writing)
    third = group.join(client)
    group.write(writer(client), 5_000)
    wrote(writing)
    group.settled(first, second, third)
    second.close()
    group.settled(first, third)
    group.all_read()
    group.none_twice()
    group.all_committed()
    assert sum(len(each.records) for each in group.members) == 10_000


@by_client(PRODUCERS)
def test_what_it_compresses_another_reads(client, new_group):
    codecs = [codec for codec in CODECS if codec in client.codecs]
    reader = next_to(client, [each for each in CONSUMERS if {*codecs} <= {*each.codecs}])
    group = new_group(1, topics=len(codecs), assignors=[its_assignor(reader)])
    for topic, codec in zip(group.topics, codecs, strict=True):
        group.write(client, 300, topic, compression=codec)
    group.settled(group.join(reader))
    group.all_read()
    group.none_twice()
    with Raw(group.world.bootstrap) as raw:
        for topic, codec in zip(group.topics, codecs, strict=True):
            # A client may leave a batch as it is that would not become smaller.
            found = raw.compressions(topic, 0)
            assert Compression[codec.upper()] in found
            assert found <= {Compression[codec.upper()], Compression.NONE}


@by_client(PRODUCERS)
def test_it_produces_with_every_kind_of_acknowledgement(client, new_group):
    group = new_group(assignors=["range"])
    group.write(client, 50, acks=-1, idempotence=None)
    group.write(client, 50, acks=1, idempotence=False)
    group.write(client, 50, acks=0, idempotence=False)
    if "idempotent" in client.can:
        group.write(client, 50, acks=-1, idempotence=True)
    group.settled(group.join(CLIENTS["confluent"]))
    group.all_read()
    group.none_twice()
