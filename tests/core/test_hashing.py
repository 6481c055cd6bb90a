"""Which partition a group belongs to, and where hash tables have the names of protocols."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcoord.core import hashing
from kcoord.core.hashing import (
    java_hash_map_place,
    java_string_hash,
    partition_for,
    scala_2_12_place,
    scala_2_13_place,
)

VECTORS = [
    ("", 0, 0),
    ("foo", 101_574, 24),
    ("bar", 97_299, 49),
    ("test", 3_556_498, 48),
    ("grp", 102_629, 29),
    ("my-group", -1_906_497_762, 12),
    ("group-1", 293_427_299, 49),
    ("ü", 252, 2),
    ("日本", 835_047, 47),
    ("😀", 1_772_899, 49),
    ("polygenelubricants", -(2**31), 0),
]

PLACES = [
    ("range", 4263624020, -15),
    ("roundrobin", 11801351, -9),
    ("sticky", 2942711636, -12),
    ("cooperative-sticky", 4148330561, -3),
    ("a", 4294388074, -7),
    ("b", 4294381394, -13),
    ("A", 4294667434, -12),
    ("default_0", 877727608, -12),
    ("connect", 3421088965, -2),
    ("v1", 4258274447, -9),
    ("stream", 598418164, -6),
    ("uniform", 1450659247, -8),
]
"""`Hashing.improve` of Scala 2.13.14, and the index in a `mutable.HashMap` of Scala 2.12.10, read from its end."""


@pytest.mark.parametrize(("group_id", "value", "partition"), VECTORS)
def test_partition_mapping_vectors(group_id, value, partition):
    assert java_string_hash(group_id) == value
    assert partition_for(group_id, 50) == partition


@given(st.text(st.characters(), max_size=20), st.integers(1, 100))
def test_a_partition_is_always_one_of_those_there_are(group_id, partitions):
    value = java_string_hash(group_id)
    assert -(2**31) <= value < 2**31
    assert 0 <= partition_for(group_id, partitions) < partitions


@given(st.text(max_size=8), st.text(max_size=8))
def test_the_hash_is_a_polynomial_over_utf16_units(left, right):
    units = len(right.encode("utf-16-be")) // 2
    joined = java_string_hash(left) * 31**units + java_string_hash(right)
    assert (java_string_hash(left + right) - joined) % 2**32 == 0


def test_a_lone_surrogate_counts_as_its_code_unit():
    assert java_string_hash("\ud83d") == 0xD83D


def test_names_of_usual_length_alone_are_remembered(monkeypatch):
    asked = []

    def remembering(text):
        asked.append(text)
        return java_string_hash(text)

    monkeypatch.setattr(hashing, "_usual_hash", remembering)
    names = ["x" * 256, "x" * 257]
    assert [partition_for(name, 50) for name in names] == [abs(java_string_hash(name)) % 50 for name in names]
    assert asked == names[:1]


@pytest.mark.parametrize(("name", "improved", "index"), PLACES)
def test_places_are_those_of_scalas_hash_tables(name, improved, index):
    place = scala_2_13_place(name, 2)
    assert len(place) == 7
    assert sum(five << 5 * nth for nth, five in enumerate(place)) == improved
    assert max(place) < 32
    assert scala_2_12_place(name, 2) == index


@pytest.mark.parametrize(
    ("name", "place"), [("range", 9), ("roundrobin", 10), ("sticky", 8), ("cooperative-sticky", 15), ("v1", 11)]
)
def test_places_are_those_of_javas_hash_table(name, place):
    assert java_hash_map_place(name, 2) == java_hash_map_place(name, 12) == place


@pytest.mark.parametrize(("strings", "place"), [(1, 8), (12, 8), (13, 24), (24, 24), (25, 56), (48, 56), (49, 56)])
def test_a_hash_table_of_java_grows_when_three_of_four_buckets_would_be_taken(strings, place):
    assert java_hash_map_place("sticky", strings) == place
