"""What every request is answered in every state, from every kind of sender: the whole table, literally.

A cell is the answer and the state the group is in then. The answer is an error number, or `held`; a star says that
the sender's session started anew. States are `-` (no such group), `E` Empty, `I` PreparingRebalance from Empty (the
initial delay runs), `P` PreparingRebalance otherwise, `C` CompletingRebalance, `S` Stable.

The columns are the states before: no group, an Empty group that never had members, one whose members have left,
and then a group of a leader, a follower and a static member `i`, in each of the other states.
"""

from itertools import product

import pytest

from kcoord.core.coordinator import RULES

from .driver import Driver, protocols_of
from .situations import A1

COLUMNS = ("none", "new", "empty", "initial", "preparing", "completing", "stable")

TABLE = """
                              | none     | new      | empty    | initial  | preparing | completing | stable
join: new, version 3          | held I   | held I   | held I   | held I   | held P    | held P     | held P
join: new, version 9          | 79 E     | 79 E     | 79 E     | 79 I     | 79 P      | 79 C       | 79 S
join: new, static             | held I   | held I   | held I   | held I   | held P    | held P     | held P
join: leader, unchanged       | 25 -     | 25 E     | 25 E     | held I   | held P    | 0 C        | held P
join: leader, changed         | 25 -     | 25 E     | 25 E     | held I   | held P    | held P     | held P
join: follower, unchanged     | 25 -     | 25 E     | 25 E     | held I   | held P    | 0 C        | 0 S
join: follower, changed       | 25 -     | 25 E     | 25 E     | held I   | held P    | held P     | held P
join: follower, reordered     | 25 -     | 25 E     | 25 E     | held I   | held P    | held P     | held P
join: static, unchanged       | 25 -     | 25 E     | 25 E     | held I   | held P    | 0 C        | 0 S
join: static, id alone        | 25 -     | 25 E     | 25 E     | held I   | held P    | 0 C        | 0 S
join: static restart          | held I   | held I   | held I   | held I   | held P    | held P     | 0 S
join: static restart, v8      | held I   | held I   | held I   | held I   | held P    | held P     | 0 S
join: static, other vote      | held I   | held I   | held I   | held I   | held P    | held P     | held P
join: fenced                  | 25 -     | 25 E     | 25 E     | 82 I     | 82 P      | 82 C       | 82 S
join: unknown instance        | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
join: unknown id              | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
join: pending id              | 25 -     | held I   | held I   | held I   | held P    | held P     | held P
join: pending id, static      | 25 -     | -1 E     | -1 E     | -1 I     | -1 P      | -1 C       | -1 S
join: pending id, wrong type  | 25 -     | held I   | held I   | 23 I     | 23 P      | 23 C       | 23 S
join: new, wrong type         | 79 E     | 79 E     | 79 E     | 23 I     | 23 P      | 23 C       | 23 S
join: leader, wrong type      | 25 -     | 25 E     | 25 E     | 23 I     | 23 P      | 23 C       | 23 S
join: unknown id, wrong type  | 25 -     | 25 E     | 25 E     | 23 I     | 23 P      | 23 C       | 23 S
join: new, other protocols    | 79 E     | 79 E     | 79 E     | 23 I     | 23 P      | 23 C       | 23 S
join: new, no protocols       | 23 E     | 23 E     | 23 E     | 23 I     | 23 P      | 23 C       | 23 S
join: new, bad session        | 26 -     | 26 E     | 26 E     | 26 I     | 26 P      | 26 C       | 26 S
join: unknown id, bad session | 26 -     | 26 E     | 26 E     | 26 I     | 26 P      | 26 C       | 26 S
sync: leader                  | 25 -     | 25 E     | 25 E     | 27 I     | 27 P      | 0* S       | 0 S
sync: follower                | 25 -     | 25 E     | 25 E     | 27 I     | 27 P      | held C     | 0 S
sync: static                  | 25 -     | 25 E     | 25 E     | 27 I     | 27 P      | held C     | 0 S
sync: static, id alone        | 25 -     | 25 E     | 25 E     | 27 I     | 27 P      | held C     | 0 S
sync: wrong generation        | 25 -     | 25 E     | 25 E     | 22 I     | 22 P      | 22 C       | 22 S
sync: other protocol          | 25 -     | 25 E     | 25 E     | 27 I     | 23 P      | 23 C       | 23 S
sync: other type              | 25 -     | 25 E     | 25 E     | 23 I     | 23 P      | 23 C       | 23 S
sync: fenced                  | 25 -     | 25 E     | 25 E     | 82 I     | 82 P      | 82 C       | 82 S
sync: unknown instance        | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
sync: unknown id              | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
sync: pending id              | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
heartbeat: leader             | 25 -     | 25 E     | 25 E     | 27* I    | 27* P     | 0* C       | 0* S
heartbeat: follower           | 25 -     | 25 E     | 25 E     | 27* I    | 27* P     | 0* C       | 0* S
heartbeat: static             | 25 -     | 25 E     | 25 E     | 27* I    | 27* P     | 0* C       | 0* S
heartbeat: static, id alone   | 25 -     | 25 E     | 25 E     | 27* I    | 27* P     | 0* C       | 0* S
heartbeat: wrong generation   | 25 -     | 25 E     | 25 E     | 22 I     | 22 P      | 22 C       | 22 S
heartbeat: fenced             | 25 -     | 25 E     | 25 E     | 82 I     | 82 P      | 82 C       | 82 S
heartbeat: unknown instance   | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
heartbeat: unknown id         | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
heartbeat: pending id         | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
leave: leader                 | 25 -     | 25 E     | 25 E     | 0 I      | 0 P       | 0 P        | 0 P
leave: leader, version 2      | 25 -     | 25 E     | 25 E     | 0 I      | 0 P       | 0 P        | 0 P
leave: follower               | 25 -     | 25 E     | 25 E     | 0 I      | 0 P       | 0 P        | 0 P
leave: everybody              | 25 -     | 25 E     | 25 E     | 0 I      | 0 C       | 0 E        | 0 E
leave: static by instance     | 25 -     | 25 E     | 25 E     | 0 I      | 0 P       | 0 P        | 0 P
leave: fenced                 | 25 -     | 25 E     | 25 E     | 82 I     | 82 P      | 82 C       | 82 S
leave: unknown instance       | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
leave: unknown id             | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
leave: unknown id, version 2  | 25 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
leave: nobody                 | 0 -      | 0 E      | 0 E      | 0 I      | 0 P       | 0 C        | 0 S
leave: pending id             | 25 -     | 0 E      | 0 E      | 0 I      | 0 P       | 0 P        | 0 P
commit: leader                | 69 -     | 25 E     | 25 E     | 0* I     | 0* P      | 27 C       | 0* S
commit: leader, version 8     | 22 -     | 25 E     | 25 E     | 0* I     | 0* P      | 27 C       | 0* S
commit: static                | 69 -     | 25 E     | 25 E     | 0* I     | 0* P      | 27 C       | 0* S
commit: static, id alone      | 69 -     | 25 E     | 25 E     | 0* I     | 0* P      | 27 C       | 0* S
commit: simple                | 0 E      | 0 E      | 0 E      | 25 I     | 25 P      | 25 C       | 25 S
commit: wrong generation      | 69 -     | 25 E     | 25 E     | 22 I     | 22 P      | 22 C       | 22 S
commit: id, no generation     | 0 E      | 0 E      | 0 E      | 22 I     | 22 P      | 22 C       | 22 S
commit: generation, no id     | 69 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
commit: fenced                | 69 -     | 25 E     | 25 E     | 82 I     | 82 P      | 82 C       | 82 S
commit: instance alone        | 0 E      | 0 E      | 0 E      | 82 I     | 82 P      | 82 C       | 82 S
commit: unknown id            | 69 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
commit: pending id            | 69 -     | 25 E     | 25 E     | 25 I     | 25 P      | 25 C       | 25 S
commit: metadata too long     | 69 -     | 25 E     | 25 E     | 12* I    | 12* P     | 27 C       | 12* S
fetch: one partition          | 0 -      | 0 E      | 0 E      | 0 I      | 0 P       | 0 C        | 0 S
fetch: all                    | 0 -      | 0 E      | 0 E      | 0 I      | 0 P       | 0 C        | 0 S
describe: version 5           | 0 -      | 0 E      | 0 E      | 0 I      | 0 P       | 0 C        | 0 S
describe: version 6           | 69 -     | 0 E      | 0 E      | 0 I      | 0 P       | 0 C        | 0 S
list: all                     | 0 -      | 0 E      | 0 E      | 0 I      | 0 P       | 0 C        | 0 S
delete: the group             | 69 -     | 0 -      | 0 -      | 68 I     | 68 P      | 68 C       | 68 S
offset delete: subscribed     | 69 -     | 0 E      | 0 E      | 86 I     | 86 P      | 86 C       | 86 S
offset delete: other topic    | 69 -     | 0 E      | 0 E      | 86 I     | 0 P       | 0 C        | 0 S
"""

SENDERS = {
    "join": (
        "new, version 3", "new, version 9", "new, static", "leader, unchanged", "leader, changed",
        "follower, unchanged", "follower, changed", "follower, reordered", "static, unchanged", "static, id alone",
        "static restart", "static restart, v8", "static, other vote", "fenced", "unknown instance", "unknown id",
        "pending id", "pending id, static", "pending id, wrong type", "new, wrong type", "leader, wrong type",
        "unknown id, wrong type", "new, other protocols", "new, no protocols", "new, bad session",
        "unknown id, bad session",
    ),
    "sync": (
        "leader", "follower", "static", "static, id alone", "wrong generation", "other protocol", "other type",
        "fenced", "unknown instance", "unknown id", "pending id",
    ),
    "heartbeat": (
        "leader", "follower", "static", "static, id alone", "wrong generation", "fenced", "unknown instance",
        "unknown id", "pending id",
    ),
    "leave": (
        "leader", "leader, version 2", "follower", "everybody", "static by instance", "fenced", "unknown instance",
        "unknown id", "unknown id, version 2", "nobody", "pending id",
    ),
    "commit": (
        "leader", "leader, version 8", "static", "static, id alone", "simple", "wrong generation",
        "id, no generation", "generation, no id", "fenced", "instance alone", "unknown id", "pending id",
        "metadata too long",
    ),
    "fetch": ("one partition", "all"),
    "describe": ("version 5", "version 6"),
    "list": ("all",),
    "delete": ("the group",),
    "offset delete": ("subscribed", "other topic"),
}  # fmt: skip


def read_table():
    header, *rows = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip("\n").splitlines()]
    assert tuple(header[1:]) == COLUMNS
    cells = {}
    for name, *answers in rows:
        request, sender = name.split(": ")
        for column, answer in zip(COLUMNS, answers, strict=True):
            assert (column, request, sender) not in cells, f"{name} stands there twice"
            cells[column, request, sender] = tuple(answer.split())
    return cells


CELLS = read_table()
TWO = protocols_of(["range", "roundrobin"])


class Stage:
    """A group brought into the state of one column."""

    def __init__(self, column):
        self.driver = Driver()
        self.leader, self.follower, self.static = "c1-1", "c2-2", "i-3"
        self.pending = ""
        self.generation = 1
        getattr(self, column)()
        # A session that starts anew can be told by its deadline.
        self.driver.advance(1)
        if column in ("initial", "preparing", "completing", "stable"):
            assert self.driver.inside("g").leader_id == self.leader
            assert self.driver.inside("g").generation == self.generation

    def none(self):
        pass

    def new(self):
        # A refused JoinGroup creates the group all the same.
        assert self.driver.join("g", "c0", protocols=()).error == 23
        self.generation = 0

    def initial(self):
        for number, (who, instance) in enumerate((("c1", None), ("c2", None), ("c3", "i")), 1):
            call = self.driver.join("g", who, 5 if instance else 3, instance=instance, protocols=TWO)
            assert call.parked, number
        self.generation = 0

    def completing(self):
        self.initial()
        self.driver.advance(6)
        self.generation = 1

    def stable(self):
        self.completing()
        ids = (self.leader, self.follower, self.static)
        for member_id in reversed(ids):
            self.driver.sync("g", member_id, 1, dict.fromkeys(ids, A1))

    def preparing(self):
        self.stable()
        assert self.driver.join("g", "c4", 3, protocols=TWO).parked

    def empty(self):
        self.stable()
        assert self.driver.leave("g", self.leader, self.follower, self.static).error == 0
        self.generation = 2

    def hand_out_an_id(self):
        """MEMBER_ID_REQUIRED for somebody; where there is no group, before one was deleted."""
        fresh = "g" not in self.driver.coordinator.tables.groups
        self.pending = self.driver.join("g", "p", protocols=TWO).response.member_id
        if fresh:
            self.driver.delete_groups("g")

    def letter(self):
        group = self.driver.coordinator.tables.groups.get("g")
        if group is None:
            return "-"
        return "I" if group.in_initial_rebalance else group.state.value[0]


def member_reference(stage, sender):
    """(member id, instance id, generation) of a sender."""
    who, *_ = sender.split(", ")
    generation = stage.generation
    return {
        "leader": (stage.leader, None, generation),
        "follower": (stage.follower, None, generation),
        "static": (stage.static, None if sender == "static, id alone" else "i", generation),
        "static by instance": ("", "i", generation),
        "static restart": ("", "i", generation),
        "wrong generation": (stage.leader, None, generation + 1),
        "other protocol": (stage.leader, None, generation),
        "other type": (stage.leader, None, generation),
        "metadata too long": (stage.leader, None, generation),
        "fenced": (stage.leader, "i", generation),
        "unknown instance": (stage.leader, "nobody", generation),
        "unknown id": ("nobody-9", None, generation),
        "simple": ("", None, -1),
        "id": (stage.leader, None, -1),
        "instance alone": ("", "i", -1),
        "generation": ("", None, generation),
        "new": ("", "j" if sender == "new, static" else None, generation),
        "pending id": (stage.pending, "j" if sender == "pending id, static" else None, generation),
    }[who]


PROTOCOLS = {
    "leader, changed": protocols_of(["range", "roundrobin"], "t", "u"),
    "follower, changed": protocols_of(["range", "roundrobin", "sticky"]),
    "follower, reordered": protocols_of(["roundrobin", "range"]),
    "static, other vote": protocols_of(["roundrobin"]),
    "new, other protocols": protocols_of(["sticky"]),
    "new, no protocols": (),
}
VERSIONS = {"new, version 3": 3, "static restart, v8": 8}


def ask(stage, request, sender):
    """Send the request; return the call and the member id that the sender goes by."""
    driver = stage.driver
    if request in ("join", "sync", "heartbeat", "leave", "commit"):
        if sender == "static, other vote":
            member_id, instance, generation = "", "i", stage.generation
        elif sender in ("everybody", "nobody"):
            member_id, instance, generation = stage.leader, None, stage.generation
        else:
            member_id, instance, generation = member_reference(stage, sender)
    else:
        member_id = ""
    if request == "join":
        call = driver.join(
            "g",
            "c",
            VERSIONS.get(sender, 9),
            member_id=member_id,
            instance=instance,
            protocols=PROTOCOLS.get(sender, TWO),
            protocol_type="connect" if "wrong type" in sender else "consumer",
            session_ms=5_999 if "bad session" in sender else 10_000,
        )
    elif request == "sync":
        call = driver.sync(
            "g",
            member_id,
            generation,
            {stage.leader: A1},
            instance=instance,
            protocol_type="connect" if sender == "other type" else "consumer",
            protocol_name="sticky" if sender == "other protocol" else None,
        )
    elif request == "heartbeat":
        call = driver.heartbeat("g", member_id, generation, instance=instance)
    elif request == "leave":
        ids = {"everybody": [stage.leader, stage.follower, stage.static], "nobody": []}.get(sender)
        if "version 2" in sender:
            call = driver.leave("g", member_id, version=2)
        else:
            call = driver.leave("g", *([(member_id, instance)] if ids is None else ids))
    elif request == "commit":
        call = driver.commit(
            "g",
            {("t", 0): 5},
            member_id,
            generation,
            8 if sender == "leader, version 8" else 9,
            instance=instance,
            metadata="x" * 4097 if sender == "metadata too long" else "",
        )
    elif request == "fetch":
        call = driver.fetch("g", {"t": [0]} if sender == "one partition" else None)
    elif request == "describe":
        call = driver.describe("g", version=int(sender[-1]))
    elif request == "list":
        call = driver.list()
    elif request == "delete":
        call = driver.delete_groups("g")
    else:
        call = driver.offset_delete("g", {"t" if sender == "subscribed" else "u": [0]})
    return call, member_id


@pytest.mark.parametrize(("column", "request_kind", "sender"), CELLS, ids=lambda part: part.replace(" ", "-"))
def test_cell(column, request_kind, sender):
    answer, state_after = CELLS[column, request_kind, sender]
    stage = Stage(column)
    timers = stage.driver.coordinator.tables.timers
    if "pending" in sender:
        stage.hand_out_an_id()
    known = {name: timers.deadline(("session", "g", name)) for name in (stage.leader, stage.follower, stage.static)}

    call, member_id = ask(stage, request_kind, sender)

    got = "held" if call.parked else str(call.error)
    after = timers.deadline(("session", "g", member_id))
    if after is not None and member_id in known and after != known[member_id]:
        assert after == stage.driver.now.mono + 10
        got += "*"
    assert (got, stage.letter()) == (answer, state_after)

    # Nothing is held for ever.
    stage.driver.advance(3600)
    assert call.response is not None


def test_no_pair_is_left_out():
    rows = [(request, sender) for request, senders in SENDERS.items() for sender in senders]
    assert CELLS.keys() == {(column, *row) for column, row in product(COLUMNS, rows)}


def test_every_request_the_coordinator_takes_has_its_rows():
    names = {
        "JoinGroupRequest": "join",
        "SyncGroupRequest": "sync",
        "HeartbeatRequest": "heartbeat",
        "LeaveGroupRequest": "leave",
        "OffsetCommitRequest": "commit",
        "OffsetFetchRequest": "fetch",
        "DescribeGroupsRequest": "describe",
        "ListGroupsRequest": "list",
        "DeleteGroupsRequest": "delete",
        "OffsetDeleteRequest": "offset delete",
    }
    assert {names[rule.__name__] for rule in RULES} == SENDERS.keys()
