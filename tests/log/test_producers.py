"""Idempotent producers: what is a repetition, what is out of order, who has been replaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcoord.log.memory import LogMemory
from kcoord.log.producers import BATCHES_KEPT, EXPIRATION_MS, Producers, last_sequence
from kcoord.log.validation import Refused
from tests.records import INT32_MAX, NOW, good
from wire.errors import ErrorCode
from wire.records import at_offset, read_header

OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
ID = 7


class Log:
    """Counts offsets up; `send` tells what a batch gets: its offset, or why not."""

    def __init__(self):
        self.memory = LogMemory()
        self.producers = Producers(self.memory)
        self.end = 0

    def send(self, epoch, sequence, count=1, producer=ID, time=NOW):
        batch = good(count, producer=(producer, epoch, sequence), time=time)
        try:
            repeated = self.producers.check(read_header(batch), self.end, "t-0")
        except Refused as refused:
            self.refused = refused
            return refused.code
        if repeated is not None:
            assert repeated.last_offset - repeated.first_offset + 1 == count
            return ("again", repeated.first_offset)
        header = read_header(at_offset(batch, self.end, 0))
        self.producers.remember(header)
        self.end += count
        return header.base_offset


@pytest.mark.parametrize(("epoch", "sequence"), [(0, 0), (0, 7), (5, 100), (32767, INT32_MAX), (-1, 9)])
def test_a_new_producer_may_begin_anywhere(epoch, sequence):
    assert Log().send(epoch, sequence) == 0


def test_an_epoch_below_none_is_over():
    assert Log().send(-5, 0) is OLD_EPOCH


def test_what_follows_repeats_or_does_not():
    log = Log()
    assert [log.send(0, 7, 3), log.send(0, 10, 3)] == [0, 3]
    assert log.send(0, 99) is OUT_OF_ORDER
    assert log.refused.message is None
    assert log.refused.reason.startswith(
        f"sequence 99 of producer {ID} at offset 6 in partition t-0 is out of order: 13"
    )
    assert log.send(0, 10, 3) == ("again", 3)
    assert log.send(0, 7, 3) == ("again", 0)
    assert log.send(0, 11, 3) is OUT_OF_ORDER
    assert log.send(0, 10, 2) is OUT_OF_ORDER
    assert log.send(0, 13, 3) == 6


def test_five_batches_are_known():
    log = Log()
    for sequence in range(BATCHES_KEPT + 1):
        assert log.send(0, sequence) == sequence
    assert log.send(0, 0) is OUT_OF_ORDER
    assert [log.send(0, sequence) for sequence in range(1, 6)] == [("again", offset) for offset in range(1, 6)]


def test_a_new_epoch_begins_at_0_and_ends_the_old_one():
    log = Log()
    assert log.send(0, 0, 3) == 0
    assert log.send(2, 5) is OUT_OF_ORDER
    assert log.send(0, 3) == 3
    assert log.send(2, 0) == 4
    assert log.send(1, 0) is OLD_EPOCH
    assert log.send(0, 3) is OLD_EPOCH
    assert log.send(2, 0) == ("again", 4)
    assert log.send(2, 1) == 5


def test_without_an_epoch_any_sequence_does():
    log = Log()
    assert [log.send(-1, 0), log.send(-1, 0), log.send(-1, 99), log.send(0, 5)] == [0, ("again", 0), 1, 2]
    assert log.send(0, 99) is OUT_OF_ORDER


def test_sequences_begin_again():
    log = Log()
    assert log.send(0, INT32_MAX - 1, 2) == 0
    assert log.send(0, 0) == 2
    inside = Log()
    assert inside.send(0, INT32_MAX, 3) == 0
    assert inside.send(0, INT32_MAX, 3) == ("again", 0)
    assert inside.send(0, 2) == 3
    early = Log()
    assert early.send(0, INT32_MAX - 2, 2) == 0
    assert early.send(0, 0) is OUT_OF_ORDER
    assert early.send(0, INT32_MAX) == 2
    assert last_sequence(read_header(good(3, producer=(1, 0, INT32_MAX)))) == 1


def test_producers_do_not_disturb_each_other():
    log = Log()
    assert [log.send(0, 0, producer=1), log.send(0, 0, producer=2), log.send(0, 1, producer=1)] == [0, 1, 2]


def test_producers_are_forgotten_by_the_time_of_their_last_batch():
    log = Log()
    log.send(0, 0, producer=1, time=NOW - 5)
    log.send(0, 1, producer=1, time=NOW)
    log.send(0, 0, producer=2, time=NOW - 1)
    log.send(0, 0, producer=3, time=-1)
    assert log.memory.used == 3 * LogMemory.PRODUCER_SIZE
    log.producers.expire(NOW + EXPIRATION_MS - 1)
    assert [each in log.producers for each in (1, 2, 3)] == [True, False, False]
    assert len(log.producers) == 1
    assert log.memory.used == LogMemory.PRODUCER_SIZE
    assert log.send(0, 99, producer=2) == 4
    log.producers.clear()
    assert (len(log.producers), log.memory.used) == (0, 0)


class Counting(dict):
    """Knows how often all of it was looked through."""

    times = 0

    def items(self):
        self.times += 1
        return super().items()


def test_producers_are_looked_through_only_if_one_may_be_gone():
    """When memory is full, that is asked for each batch that is refused."""
    log = Log()
    known = log.producers._by_id = Counting()
    for ask in range(3):
        log.producers.expire(NOW + ask * EXPIRATION_MS)
    log.send(0, 0, producer=1, time=NOW)
    log.send(0, 0, producer=2, time=NOW + 1000)
    for _ in range(100):
        log.producers.expire(NOW + EXPIRATION_MS - 1)
    assert known.times == 0
    log.producers.expire(NOW + EXPIRATION_MS)
    assert (known.times, list(known)) == (1, [2])
    for _ in range(100):
        log.producers.expire(NOW + EXPIRATION_MS + 999)
    assert known.times == 1
    log.send(0, 1, producer=2, time=NOW)
    log.producers.expire(NOW + EXPIRATION_MS)
    assert (known.times, list(known)) == (2, [])
    log.producers.expire(NOW + 9 * EXPIRATION_MS)
    assert known.times == 2


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=20))
def test_a_producer_that_sends_all_again_changes_nothing(sent):
    log = Log()
    sequence = INT32_MAX - 10
    history = []
    for count, twice in sent:
        offset = log.end
        assert log.send(0, sequence, count) == offset
        history.append((sequence, count, offset))
        if twice:
            for known_sequence, known_count, known_offset in history[-BATCHES_KEPT:]:
                assert log.send(0, known_sequence, known_count) == ("again", known_offset)
        sequence = (sequence + count) % 2**31
