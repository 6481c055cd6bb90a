"""Leaders' epochs, against what Apache Kafka 4.4.0 answered after restarts, each of which began two epochs."""

import pytest

from kcoord.log.epochs import LeaderEpochs
from kcoord.log.memory import LogMemory
from kcoord.log.partition import Partition
from kcoord.log.topic_config import TopicConfig
from tests.records import NOW, good
from wire.records import read_header, split


def ends(epochs, start, end, *asked):
    return {epoch: epochs.end_of(epoch, start, end) for epoch in asked}


def of_two_restarts():
    """Three records, a restart, none, another one."""
    epochs = LeaderEpochs()
    epochs.begin(2, 3)
    epochs.begin(4, 3)
    return epochs


NOTHING = (-1, -1)


def test_of_the_first_leader_all_is_known():
    assert ends(LeaderEpochs(), 0, 3, -2, -1, 0, 1) == {-2: (-2, 0), -1: NOTHING, 0: (0, 3), 1: NOTHING}
    assert ends(LeaderEpochs(), 2, 3, -2, 0) == {-2: (-2, 2), 0: (0, 3)}


def test_an_epoch_ends_where_the_next_one_begins():
    epochs = LeaderEpochs()
    epochs.begin(2, 3)
    assert ends(epochs, 0, 3, -2, 0, 1, 2, 3) == {-2: (-2, 0), 0: (0, 3), 1: (0, 3), 2: (2, 3), 3: NOTHING}


def test_an_epoch_without_records_leaves_no_trace():
    found = ends(of_two_restarts(), 0, 5, 0, 1, 2, 3, 4, 5)
    assert found == {**dict.fromkeys((0, 1, 2, 3), (0, 3)), 4: (4, 5), 5: NOTHING}


def test_before_the_first_record_there_was_nobody():
    epochs = LeaderEpochs()
    epochs.begin(1, 0)
    epochs.begin(2, 0)
    assert ends(epochs, 0, 4, 0, 1, 2) == {0: (0, 0), 1: (1, 0), 2: (2, 4)}


@pytest.mark.parametrize("start", [3, 4])
def test_epochs_whose_records_are_gone_ended_where_the_log_begins(start):
    epochs = of_two_restarts()
    assert ends(epochs, start, 5, -2, 0, 3, 4) == {-2: (-2, start), 0: (0, start), 3: (3, start), 4: (4, 5)}
    epochs.begin(6, 5)
    assert ends(epochs, start, 5, 0, 3, 4, 5, 6) == {0: (0, start), 3: (3, start), 4: (4, 5), 5: (4, 5), 6: (6, 5)}


def test_what_is_at_an_offset_was_written_in_the_epoch_that_had_begun_there():
    assert [of_two_restarts().at(offset) for offset in (0, 2, 3, 5)] == [0, 0, 4, 4]


def test_records_are_of_the_epoch_in_which_they_were_written():
    log = Partition("t", 0, TopicConfig(), LogMemory(None))
    log.append(good(3), NOW, version=9)
    log.append_own([(b"k", b"v")], NOW)
    log.lead_anew()
    assert (log.leader_epoch, log.end_of_epoch(0), log.end_of_epoch(1)) == (1, (0, 4), (1, 4))
    log.append(good(2), NOW, version=9)
    log.lead_anew()
    assert [log.end_of_epoch(epoch) for epoch in range(4)] == [(0, 4), (1, 6), (2, 6), NOTHING]
    found = [read_header(each).leader_epoch for each in split(log.read(0, 10_000, at_least_one=True))]
    assert found == [0, 0, 1]
    assert [log.epoch_at(offset) for offset in (0, 3, 4, 5, 6)] == [0, 0, 1, 1, 2]
    log.delete_before(5)
    assert [log.end_of_epoch(epoch) for epoch in range(3)] == [(0, 5), (1, 6), (2, 6)]
