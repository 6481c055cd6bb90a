"""Small timelines, written down event by event as a server would tell them."""

import pytest

from kcoord.core import notes
from kcoord.demo.scene import Deed, Scene
from kcoord.demo.stories import Kind
from kcoord.timeline import Timeline
from kcoord.timeline.events import Answered, Asked, Claim, Noted


class Telling:
    """What happens to group g; the member id of a is a-1, and so on. Topic t has the partitions that are named."""

    def __init__(self, protocol="range"):
        self.protocol = protocol
        self.events = []
        self.deeds = []
        self.numbers = 0
        self.incarnation = {}

    def id_of(self, who):
        return f"{who}-{self.incarnation.get(who, 1)}"

    def note(self, at, kind, **fields):
        self.events.append(Noted(at=at, wall_ms=0, note=kind(group="g", **fields)))

    def asked(self, at, who, api, **fields):
        self.numbers += 1
        self.events.append(
            Asked(
                at=at, wall_ms=0, number=self.numbers, connection=1, client_id=who, host="h", node_id=1, api=api,
                version=5, **fields,
            )
        )  # fmt: skip
        return self.events[-1]

    def do(self, at, kind, who="", seconds=0.0):
        self.deeds.append(Deed(at=at, kind=kind, who=who, seconds=seconds))
        return self

    def join(self, at, who, owned=(), instance=None, new=True):
        claim = Claim(topics=("t",), owned=frozenset(("t", each) for each in owned))
        self.asked(
            at, who, "JoinGroup", member=self.id_of(who), instance=instance, protocols=(self.protocol,),
            claims={self.protocol: claim},
        )  # fmt: skip
        if new:
            self.note(
                at, notes.MemberJoined, member=self.id_of(who), instance=instance, client_id=who, host="h", reason=""
            )
        else:
            self.note(at, notes.MemberRejoined, member=self.id_of(who), instance=instance, reason="")
        return self

    def rebalance(self, at, ends, reason, *waiting):
        waiting_for = tuple(map(self.id_of, waiting))
        self.note(at, notes.RebalanceStarted, generation=ends, reason=reason, waiting_for=waiting_for)
        return self

    def generation(self, at, number, **plan):
        """All have joined, the first one leads, and each is given its partitions."""
        members = tuple(map(self.id_of, plan))
        leader = members[0]
        shares = {self.id_of(who): frozenset(("t", each) for each in mine) for who, mine in plan.items()}
        self.note(at, notes.GenerationFormed, generation=number, protocol=self.protocol, leader=leader, members=members)
        for join in [
            next(each for each in reversed(self.events) if isinstance(each, Asked) and each.member == member)
            for member in members
        ]:
            self.events.append(
                Answered(at=at, wall_ms=0, asked=join, errors=(), member=join.member, generation=number, leader=leader)
            )
        syncs = [
            self.asked(
                at, who, "SyncGroup", member=self.id_of(who), generation=number,
                handed_in=shares if self.id_of(who) == leader else None,
            )
            for who in plan
        ]  # fmt: skip
        self.note(at, notes.GroupStabilized, generation=number, leader=leader, members=len(plan))
        for sync in syncs:
            self.events.append(self.given(sync, *plan[sync.client_id]))
        return self

    def given(self, sync, *partitions):
        """The answer to a SyncGroup."""
        assigned = frozenset(("t", each) for each in partitions)
        return Answered(at=sync.at, wall_ms=0, asked=sync, errors=(), assigned=assigned)

    def leave(self, at, who):
        self.note(at, notes.MemberLeft, member=self.id_of(who), instance=None, reason="")
        return self

    def expire(self, at, who, instance=None):
        self.note(
            at, notes.MemberExpired, member=self.id_of(who), instance=instance, client_id=who, host="h",
            why="no heartbeat within the session timeout",
        )  # fmt: skip
        return self

    def timeline(self, until):
        return Timeline("g", self.events, until)

    def scene(self, until, rows="ab"):
        return Scene(self.timeline(until), self.deeds, tuple(rows), until)


@pytest.fixture
def telling():
    return Telling()


@pytest.fixture
def eager(telling):
    """b joins a; 3.5 s."""
    telling.do(0.0, Kind.START, "a").join(0.25, "a").rebalance(0.25, 0, "new member a-1 joined")
    telling.generation(0.5, 1, a=(0, 1, 2))
    telling.do(1.5, Kind.START, "b").join(1.75, "b").rebalance(1.75, 1, "new member b-1 joined", "a")
    return telling.join(2.0, "a", new=False).generation(2.5, 2, a=(0, 1), b=(2,))


@pytest.fixture
def cooperative():
    """b joins a, and is given something in the second step; 3.5 s."""
    telling = Telling("cooperative-sticky")
    telling.do(0.0, Kind.START, "a").join(0.25, "a").rebalance(0.25, 0, "new member a-1 joined")
    telling.generation(0.5, 1, a=(0, 1, 2))
    telling.do(1.25, Kind.START, "b").join(1.25, "b").rebalance(1.25, 1, "new member b-1 joined", "a")
    telling.join(1.5, "a", owned=(0, 1, 2), new=False).generation(1.5, 2, a=(0, 1), b=())
    telling.join(2.0, "a", owned=(0, 1), new=False).rebalance(2.0, 2, "member a-1 joined again", "b")
    return telling.join(2.25, "b", new=False).generation(2.5, 3, a=(0, 1), b=(2,))


@pytest.fixture
def crash(telling):
    """b is killed, and put out when the clock is moved; 48 s on the server's clock."""
    telling.do(0.0, Kind.START, "a").do(0.0, Kind.START, "b").join(0.0, "a").join(0.0, "b")
    telling.rebalance(0.0, 0, "new member a-1 joined").generation(0.5, 1, a=(0,), b=(1,))
    telling.do(1.5, Kind.KILL, "b").do(2.0, Kind.CLOCK, seconds=45.0).expire(47.0, "b")
    telling.rebalance(47.0, 1, "removing member b-1 on heartbeat expiration", "a")
    return telling.join(47.25, "a", new=False).generation(47.25, 2, a=(0, 1))
