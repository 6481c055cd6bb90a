"""Topics as an operator's clients make them: kafka-python's and librdkafka's, which speak different versions."""

import uuid

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.errors import InvalidConfigurationError, InvalidPartitionsError, TopicAlreadyExistsError

from integration.members import all_of
from integration.server import PATIENCE


def fresh() -> str:
    return f"made-{uuid.uuid4().hex[:8]}"


def counts(admin, *names: str) -> list[int]:
    """How many partitions the topics have."""
    found = {each["name"]: len(each["partitions"]) for each in admin.describe_topics(list(names))}
    return [found[name] for name in names]


@pytest.fixture
def other_admin(server) -> AdminClient:
    """librdkafka's."""
    return AdminClient({"bootstrap.servers": server.bootstrap})


def refusal(future) -> str:
    """Kafka's name of the error with which a request of librdkafka's ended."""
    with pytest.raises(KafkaException) as caught:
        future.result(PATIENCE)
    return caught.value.args[0].name()


def test_topics_that_kafka_python_creates(admin, group):
    name, default, assigned, checked, tuned = (fresh() for _ in range(5))
    four = {"num_partitions": 4, "replication_factor": 1}
    made = admin.create_topics({name: four, default: {}, assigned: {"assignments": {0: [1], 1: [1]}}})
    assert [(each["name"], each["num_partitions"], each["replication_factor"]) for each in made["topics"]] == [
        (name, 4, 1),
        (default, 1, 1),
        (assigned, 2, 1),
    ]
    assert counts(admin, name, default, assigned) == [4, 1, 2]
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics({name: four})
    with pytest.raises(InvalidPartitionsError):
        admin.create_topics({checked: {"num_partitions": 0}})
    with pytest.raises(InvalidConfigurationError, match=r"segment\.ms"):
        admin.create_topics({tuned: {"configs": {"segment.ms": "1"}}})
    admin.create_topics({checked: four}, validate_only=True)
    assert not {checked, tuned} & set(admin.list_topics())
    group.join(name)
    group.settled(all_of(**{name: 4}))


def test_topics_that_librdkafka_creates(other_admin, admin):
    name, default, checked, tuned = (fresh() for _ in range(4))
    made = other_admin.create_topics([NewTopic(name, 4, 1), NewTopic(default)])
    assert {each: future.result(PATIENCE) for each, future in made.items()} == {name: None, default: None}
    assert counts(admin, name, default) == [4, 1]
    again = other_admin.create_topics(
        [NewTopic(name, 4, 1), NewTopic(checked, 1, 3), NewTopic(tuned, 1, 1, config={"retention.ms": "x"})]
    )
    assert {each: refusal(future) for each, future in again.items()} == {
        name: "TOPIC_ALREADY_EXISTS",
        checked: "INVALID_REPLICATION_FACTOR",
        tuned: "INVALID_CONFIG",
    }
    assert other_admin.create_topics([NewTopic(checked, 1, 1)], validate_only=True)[checked].result(PATIENCE) is None
    assert not {checked, tuned} & set(admin.list_topics())
