"""Members that come, go, crash, freeze and dawdle; and those that are not let in."""

import re
import threading

import pytest
from kafka.errors import GroupMaxSizeReachedError, InvalidGroupIdError, InvalidSessionTimeoutError

from integration.members import Group, Member, all_of
from integration.server import QUICK
from integration.waiting import LIMIT, eventually

T, WIDE = all_of(t=4), all_of(wide=40)
SHORT_SESSION = {"session_timeout_ms": 2_000}
SILENT = "no heartbeat within the session timeout"


def client_ids(admin, group) -> set[str]:
    """Who the coordinator says is a member."""
    return {member["client_id"] for member in admin.describe_groups([group.id])[group.id]["members"]}


def expired(server, group) -> list[tuple[str, str]]:
    """Who was put out, by client id and in this order, and why, as the server's log has it."""
    line = re.compile(rf" member_expired +group={group.id} .* client_id=(\S+) .* why='(.*?)'")
    return line.findall(server.log.read_text())


def test_s1_one_joins_another_joins_the_first_closes(group):
    first = group.join("t")
    alone = group.settled(T)
    second = group.join("t")
    both = group.settled(T)
    assert both > alone
    assert {len(first.assignment), len(second.assignment)} == {2}
    first.close()
    assert group.settled(T, second) > both
    assert second.assignment == T
    assert not group.ledger.conflicts


def test_whoever_comes_back_later_is_a_new_member(group):
    first = group.join("t", name="again")
    before, old_id = group.settled(T), first.member_id
    first.close()
    second = group.join("t", name="again")
    assert group.settled(T, second) > before
    assert second.member_id != old_id
    assert second.member_id.startswith("again-")


def test_a_group_of_two_topics_and_members_that_want_different_ones(group):
    # The first leads, so it knows the topics of all: a leader that learns of one rejoins, see JOINING_POLL_MS.
    first = group.join("t", "u")
    group.settled(all_of(t=4, u=3))
    second = group.join("u")
    group.settled(all_of(t=4, u=3))
    assert first.assignment >= T
    assert second.assignment
    assert second.assignment < all_of(u=3)


def test_a_member_is_killed(server, group, new_process, admin):
    survivor = group.join("t")
    victim = new_process(group, "t", client_id="victim", **SHORT_SESSION)
    eventually(lambda: len(victim.assignment) == 2 and len(survivor.assignment) == 2, lambda: (survivor, victim))
    before = survivor.generation
    victim.kill()
    assert group.settled(T, survivor) > before
    assert client_ids(admin, group) == {survivor.name}
    # It said nothing, so it was a member until its session was over.
    assert expired(server, group)[-1] == ("victim", SILENT)


def test_each_member_has_its_own_session_timeout(server, group, new_process, admin):
    survivor = group.join("t")
    short = new_process(group, "t", client_id="short", **SHORT_SESSION)
    long = new_process(group, "t", client_id="long", session_timeout_ms=9_000)
    eventually(lambda: survivor.assignment and short.assignment and long.assignment, lambda: (survivor, short, long))
    long.kill()
    short.kill()
    group.settled(T, survivor)
    assert client_ids(admin, group) == {survivor.name}
    assert expired(server, group)[-2:] == [("short", SILENT), ("long", SILENT)]


def test_a_frozen_member_is_out_and_comes_back(group, new_process, admin):
    survivor = group.join("t")
    sleeper = new_process(group, "t", client_id="sleeper", **SHORT_SESSION)
    eventually(lambda: len(sleeper.assignment) == 2 and len(survivor.assignment) == 2, lambda: (survivor, sleeper))
    sleeper.freeze()
    group.settled(T, survivor)
    assert client_ids(admin, group) == {survivor.name}
    before = survivor.generation
    sleeper.thaw()
    eventually(
        lambda: (
            sleeper.generation == survivor.generation > before
            and sleeper.assignment | survivor.assignment == T
            and len(sleeper.assignment) == 2
        ),
        lambda: (survivor, sleeper),
    )


def test_a_member_that_does_not_poll_leaves_by_itself(group, admin):
    quick, slow = group.join("t"), group.join("t", max_poll_interval_ms=2_000)
    before, heard = group.settled(T), len(slow.events)
    slow.pause()
    # Its session would last much longer.
    assert group.settled(T, quick) > before
    assert client_ids(admin, group) == {quick.name}
    slow.resume()
    assert group.settled(T) > before + 1
    assert next(event.kind for event in slow.events[heard:] if event.partitions) == "lost"


def test_a_member_that_only_sends_heartbeats_stays(group, admin):
    # As long as a busy machine allows for: who is kept from sending heartbeats for all of it is out.
    session = {"session_timeout_ms": 5_000}
    first = group.join("t", **session)
    before, old_id = group.settled(T), first.member_id
    first.pause()
    # Another group rises and falls by its session timeout in the meantime, which is as long as this one's.
    other = Group(group.bootstrap, f"{group.id}-clock")
    member = other.join("t", group_instance_id="tick", **session)
    other.settled(T)
    member.close()
    eventually(lambda: not client_ids(admin, other), "the static member to expire")
    first.resume()
    assert group.settled(T) == before
    assert first.member_id == old_id


def test_twenty_members_start_at_once(group):
    gate = threading.Event()
    members = [group.join("wide", gate=gate) for _ in range(20)]
    for member in members:
        assert member.ready.wait(LIMIT)
    gate.set()
    group.settled(WIDE)
    assert {len(member.assignment) for member in members} == {2}
    assert not group.ledger.conflicts

    for member in members[::2]:
        member.close()
    group.settled(WIDE, *members[1::2])
    assert {len(member.assignment) for member in members[1::2]} == {4}
    assert not group.ledger.conflicts


def test_the_first_rebalance_waits_for_those_who_come_at_the_same_time(make_kcoord, new_group):
    server = make_kcoord({"t": 4}, settings={"group.initial.rebalance.delay.ms": 3000})
    # At the same time by its clock, however long they take here.
    server.clock.freeze()
    group = new_group(server)
    members = [group.join("t") for _ in range(4)]
    held = server.group(group.id).wait(members=len(members), timeout=LIMIT)
    assert (held.state, held.generation) == ("PreparingRebalance", 0)
    server.clock.resume()
    group.settled(T)
    assert {len(member.assignment) for member in members} == {1}


def test_a_group_that_is_full_takes_nobody_else(start_server, new_group):
    group = new_group(start_server(settings={**QUICK, "group.max.size": 2}))
    first, second = group.join("t"), group.join("t")
    before = group.settled(T)
    third = group.join("t")
    eventually(lambda: third.error, lambda: third)
    assert isinstance(third.error, GroupMaxSizeReachedError)
    assert group.settled(T, first, second) == before
    second.close()
    fourth = group.join("t")
    group.settled(T, first, fourth)


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_timeout_out_of_bounds_is_refused(start_server, new_group, session_ms):
    group = new_group(start_server(settings={"group.initial.rebalance.delay.ms": 0}))
    refused = group.join("t", session_timeout_ms=session_ms, max_poll_interval_ms=3_600_000)
    eventually(lambda: refused.error, lambda: refused)
    assert isinstance(refused.error, InvalidSessionTimeoutError)
    accepted = group.join("t", session_timeout_ms=6_000)
    group.settled(T, accepted)


def test_a_group_needs_a_name(server):
    nameless = Member(server.bootstrap, "", "t")
    eventually(lambda: nameless.error, lambda: nameless)
    assert isinstance(nameless.error, InvalidGroupIdError)


def test_groups_do_not_know_of_each_other(server, new_group):
    one, other = new_group(server), new_group(server)
    first, second = one.join("t"), other.join("t")
    before = one.settled(T), other.settled(T)
    one.join("t")
    one.settled(T)
    assert first.assignment != T
    assert other.settled(T) == before[1]
    assert second.assignment == T
