"""The numbers are Kafka's."""

import warnings

from wire.errors import ErrorCode

with warnings.catch_warnings():  # it loads its definitions by a function that Python has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import errors as theirs

SPELLED_THEIR_WAY = {
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NO_ERROR": "NONE",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "INVALID_TOPIC": "INVALID_TOPIC_EXCEPTION",
    "INVALID_REPLICATION_ASSIGNMENT": "INVALID_REPLICA_ASSIGNMENT",
}


def test_there_is_no_gap():
    assert [int(code) for code in ErrorCode] == list(range(-1, 137))


def test_names_and_retriability_are_those_of_kafka_python():
    found = [
        cls for cls in vars(theirs).values() if isinstance(cls, type) and isinstance(getattr(cls, "errno", 0), int)
    ]
    by_number = {cls.errno: cls for cls in found if hasattr(cls, "errno")}
    assert by_number.keys() >= set(range(-1, 128))  # it knows none above 127
    for number in range(-1, 128):
        code, cls = ErrorCode(number), by_number[number]
        assert SPELLED_THEIR_WAY.get(cls.message, cls.message) == code.name
        # CorruptRecordException is a RetriableException in Apache Kafka, whatever kafka-python does with it.
        assert code.retriable == (bool(getattr(cls, "retriable", False)) or code is ErrorCode.CORRUPT_MESSAGE)


def test_what_a_group_client_retries():
    retried = {code for code in ErrorCode if code.retriable}
    assert {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE} <= retried
    assert ErrorCode.NOT_COORDINATOR in retried
    assert not retried & {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID}
