"""Named deadlines."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcoord.core import timers as timers_module
from kcoord.core.timers import Timers


def due(timers, now):
    """Everything that is due by `now`, in the order in which it comes out."""
    found = []
    while (one := timers.pop_due(now)) is not None:
        found.append(one)
    return found


def test_the_earliest_comes_first_whatever_the_order_of_setting():
    timers = Timers()
    for name, deadline in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
        timers.set(name, deadline)
    assert due(timers, 2.5) == [("a", 1.0), ("b", 2.0)]
    assert due(timers, 3.0) == [("c", 3.0)]
    assert len(timers) == 0


def test_a_deadline_is_due_at_its_moment_and_not_before():
    timers = Timers()
    timers.set("a", 1.0)
    assert timers.pop_due(0.999) is None
    assert timers.pop_due(1.0) == ("a", 1.0)
    assert timers.pop_due(99.0) is None


def test_setting_a_name_again_moves_it_in_both_directions():
    timers = Timers()
    timers.set("a", 1.0)
    timers.set("a", 5.0)
    assert due(timers, 4.0) == []
    timers.set("a", 4.5)
    assert due(timers, 4.5) == [("a", 4.5)]
    assert due(timers, 99.0) == []


def test_of_equal_deadlines_the_one_set_first_is_due_first_and_moving_counts_as_setting():
    timers = Timers()
    timers.set("a", 1.0)
    timers.set("b", 9.0)
    timers.set("a", 9.0)
    timers.set("c", 9.0)
    assert [name for name, _ in due(timers, 9.0)] == ["b", "a", "c"]


def test_a_cancelled_name_never_comes_out_and_can_be_set_again():
    timers = Timers()
    timers.set("a", 1.0)
    timers.cancel("a")
    timers.cancel("never set")
    assert "a" not in timers
    assert timers.deadline("a") is None
    assert timers.next_deadline() is None
    assert due(timers, 9.0) == []
    timers.set("a", 2.0)
    assert timers.deadline("a") == 2.0
    assert due(timers, 9.0) == [("a", 2.0)]


def test_the_next_deadline_skips_what_is_no_longer_wanted():
    timers = Timers()
    assert timers.next_deadline() is None
    timers.set("a", 1.0)
    timers.set("b", 2.0)
    timers.cancel("a")
    assert timers.next_deadline() == 2.0


def test_a_session_that_is_extended_a_thousand_times_takes_one_place():
    timers = Timers()
    for beat in range(1000):
        timers.set("session", 10.0 + beat)
    assert len(timers._heap) == 1
    assert due(timers, 1008.0) == []
    assert due(timers, 1009.0) == [("session", 1009.0)]


def test_order_survives_when_the_heap_is_made_anew():
    timers: Timers[str] = Timers()
    for name, deadline in (("late", 900.0), ("later", 950.0)):
        timers.set(name, deadline)
    for turn in range(100):
        timers.set("early", 800.0 - turn)
    assert len(timers._heap) < 100
    assert timers.next_deadline() == 701.0
    assert [name for name, _ in due(timers, 999.0)] == ["early", "late", "later"]


NAMES = st.sampled_from("abcd")
MOMENTS = st.integers(0, 40).map(lambda quarters: quarters / 4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), NAMES, MOMENTS),
        st.tuples(st.just("cancel"), NAMES, st.just(0.0)),
        st.tuples(st.just("advance"), st.just(""), MOMENTS),
    ),
    max_size=60,
)


@pytest.mark.parametrize("slack", [0, timers_module.SLACK])
@given(steps=STEPS)
def test_timers_do_what_a_dict_of_deadlines_does(slack, steps):
    """Also when the heap is made anew at every turn."""
    with patch.object(timers_module, "SLACK", slack):
        compare_with_a_dict(steps)


def compare_with_a_dict(steps):
    timers: Timers[str] = Timers()
    model: dict[str, tuple[float, int]] = {}
    now = 0.0
    for number, (verb, name, moment) in enumerate(steps):
        if verb == "set":
            timers.set(name, now + moment)
            model.pop(name, None)
            model[name] = (now + moment, number)
        elif verb == "cancel":
            timers.cancel(name)
            model.pop(name, None)
        else:
            now += moment
            expected = sorted((key for key in model if model[key][0] <= now), key=lambda key: model[key])
            assert due(timers, now) == [(key, model.pop(key)[0]) for key in expected]
        assert len(timers) == len(model)
        assert all(timers.deadline(key) == deadline for key, (deadline, _) in model.items())
        assert all((key in timers) == (key in model) for key in "abcd")
        # It may be early, never late, and it may not claim that something is due when nothing is left.
        told = timers.next_deadline()
        assert (told is None) == (not model)
        assert told is None or told <= min(deadline for deadline, _ in model.values())


@given(STEPS)
def test_after_everything_due_is_taken_the_next_deadline_lies_ahead(steps):
    timers: Timers[str] = Timers()
    now = 0.0
    for verb, name, moment in steps:
        if verb == "set":
            timers.set(name, now + moment)
        elif verb == "cancel":
            timers.cancel(name)
        else:
            now += moment
            due(timers, now)
            told = timers.next_deadline()
            assert told is None or told > now


def test_the_heap_stays_bounded_when_deadlines_are_set_and_cancelled_for_ever():
    timers: Timers[str] = Timers()
    for turn in range(10_000):
        # A group that rebalances over and over: a phase of five minutes is opened, and closed at once.
        timers.set("join", turn + 300.0)
        timers.cancel("join")
    timers.set("other", 10_000.0)
    assert len(timers._heap) <= 300


def test_the_heap_stays_bounded_when_a_deadline_goes_to_and_fro():
    timers: Timers[str] = Timers()
    for _ in range(10_000):
        timers.set("a", 300.0)
        timers.set("a", 10.0)
    assert len(timers._heap) <= 300
