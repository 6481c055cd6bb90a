"""Whatever a control's methods are called with: what cannot be is one sentence, and changes nothing."""

import pytest

from kcoord.control import ControlError, TimedOut
from kcoord.control.brokers import BrokersControl
from kcoord.control.clock import ClockControl
from kcoord.control.faults import FaultsControl
from kcoord.control.groups import GroupsControl
from kcoord.control.timeline import CheckedTimeline, TimelineControl
from kcoord.control.topics import TopicsControl
from tests.control.wrong import WRONG, awaited_refusal, check, refusal, written, wrong_calls

INSIDE = {
    GroupsControl: ("delete_all", "lately"),
    TimelineControl: ("story", "forget"),
}
"""What only the control itself calls."""


def snapshot(control):
    return (
        control.groups.list(),
        control.topics.list(),
        control.brokers.list(),
        control.faults.list(),
        control.clock.now(),
        control.clock.is_frozen,
        [str(control.timeline.of(each)) for each in control.timeline.groups()],
    )


@pytest.mark.parametrize(
    ("part", "cls"),
    [
        ("clock", ClockControl),
        ("groups", GroupsControl),
        ("topics", TopicsControl),
        ("faults", FaultsControl),
        ("brokers", BrokersControl),
        ("timeline", TimelineControl),
    ],
)
async def test_nothing_happens(autojump_clock, bench, part, cls):
    control = bench.control
    control.faults.add({"api": "Heartbeat", "error": 27, "member": "nobody"})
    await bench.stable(bench.consumer("a", instance="i1"))
    control.clock.freeze()
    before = snapshot(control)
    walked = set()
    for method, how, expected in wrong_calls(cls, *INSIDE.get(cls, ())):
        error = await awaited_refusal(getattr(getattr(control, part), method), **how)
        check(error, expected, method, how)
        assert snapshot(control) == before, f"{method} takes {written(how)}"
        walked.add(method)
    assert walked


async def test_a_story(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    timeline = bench.control.timeline.of("g")
    walked = 0
    for method, how, expected in wrong_calls(CheckedTimeline):
        check(refusal(getattr(timeline, method), **how), expected, method, how)
        walked += 1
    assert walked > len(WRONG["most_events"])
    assert timeline.text(most_events=2**31 - 1) == timeline.text(most_events=None) == str(timeline)
    assert timeline.text(most_events=0).endswith(f"\n  ... {len(timeline.events)} earlier ones are left out ...")


async def test_a_sentence_is_one_line_whatever_names_are_in_it(autojump_clock, bench):
    name = "a\nb\x1b[2J\u2028"
    for call in (
        lambda: bench.groups.get(name),
        lambda: bench.topics.get(name),
        lambda: bench.control.timeline.of(name),
        lambda: bench.topics.create(name),
        lambda: bench.control.faults.add({name: 1}),
    ):
        with pytest.raises(ControlError) as caught:
            call()
        assert str(caught.value).isprintable()
        assert r"a\nb\x1b[2J" in str(caught.value)
    with pytest.raises(TimedOut) as caught:
        await bench.groups.wait(name, members=1, timeout=1)
    assert (
        str(caught.value).splitlines()[0].startswith(r"group a\nb\x1b[2J\u2028 did not become of 1 member within 1 s")
    )
