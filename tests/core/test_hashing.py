"""Which partition a group belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcoord.core import hashing
from kcoord.core.hashing import java_string_hash, partition_for

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


@pytest.mark.parametrize(("group_id", "value", "partition"), VECTORS)
def test_b13_partition_mapping_vectors(group_id, value, partition):
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
