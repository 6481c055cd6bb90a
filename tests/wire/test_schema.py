"""The declarations against Kafka's own definition files, as the kafka-python wheel carries them."""

import re

import pytest

from tests.wire import samples
from tests.wire.foreign import definition
from wire import messages
from wire.payloads import Assignment, Subscription, TopicPartitions
from wire.schema import INT32, STRING, Array, Primitive, Struct, Versions, field, struct

NEVER = Versions.parse("none")

KAFKAS_NAMES = {
    "OffsetForLeaderPartitionResult": "EpochEndOffset",
    "IncrementalAlterConfigsResource": "AlterConfigsResource",
    "IncrementalAlterableConfig": "AlterableConfig",
}
"""The structs that have another name here, because Kafka has two of that name."""


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def type_name(of):
    if isinstance(of, Array):
        return "[]" + type_name(of.item)
    if isinstance(of, Primitive):
        return of.value.replace("boolean", "bool")
    return KAFKAS_NAMES.get(of.__name__, of.__name__)


def their_default(row):
    text, of = str(row.get("default", "")), row["type"]
    if text == "null":
        return None
    if of.startswith("[]"):
        assert text == ""
        return []
    if of == "bool":
        return text.lower() == "true"
    if of.startswith("int"):
        return int(text or "0", 0)
    return {"string": "", "bytes": b"", "records": b"", "uuid": samples.NO_UUID}.get(of)


def table(rows, version, flexible):
    """What Kafka's file says of one version: a row a field."""
    out = []
    for row in rows:
        if version not in Versions.parse(row["versions"]):
            continue
        tagged = version in Versions.parse(row.get("taggedVersions", "none"))
        nested = table(row["fields"], version, flexible) if "fields" in row else None
        nullable = version in Versions.parse(row.get("nullableVersions", "none"))
        out.append((snake(row["name"]), row["type"], nullable, row["tag"] if tagged else None, nested))
    return out


def our_table(cls, version, flexible):
    out = []
    for f in cls.FIELDS:
        if version not in f.versions:
            continue
        item = f.type.item if isinstance(f.type, Array) else f.type
        nested = None if isinstance(item, Primitive) else our_table(item, version, flexible)
        out.append((f.name, type_name(f.type), version in f.nullable, f.tag, nested))
    return out


@pytest.mark.parametrize(("cls", "version"), samples.PAIRS, ids=samples.pair_id)
def test_every_version_has_kafkas_fields(cls, version):
    theirs = definition(cls.__name__)
    flexible = version in Versions.parse(theirs["flexibleVersions"])
    assert (version in cls.FLEXIBLE) == flexible
    assert our_table(cls, version, flexible) == table(theirs["fields"], version, flexible)
    assert flexible or not any(f.tag is not None and version in f.versions for f in cls.FIELDS)


@pytest.mark.parametrize("cls", samples.CLASSES, ids=samples.pair_id)
def test_keys_ranges_defaults_and_ignorable_are_kafkas(cls):
    theirs = definition(cls.__name__)
    assert theirs["apiKey"] == cls.API_KEY
    assert Versions.parse(theirs["validVersions"]) == cls.VERSIONS
    assert Versions.parse(theirs["flexibleVersions"]) == cls.FLEXIBLE
    assert cls.__name__.endswith(theirs["type"].capitalize())
    compare_rows(cls, theirs["fields"])


def compare_rows(cls, rows):
    assert [f.name for f in cls.FIELDS] == [snake(row["name"]) for row in rows]
    for f, row in zip(cls.FIELDS, rows, strict=True):
        assert f.ignorable == row.get("ignorable", False), f.name
        item = f.type.item if isinstance(f.type, Array) else f.type
        if not isinstance(item, Primitive):
            compare_rows(item, row["fields"])
        if isinstance(f.default, Struct):
            assert f.default == f.type()
        else:
            assert f.default == their_default(row), f.name
            assert type(f.default) is type(their_default(row)), f.name


@pytest.mark.parametrize(
    ("cls", "name"), [(Subscription, "ConsumerProtocolSubscription"), (Assignment, "ConsumerProtocolAssignment")]
)
def test_the_consumer_protocol_is_kafkas(cls, name):
    theirs = definition(name)
    assert Versions.parse(theirs["validVersions"]) == cls.VERSIONS
    assert cls.FLEXIBLE == NEVER == Versions.parse(theirs["flexibleVersions"])
    for f, row in zip(cls.FIELDS, theirs["fields"], strict=True):
        assert f.name == snake(row["name"])
        assert type_name(f.type).replace("TopicPartitions", "TopicPartition") == row["type"]
        assert f.versions == Versions.parse(row["versions"])
        assert f.nullable == Versions.parse(row.get("nullableVersions", "none"))
        assert f.ignorable == row.get("ignorable", False)
        assert f.default == (() if isinstance(f.type, Array) else their_default(row))
    assert [f.name for f in TopicPartitions.FIELDS] == ["topic", "partitions"]


def test_requests_and_responses_are_paired():
    assert len(messages.REQUESTS) == 31
    for key, request in messages.REQUESTS.items():
        assert request.API_KEY == request.RESPONSE.API_KEY == key
        assert request.VERSIONS == request.RESPONSE.VERSIONS
        assert request.__name__.replace("Request", "Response") == request.RESPONSE.__name__


def test_every_message_class_is_exported():
    for cls in samples.CLASSES:
        assert cls.__name__ in messages.__all__
        assert "| version | added |" in cls_module_doc(cls) or Versions(0, 0) == cls.VERSIONS


def cls_module_doc(cls):
    return __import__(cls.__module__, fromlist=["_"]).__doc__


@pytest.mark.parametrize(
    ("text", "versions"),
    [("3", [3]), ("0-2", [0, 1, 2]), ("none", []), ("32766+", [32766, 32767])],
)
def test_versions(text, versions):
    parsed = Versions.parse(text)
    assert list(parsed) == versions
    assert all(version in parsed for version in versions)
    assert -1 not in parsed


def test_versions_that_are_none():
    with pytest.raises(ValueError):
        Versions.parse("x")


def test_mutable_defaults_are_not_shared():
    one, other = messages.JoinGroupRequest(), messages.JoinGroupRequest()
    one.protocols.append(messages.JoinGroupRequestProtocol())
    assert other.protocols == []
    assert messages.FetchRequest().replica_state is not messages.FetchRequest().replica_state


def test_messages_have_slots():
    with pytest.raises(AttributeError):
        messages.HeartbeatRequest().group = "g"


def test_only_what_has_a_null_on_the_wire_can_be_nullable():
    with pytest.raises(TypeError, match=r"Wrong\.number cannot be null"):

        @struct
        class Wrong(Struct):
            number: int = field(INT32, nullable="0+")

    with pytest.raises(TypeError, match=r"Tagged\.cursor cannot be null"):

        @struct
        class Tagged(Struct):
            cursor: messages.Cursor | None = field(messages.Cursor, nullable="0+", default=None, tag=0)


def test_the_order_of_fields_is_the_order_of_the_class():
    @struct
    class Two(Struct):
        last: str = field(STRING)
        first: int = field(INT32, default=4)

    assert [f.name for f in Two.FIELDS] == ["last", "first"]
    assert (Two().last, Two().first) == ("", 4)
