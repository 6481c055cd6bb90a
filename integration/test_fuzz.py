"""Random requests of several members, to kcoord and to Apache Kafka alike: see integration/fuzz and scripts/fuzz.py.

The sequences are the same each time; FUZZ_SEED=7 in the environment draws others, FUZZ_SEQUENCES=200 more of them.
"""

import math
import os
from dataclasses import replace

import pytest
import trio

from integration.fuzz.brokers import PROFILES, Profile, kcoord, met
from integration.fuzz.campaign import Campaign, Drawn, sure
from integration.fuzz.known import UNSEEN, unseen
from integration.fuzz.operations import ACTORS, Actor, Kind, Operation, Sequence, Timing, Twist
from integration.fuzz.playing import Difference, Play, Played, texts
from integration.fuzz.schedule import Schedule
from integration.fuzz.shrinking import shortened, shrunk
from integration.fuzz.side import Broker
from integration.fuzz.swapped import SWAPS
from kcoord.check.connecting import Endpoint
from kcoord.check.probe import Client
from scripts.reference import started, why_not
from wire.errors import ErrorCode
from wire.messages import DescribedGroup, DescribeGroupsResponse, ListedGroup, ListGroupsResponse

SEED = int(os.environ.get("FUZZ_SEED", "20"))
SEQUENCES = int(os.environ.get("FUZZ_SEQUENCES", "50"))
AT_ONCE = PROFILES[0]
SHORT = 12
"""How many operations are left of a sequence in which timers fire: most of its time is spent waiting for them."""


def campaign(profile: Profile, count: int, right: str, asked: str, *, quick: bool = False) -> Campaign:
    """Play sequences; those in which timers fire are left out if it is to be quick."""
    drawn = Drawn(SEED, count, waits=profile.delay_ms > 0)
    made = Campaign(drawn, profile, (("right", right), ("asked", asked)))
    made.sequences = [
        replace(one, operations=one.operations[:SHORT]) if profile.delay_ms or one.timing is not Timing.NONE else one
        for one in made.sequences
        if not quick or one.timing is Timing.NONE
    ]
    trio.run(made.run)
    trio.run(made.confirm)
    return made


def report(found: Campaign) -> str:
    """What differs, to be read where a test fails."""
    lines = [f"seed {SEED}; scripts/fuzz.py --seed {SEED} --profile {found.profile.name!r} makes it small"]
    for sort, played in found.alike().items():
        lines += ["", sort, *texts(played[0])]
    return "\n".join(lines)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("profile", PROFILES, ids=[one.name for one in PROFILES])
def test_kafka_answers_the_same(profile, tmp_path):
    if why := why_not("kafka"):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    print(f"seed {SEED}")
    count = SEQUENCES * profile.share // 100
    with started("kafka", overrides=profile.settings) as kafka, kcoord(profile.settings, tmp_path / "log") as ours:
        found = campaign(profile, count, kafka.bootstrap, ours)
    print("\n".join(found.tally.lines()))
    assert not found.confirmed, report(found)
    # Which leader Kafka chooses is chance, and so is how often it is not the one that was chosen here.
    assert found.unfinished <= max(2, count // 5), "\n".join(found.tally.lines())
    assert len(found.first) == count


def test_a_broker_differs_from_one_with_another_limit_and_not_from_one_like_it(tmp_path):
    """What is found is found, confirmed and made small: here a JoinGroup for which one of them has no room."""
    small = dict(AT_ONCE.settings) | {"group.max.size": 1}
    with (
        kcoord(AT_ONCE.settings, tmp_path / "right") as right,
        kcoord(AT_ONCE.settings, tmp_path / "like") as like,
        kcoord(small, tmp_path / "small") as asked,
    ):
        alike = campaign(AT_ONCE, 10, right, like, quick=True)
        assert not alike.confirmed, report(alike)
        other = campaign(AT_ONCE, 10, right, asked, quick=True)
        sorts = {sort: played for sort, (played, *_) in other.alike().items() if "GROUP_MAX_SIZE_REACHED" in sort}
        assert sorts, "\n".join([*other.tally.lines(), *(f"not sure: {each}" for each in other.vanished())])
        assert all(sort.startswith("JoinGroup; ") for sort in sorts)
        played = next(iter(sorts.values()))
        # How small a sequence is after some seconds is up to the machine; without an end it is as small as it can be.
        least = trio.run(shortened, other, shrunk(other, played, 6), math.inf)
    assert least.difference is not None
    assert len(least.sequence.operations) < min(8, len(played.sequence.operations))
    assert {one.kind for one in least.sequence.operations} <= {
        Kind.ADVANCE,
        Kind.ROUND,
        Kind.MOST,
        Kind.RESTART,
        Kind.JOIN,
    }
    assert least.sequence.timing is Timing.NONE


def test_a_broker_is_found_out_that_checks_in_another_order(tmp_path):
    """Each of several mistakes which show only where two things are wrong about a request."""
    with (
        kcoord(AT_ONCE.settings, tmp_path / "right") as right,
        kcoord(AT_ONCE.settings, tmp_path / "asked", module="integration.fuzz.swapped") as asked,
    ):
        made = Campaign(Drawn(4, 160, waits=False), AT_ONCE, (("right", right), ("asked", asked)))
        made.sequences = [one for one in made.sequences if one.timing is Timing.NONE]
        trio.run(made.run)
    differences = [one.difference for one in made.first.values() if one.difference is not None]
    told = "\n".join([*made.tally.lines(), *(each.sort for each in differences)])
    for name, first, here in SWAPS:
        asked_so = [one for one in differences if one.what.split()[0] == name]
        assert any(first.name in one.first and here.name in one.second for one in asked_so), (name, first, here, told)


def test_what_is_drawn_depends_on_the_seed_alone():
    assert Drawn(3, 5, waits=False).all() == Drawn(3, 5, waits=False).all()
    assert Drawn(3, 5, waits=False).all() != Drawn(4, 5, waits=False).all()


class Scripted(Campaign):
    """What comes of plays is told beforehand: of the two brokers, and of the right one with itself."""

    def says(self, apart: bool, alone: bool) -> None:
        self._brokers = tuple(Broker(name, Endpoint("127.0.0.1", 1), {}) for name in ("right", "asked"))
        self._apart, self._alone = apart, alone

    async def play(self, brokers, sequence, *_):
        differs = self._alone if brokers[0] is brokers[1] else self._apart
        return Played(sequence, Difference(1, "Heartbeat 4", "Heartbeat()", "(held)") if differs else None, begun=1)


@pytest.mark.parametrize(
    ("apart", "alone", "confirmed", "chance"),
    [(True, False, [0], []), (True, True, [], [0]), (False, True, [], [])],
    ids=["it differs", "the right one differs from itself", "it does not differ again"],
)
def test_what_is_sure_to_differ_counts_if_the_right_broker_is_like_itself(apart, alone, confirmed, chance):
    made = Scripted(Drawn(SEED, 1, waits=False), AT_ONCE, (("right", ""), ("asked", "")))
    made.says(True, False)
    trio.run(made.run)
    made.says(apart, alone)
    trio.run(made.confirm)
    assert (made.candidates, made.tried) == (1, 1)
    assert (list(made.confirmed), list(made.chance)) == (confirmed, chance)
    assert [name for name, _ in made.kept()].count("0000-with-itself") == len(chance)


def test_sequences_that_use_the_group_of_the_empty_id_do_not_meet(tmp_path):
    """That group is one and the same for all sequences, and one of the brokers has it from before."""
    with kcoord(AT_ONCE.settings, tmp_path / "right") as right, kcoord(AT_ONCE.settings, tmp_path / "asked") as asked:
        made = Campaign(Drawn(SEED, 10, waits=False), AT_ONCE, (("right", right), ("asked", asked)))
        operations = (
            Operation(Kind.LIST, number=1),
            Operation(Kind.COMMIT, twists=(Twist.SIMPLE, Twist.UNKNOWN_GROUP), number=1),
            Operation(Kind.LIST, number=1),
            Operation(Kind.FETCH, twists=(Twist.UNKNOWN_GROUP, Twist.ALL)),
        )
        made.sequences = [Sequence((Actor(),) * ACTORS, operations, empty=True)] * 5
        trio.run(commits, right, "")
        trio.run(made.run)
    assert made.tally.sequences == {"alike": 5}
    text = "\n".join(texts(made.first[0]))
    assert "ListGroups(groups=[ListedGroup(group_state='Empty', group_type='classic')])" in text


def test_a_member_that_one_broker_alone_shows_is_not_put_out_at_the_end(tmp_path, monkeypatch):
    """Its id is not known at the other one. Somebody else's commit shows the group, of which nothing is written."""
    one_partition = dict(AT_ONCE.settings) | {"offsets.topic.num.partitions": 1}
    with kcoord(one_partition, tmp_path / "right") as right, kcoord(one_partition, tmp_path / "asked") as asked:
        made = Campaign(Drawn(SEED, 0, waits=False), AT_ONCE, (("right", right), ("asked", asked)))
        operations = (
            Operation(Kind.COMMIT, twists=(Twist.SIMPLE, Twist.LONG_METADATA), number=1),
            Operation(Kind.JOIN, 0, number=1),
            Operation(Kind.JOIN, 1, number=1),
        )
        made.sequences = [Sequence((Actor(static=True),) * ACTORS, operations)]
        close = Play.close

        async def after_a_commit(played: Play) -> None:
            await commits(right, "others")
            await close(played)

        monkeypatch.setattr(Play, "close", after_a_commit)
        trio.run(made.run)
    assert made.tally.known == {UNSEEN: 1}
    assert made.tally.sequences == {"alike": 1}, "\n".join(texts(made.first[0]))


async def commits(address: str, group: str) -> None:
    """Commit to a group at the right broker, as somebody does who has nothing to do with the sequences."""
    broker = await met("right", address)
    async with Client(await broker.endpoint.open()) as client:
        assert await client.commit(group, {("fuzz-t", 0): 1}) == {("fuzz-t", 0): ErrorCode.NONE}


def test_only_a_group_of_which_nothing_was_written_may_be_seen_by_one_alone():
    none = DescribeGroupsResponse(groups=[DescribedGroup(group_id="g", group_state="Dead")])
    empty = DescribeGroupsResponse(groups=[DescribedGroup(group_id="g", group_state="Empty")])
    joining = DescribeGroupsResponse(groups=[DescribedGroup(group_id="g", group_state="PreparingRebalance")])
    stable = DescribeGroupsResponse(groups=[DescribedGroup(group_id="g", group_state="Stable", protocol_type="x")])
    assert unseen(empty, none, {"g"}) == UNSEEN
    assert unseen(empty, none, {"h"}) is None
    assert unseen(joining, none, {"g"}) == UNSEEN
    assert unseen(joining, empty, {"g"}) is None
    assert unseen(stable, none, {"g"}) is None
    assert unseen(ListGroupsResponse(groups=[ListedGroup(group_id="g")]), ListGroupsResponse(), {"g"}) == UNSEEN


def test_a_difference_is_sure_when_it_shows_twice():
    sequence = Sequence((), ())
    seen = Difference(3, "Heartbeat 4", "Heartbeat(generation_id=1)", "Heartbeat()")
    like = Played(sequence, Difference(5, "Heartbeat 3", "Heartbeat(generation_id=2)", "Heartbeat()"))
    other = Played(sequence, Difference(3, "Heartbeat 4", "Heartbeat()", "Heartbeat()"))
    assert sure([like, other, Played(sequence)], seen) is None
    assert sure([like, other, like], seen) is like
    assert sure([like, other, replace(like, stalled=True)], seen) is None


def test_the_margin_around_timers_grows_as_long_as_there_is_room():
    """Between two of them, for as much as is to be done there."""
    schedule = Schedule([2.0], 0.25, 0.5, 10)
    schedule.note(0.0, 0.5)
    schedule.widen(0.4)
    assert schedule.next_gap(0.0) == 2.9
    assert not schedule.is_clear(1.65)
    schedule.widen(9.0)
    assert schedule.is_clear(1.4)
    assert not schedule.is_clear(1.55)
    schedule.widen(0.25)
    assert schedule.is_clear(1.7)
    tight = Schedule([1.0], 0.25, 0.5, 10)
    tight.widen(0.4)
    assert tight.margin == 0.25
    none = Schedule([], 0.25, 0.5, 10)
    none.widen(9.0)
    assert none.margin == 9.0


def test_requests_keep_away_from_timers():
    schedule = Schedule([2.0], 0.25, 1.0, 10)
    assert schedule.next_gap(0.0) == 0.0
    schedule.note(0.0, 0.5)
    assert schedule.is_clear(1.7)
    assert not schedule.is_clear(2.0)
    assert schedule.is_clear(0.6, schedule.half)
    assert not schedule.is_clear(1.7, 0.1)
    assert schedule.next_gap(0.6) == 2.75
    schedule.note(2.8, 3.0)
    # What was started at 2.8 may fire from 4.55 on, and what fired at 2.0 may have started what fires from 3.75 on.
    assert not schedule.is_clear(4.6)
    assert schedule.next_gap(3.1) == 7.25
