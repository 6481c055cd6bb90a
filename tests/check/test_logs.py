"""What scripts about records share."""

import pytest

from kcoord.check.logs import batch, whole
from wire.records import CorruptRecords

FIRST, SECOND = batch(b"first"), batch(b"second", b"third")


@pytest.mark.parametrize("more", range(len(SECOND)))
def test_a_fetch_may_bring_a_part_of_its_last_batch(more):
    """Apache Kafka fills the answer up; whatever fits is there."""
    assert whole(FIRST + SECOND[:more]) == [FIRST]
    assert whole(SECOND[:more]) == []


def test_whole_batches_are_all_there():
    assert whole(b"") == []
    assert whole(FIRST + SECOND) == [FIRST, SECOND]


def test_what_is_no_batch_is_refused():
    with pytest.raises(CorruptRecords, match="magic"):
        whole(bytes(100))
