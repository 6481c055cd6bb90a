"""What happened in words, and what it came to."""

from kcoord.core import notes
from kcoord.demo.scene import Scene
from kcoord.demo.stories import Kind
from kcoord.demo.words import ending, entries_of, head
from kcoord.timeline import Timeline


def told(scene):
    return [f"{entry.at:g} {entry.text}" for entry in entries_of(scene)]


def test_each_rebalance_says_why_and_whom_it_waits_for(eager):
    assert told(eager.scene(3.5)) == [
        "0 a starts",
        "0.25 rebalance: new member a joined",
        "0.5 generation 1: a has 0 1 2",
        "1.5 b starts",
        "1.75 rebalance: new member b joined; it waits for a",
        "2.5 generation 2: a has 0 1, b has 2",
    ]


def test_what_is_added_later_comes_behind(crash):
    everything = told(crash.scene(48.0))
    for count in range(len(crash.events)):
        events = crash.events[:count]
        until = events[-1].at if events else 0.0
        earlier = Scene(
            Timeline("g", events, until) if events else None,
            [each for each in crash.deeds if each.at <= until],
            "ab",
            until,
        )
        words = told(earlier)
        assert [each.split()[0] for each in words] == [each.split()[0] for each in everything[: len(words)]]


def test_a_crash(crash):
    assert told(crash.scene(48.0))[4:] == [
        "1.5 b is killed (SIGKILL), without a word to the server",
        "2 the server's clock is moved forward by 45 s, so that nobody has to wait",
        "47 b is put out: no heartbeat within the session timeout",
        "47 rebalance: removing member b on heartbeat expiration; it waits for a",
        "47.25 generation 2: a has 0 1",
    ]


def test_who_stalls_leaves_by_itself(telling):
    telling.do(0.0, Kind.START, "a").join(0.0, "a").rebalance(0.0, 0, "new member a-1 joined")
    telling.generation(0.25, 1, a=(0, 1)).do(1.0, Kind.STALL, "a").leave(2.0, "a")
    telling.note(2.0, notes.GroupEmptied, generation=2)
    assert told(telling.scene(3.0))[-2:] == [
        "2 a leaves the group: its client does so by itself, when max.poll.interval.ms is over without a poll",
        "2 generation 2: nobody is left",
    ]


def test_the_end_of_an_eager_story(eager):
    scene = eager.scene(3.5)
    assert ending(scene, eager.timeline(3.5)) == [
        "In 3.5 s the group went through 2 generations:",
        "  1  new member a joined",
        "  2  new member b joined; waited 0.2 s for a (rejoined); 1 partition moved",
        "Eager: all gave up everything before they joined again, in generation 2.",
        "Stood still: a 0.50 s.",
        "Longest unread: nobody read t-0 for 0.5 s.",
        "Findings: none.",
    ]


def test_the_end_of_a_cooperative_story(cooperative):
    scene = cooperative.scene(3.5)
    assert ending(scene, cooperative.timeline(3.5)) == [
        "In 3.5 s the group went through 3 generations:",
        "  1  new member a joined",
        "  2  new member b joined; waited 0.2 s for a (rejoined); 1 partition moved",
        (
            "  3  member a joined again (its second step: what was given up is handed out);"
            " waited 0.2 s for b (rejoined); 1 partition moved"
        ),
        "Cooperative: members kept what they did not have to hand over, in generations 2, 3.",
        "Stood still: nobody.",
        "Partitions that were read without a pause: 2 in generation 2, 2 in generation 3.",
        "Longest unread: nobody read t-2 for 1.0 s.",
        "Findings: none.",
    ]


def test_the_end_of_a_crash_tells_of_the_clock(crash):
    lines = ending(crash.scene(48.0), crash.timeline(48.0))
    assert lines[0] == "In 48.0 s (45 s of them the clock was moved by) the group went through 2 generations:"
    assert "  2  removing member b on heartbeat expiration; waited 0.2 s for a (rejoined); 1 partition moved" in lines
    assert "Longest unread: nobody read t-1 for 46.8 s." in lines


def test_a_return_without_a_rebalance(telling):
    telling.do(0.0, Kind.START, "a").join(0.0, "a", instance="a").rebalance(0.0, 0, "new member a-1 joined")
    telling.generation(0.25, 1, a=(0, 1)).do(1.0, Kind.STOP, "a").do(2.5, Kind.START, "a")
    telling.note(3.0, notes.StaticMemberReplaced, member="a-2", instance="a", replaced="a-1", client_id="a", host="h")
    scene = telling.scene(4.0)
    assert "a came back after 2.0 s, without a rebalance." in ending(scene, telling.timeline(4.0))
    assert told(scene)[-1] == "3 a is back, in its own place, under a new member id"


def test_a_partition_with_two_owners_is_told(telling):
    telling.join(0.0, "a").join(0.0, "b").rebalance(0.0, 0, "new member a-1 joined").generation(0.5, 1, a=(0,), b=(0,))
    (line,) = (each for each in ending(telling.scene(1.0), telling.timeline(1.0)) if each.startswith("Findings"))
    assert line == "Findings: assigned twice: a, the leader, assigned t-0 to a, b."


def test_the_head_of_a_timeline_ends_before_its_rebalances(eager):
    lines = head(eager.timeline(3.5)).splitlines()
    assert lines[0] == "Group g: Stable, generation 2 (range), 2 members: a, b"
    assert lines[-1] == "Findings: none."
