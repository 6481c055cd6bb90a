"""What rides inside bytes: the consumer protocol in group messages, and the records of the offsets topic.

Every one begins with an INT16 version of its own. They are declared in the language of `wire.schema` and read and
written by `wire.codec`; unlike messages they are immutable, because they are kept.

The consumer protocol (`ConsumerProtocolSubscription`, `ConsumerProtocolAssignment`) is what members of type
"consumer" say to each other through the coordinator, which carries it unread, with one exception: see
`subscribed_topics`. Assignors of Streams, Connect or other clients may put anything else there.

The offsets topic (`__consumer_offsets`) holds key and value of an offset or of a group. A key without a value is a
tombstone. Keys 0 and 1 are offsets, 2 is a classic group; other key versions belong to other kinds of groups.
"""

import struct
from typing import Final, TypeVar

from wire.codec import encode, reader
from wire.errors import Truncated
from wire.schema import BYTES, INT32, INT64, STRING, Array, Versioned, field, payload

_V = TypeVar("_V", bound=Versioned)

_VERSION: Final = struct.Struct(">h")


# The consumer protocol


@payload(versions="0-3")
class TopicPartitions(Versioned):
    """Partitions of one topic."""

    topic: str = field(STRING)
    partitions: tuple[int, ...] = field(Array(INT32, tuple))


@payload(versions="0-3")
class Subscription(Versioned):
    """What a consumer brings to an assignment.

    v1 the partitions it still owns (KIP-429). v2 the generation it owned them in (KIP-792). v3 its rack (KIP-881).
    """

    topics: tuple[str, ...] = field(Array(STRING, tuple))
    user_data: bytes | None = field(BYTES, nullable="0+", default=None)
    owned_partitions: tuple[TopicPartitions, ...] = field(Array(TopicPartitions, tuple), "1+", ignorable=True)
    generation_id: int = field(INT32, "2+", default=-1, ignorable=True)
    rack_id: str | None = field(STRING, "3+", nullable="3+", default=None, ignorable=True)


@payload(versions="0-3")
class Assignment(Versioned):
    """What a consumer is given. All four versions are the same bytes."""

    assigned_partitions: tuple[TopicPartitions, ...] = field(Array(TopicPartitions, tuple))
    user_data: bytes | None = field(BYTES, nullable="0+", default=None)


def encode_subscription(subscription: Subscription, version: int = 3) -> bytes:
    """Write a subscription, by default in the newest version, as the Java client does.

    Raises:
        Unsupported: There is no such version.
        Unsendable: A value is out of range for its type.

    """
    return _encode(subscription, version)


def decode_subscription(data: bytes) -> Subscription:
    """Read a subscription; of a version newer than 3 the part that 3 knows (Apache Kafka, `ConsumerProtocol`).

    Raises:
        WireError: `data` holds none, or its version is negative.

    """
    return _decode_lenient(Subscription, data)


def encode_assignment(assignment: Assignment, version: int = 3) -> bytes:
    """Write an assignment, by default in the newest version, as the Java client does.

    Raises:
        Unsupported: There is no such version.
        Unsendable: A value is out of range for its type.

    """
    return _encode(assignment, version)


def decode_assignment(data: bytes) -> Assignment:
    """Read an assignment; no bytes at all mean that nothing is assigned.

    Raises:
        WireError: `data` holds none, or its version is negative.

    """
    return _decode_lenient(Assignment, data) if data else Assignment()


def subscribed_topics(metadata: bytes) -> frozenset[str]:
    """Read which topics a member of type "consumer" subscribes to, out of its JoinGroup metadata.

    Whatever version is stated, version 0 is read, which every later one begins with (Apache Kafka,
    `ClassicGroup.computeSubscribedTopics`).

    Raises:
        WireError: The topics or the user data behind them are not readable.

    """
    _read_version(metadata)
    subscription, _ = reader(Subscription, 0)(metadata, _VERSION.size)
    return frozenset(subscription.topics)


# The offsets topic


@payload(versions="0-1")
class OffsetCommitKey(Versioned):
    """The key of a committed offset. Versions 0 and 1 are the same bytes; 1 is written."""

    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


@payload(versions="0-4", flexible="4+")
class OffsetCommitValue(Versioned):
    """A committed offset. Timestamps are in ms since the epoch.

    v1 an explicit expire_timestamp (-1: none), which v2 took away again: expiry is computed (KIP-211). v3 leader_epoch
    (-1: none; KIP-320). v4 flexible (KIP-915).
    """

    offset: int = field(INT64)
    leader_epoch: int = field(INT32, "3+", default=-1, ignorable=True)
    metadata: str = field(STRING)
    commit_timestamp: int = field(INT64)
    expire_timestamp: int = field(INT64, "1", default=-1, ignorable=True)


@payload(versions="2")
class GroupMetadataKey(Versioned):
    """The key of a classic group."""

    group: str = field(STRING)


@payload(versions="0-4", flexible="4+")
class MemberMetadata(Versioned):
    """A member of a stored group. Timeouts are in ms; v0 has no rebalance_timeout (-1: the session timeout serves).

    `subscription` is the member's metadata for the selected protocol, `assignment` what the leader gave it.
    """

    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", nullable="3+", default=None, ignorable=True)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout: int = field(INT32, "1+", default=-1, ignorable=True)
    session_timeout: int = field(INT32)
    subscription: bytes = field(BYTES)
    assignment: bytes = field(BYTES)


@payload(versions="0-4", flexible="4+")
class GroupMetadataValue(Versioned):
    """A classic group as of its newest generation; without members it is Empty.

    v1 rebalance_timeout of members. v2 current_state_timestamp (ms since the epoch; -1: none; KIP-211). v3
    group_instance_id of members (KIP-345). v4 flexible (KIP-915).
    """

    protocol_type: str = field(STRING)
    generation: int = field(INT32)
    protocol: str | None = field(STRING, nullable="0+", default=None)
    leader: str | None = field(STRING, nullable="0+", default=None)
    current_state_timestamp: int = field(INT64, "2+", default=-1, ignorable=True)
    members: tuple[MemberMetadata, ...] = field(Array(MemberMetadata, tuple))


Key = OffsetCommitKey | GroupMetadataKey
Value = OffsetCommitValue | GroupMetadataValue


def encode_key(key: Key) -> bytes:
    """Write the key of a record of the offsets topic.

    Raises:
        Unsendable: A value is out of range for its type.

    """
    return _encode(key, key.VERSIONS.highest)


def encode_value(value: Value) -> bytes:
    """Write the value of a record of the offsets topic.

    Version 3 is written, which every broker since 2.3 reads; but an offset with an explicit expiry needs version 1,
    which has no leader epoch (Apache Kafka, `GroupCoordinatorRecordHelpers`).

    Raises:
        Unsendable: A value is out of range for its type.

    """
    explicit_expiry = isinstance(value, OffsetCommitValue) and value.expire_timestamp != -1
    return _encode(value, 1 if explicit_expiry else 3)


def decode_key(data: bytes) -> Key | None:
    """Read the key of a record of the offsets topic; `None` if it is of a kind not known here, to be passed over.

    Raises:
        Truncated, UnexpectedNull: `data` holds no key.

    """
    version = _read_version(data)
    if version in OffsetCommitKey.VERSIONS:
        return reader(OffsetCommitKey, version)(data, _VERSION.size)[0]
    if version in GroupMetadataKey.VERSIONS:
        return reader(GroupMetadataKey, version)(data, _VERSION.size)[0]
    return None


def decode_value(key: Key, data: bytes) -> Value:
    """Read the value that belongs to a key.

    Raises:
        Unsupported: It is of a version not known here. Unlike an unknown key that is an error, because what it says
            about a known group would be lost.
        Truncated, BadLength, UnexpectedNull: `data` holds no such value.

    """
    cls: type[Value] = OffsetCommitValue if isinstance(key, OffsetCommitKey) else GroupMetadataValue
    return reader(cls, _read_version(data))(data, _VERSION.size)[0]


def _encode(value: Versioned, version: int) -> bytes:
    body = encode(value, version)
    return _VERSION.pack(version) + body


def _decode_lenient(cls: type[_V], data: bytes) -> _V:
    version = min(_read_version(data), cls.VERSIONS.highest)
    return reader(cls, version)(data, _VERSION.size)[0]


def _read_version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise Truncated(f"{len(data)} bytes where a version should be")
    version: int = _VERSION.unpack_from(data)[0]
    return version
