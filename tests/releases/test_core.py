"""The coordinator as releases before Kafka 4 had it, switch by switch, beside what it does by default."""

from itertools import pairwise, permutations

import pytest

from kcoord.core.behaviour import LATEST
from kcoord.core.group import Group, Member
from kcoord.core.settings import GroupSettings
from kcoord.releases.release import RELEASES
from tests.core.driver import Driver, sub
from wire.errors import ErrorCode

CURRENT = "4.4"
RANGE = (("range", sub("t")),)
STICKY = (("sticky", sub("t")),)
BOTH = (*RANGE, *STICKY)


def like(release, **settings):
    return Driver(GroupSettings(behaviour=RELEASES[release].behaviour, **settings))


def stable(driver, *who, version=9, session_ms=10_000, rebalance_ms=30_000, protocols=RANGE, **how):
    """A group `g` of these members, with their assignments; return their ids."""
    calls = [
        driver.enter("g", one, version, session_ms=session_ms, rebalance_ms=rebalance_ms, protocols=protocols, **how)
        for one in who
    ]
    driver.advance(3 * len(calls))
    ids = [call.response.member_id for call in calls]
    for member_id in ids:
        driver.sync("g", member_id, 1, {one: one.encode() for one in ids}, version=min(version, 5))
    return ids


def tied(behaviour, *names):
    group = Group("g", 0, behaviour)
    for order in permutations(names):
        member = Member(
            member_id="-".join(order),
            group_instance_id=None,
            client_id="c",
            client_host="/127.0.0.1",
            rebalance_timeout_ms=1,
            session_timeout_ms=1,
            protocols=tuple((name, b"") for name in order),
        )
        group.add(member, "consumer")
    return group.select_protocol()


@pytest.mark.parametrize(
    ("release", "order"),
    [
        ("4.4", ["sticky", "range", "roundrobin", "cooperative-sticky"]),
        ("3.9", ["cooperative-sticky", "roundrobin", "range", "sticky"]),
        ("2.6", ["cooperative-sticky", "roundrobin", "range", "sticky"]),
        ("2.0", ["range", "sticky", "roundrobin", "cooperative-sticky"]),
    ],
)
def test_a_tied_vote_goes_by_the_hash_table_of_the_release(release, order):
    for first, second in pairwise(order):
        assert tied(RELEASES[release].behaviour, first, second) == first


def test_a_restart_after_the_vote_is_looked_at_in_the_order_of_the_release():
    assert tied(LATEST, "range", "sticky") == "sticky"


@pytest.mark.parametrize(("release", "generation"), [("3.9", 2), (CURRENT, None)])
def test_a_refused_join_completes_the_join_phase_if_all_others_are_there(release, generation):
    driver = like(release, group_max_size=2)
    leader, follower = stable(driver, "a", "b")
    first = driver.join("g", "a", member_id=leader)
    newcomer = driver.enter("g", "c")
    refused = driver.join("g", "b", member_id=follower)
    assert refused.error == ErrorCode.GROUP_MAX_SIZE_REACHED
    answered = [None if call.response is None else call.response.generation_id for call in (first, newcomer)]
    assert answered == [generation, generation]


@pytest.mark.parametrize(("release", "waits"), [("3.9", False), (CURRENT, True)])
def test_the_initial_delay_of_a_group_that_had_a_generation_grows_since_4_0(release, waits):
    driver = like(release)
    (member,) = stable(driver, "a")
    driver.leave("g", member)
    first = driver.enter("g", "b")
    driver.advance(2)
    driver.enter("g", "c")
    driver.advance(1.5)
    assert first.parked is waits


@pytest.mark.parametrize(("release", "extends"), [("3.9", True), (CURRENT, True)])
def test_the_initial_delay_of_a_new_group_always_grows(release, extends):
    driver = like(release)
    first = driver.enter("g", "b")
    driver.advance(2)
    driver.enter("g", "c")
    driver.advance(1.5)
    assert first.parked is extends


@pytest.mark.parametrize(("release", "waits"), [("3.9", True), (CURRENT, False)])
def test_who_expires_in_the_initial_delay_ends_it_since_4_0(release, waits):
    driver = like(release, group_initial_rebalance_delay_ms=20_000)
    waiting = driver.enter("g", "a", 3)
    driver.join("g", "b", session_ms=6_000)
    driver.advance(7)
    assert waiting.parked is waits


@pytest.mark.parametrize(("release", "expected"), [("3.9", ErrorCode.UNKNOWN_MEMBER_ID), (CURRENT, None)])
def test_a_static_member_that_restarts_in_its_first_join_phase_stays_new(release, expected):
    driver = like(release, group_initial_rebalance_delay_ms=20_000)
    driver.enter("g", "a", instance="i1", session_ms=6_000, rebalance_ms=60_000)
    again = driver.enter("g", "a", instance="i1", session_ms=6_000, rebalance_ms=60_000)
    driver.advance(7)
    assert (None if again.parked else again.error) == expected


@pytest.mark.parametrize(("release", "lives"), [("3.2", True), ("3.3", False), (CURRENT, False)])
@pytest.mark.parametrize("instance", [None, "i1"])
def test_who_joins_again_keeps_its_first_timeouts_before_3_3(release, lives, instance):
    driver = like(release)
    (member,) = stable(driver, "a", session_ms=30_000, instance=instance)
    member_id = member if instance is None else ""
    again = driver.join("g", "a", member_id=member_id, session_ms=6_000, instance=instance)
    driver.sync("g", again.response.member_id, again.response.generation_id, {})
    driver.heartbeat("g", again.response.member_id, again.response.generation_id)
    driver.advance(7)
    assert (driver.member_ids("g") != []) is lives


@pytest.mark.parametrize(("release", "error"), [("2.8", ErrorCode.NONE), ("3.0", ErrorCode.UNKNOWN_MEMBER_ID)])
def test_an_instance_id_that_nobody_has_passes_before_3_0(release, error):
    driver = like(release)
    (member,) = stable(driver, "a", version=7)
    assert driver.heartbeat("g", member, 1, instance="i9").error == error
    assert driver.sync("g", member, 1, {}, instance="i9").error == error
    assert driver.commit("g", {("t", 0): 1}, member, 1, 8, instance="i9").error == error
    assert driver.join("g", "a", 7, member_id=member, instance="i9").error == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.leave("g", (member, "i9"), version=4).response.members[0].error_code == error


def test_an_instance_id_that_another_has_never_passes():
    driver = like("2.8")
    static, other = (driver.enter("g", who, 7, instance=instance) for who, instance in (("a", "i1"), ("b", None)))
    driver.advance(6)
    assert static.response.member_id
    assert driver.heartbeat("g", other.response.member_id, 1, instance="i1").error == ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize(("release", "members"), [("2.7", 1), ("2.8", 0)])
def test_who_does_not_sync_stays_before_2_8(release, members):
    driver = like(release)
    call = driver.enter("g", "a", 7, session_ms=60_000, rebalance_ms=10_000)
    driver.advance(3)
    assert call.error == ErrorCode.NONE
    driver.advance(20)
    assert len(driver.member_ids("g")) == members


@pytest.mark.parametrize(("release", "error"), [("2.5", ErrorCode.REBALANCE_IN_PROGRESS), ("2.6", ErrorCode.NONE)])
def test_a_heartbeat_before_the_assignment_is_told_of_the_rebalance_before_2_6(release, error):
    driver = like(release)
    call = driver.enter("g", "a", 6)
    driver.advance(3)
    assert driver.heartbeat("g", call.response.member_id, 1).error == error


@pytest.mark.parametrize("synced", [True, False])
@pytest.mark.parametrize(("release", "disturbs"), [("2.5", False), ("2.6", True)])
def test_a_static_restart_with_other_protocols_disturbs_nobody_before_2_6(release, disturbs, synced):
    driver = like(release)
    ids = [driver.enter("g", who, 6, instance=who, protocols=BOTH) for who in "ab"]
    driver.advance(6)
    if synced:
        for one in ids:
            driver.sync("g", one.response.member_id, 1, {})
    again = driver.join("g", "b", 6, instance="b", protocols=STICKY if synced else BOTH)
    chosen = ids[0].response.protocol_name
    assert chosen == "range" if release == "2.5" else chosen
    assert again.parked is (disturbs and not (synced and chosen == "sticky"))


@pytest.mark.parametrize(("release", "generation"), [("2.1", 0), ("2.2", -1)])
def test_a_refused_join_names_generation_0_before_2_2(release, generation):
    assert like(release).join("", "a", 3).response.generation_id == generation


@pytest.mark.parametrize(
    ("release", "error"), [("0.11", ErrorCode.UNKNOWN_MEMBER_ID), ("1.0", ErrorCode.INVALID_GROUP_ID)]
)
def test_the_empty_group_id_was_only_refused_as_such_by_join_group(release, error):
    driver = like(release)
    assert driver.join("", "a", 2).error == ErrorCode.INVALID_GROUP_ID
    assert driver.heartbeat("", "a", 1).error == error
    assert driver.sync("", "a", 1, version=1).error == error
    assert driver.leave("", "a", version=1).error == error


@pytest.mark.parametrize(("release", "lives"), [("3.9", True), (CURRENT, False)])
def test_a_sync_group_in_stable_starts_the_session_anew_before_4_0(release, lives):
    driver = like(release)
    (member,) = stable(driver, "a", session_ms=6_000)
    driver.advance(4)
    assert driver.sync("g", member, 1, {}).error == ErrorCode.NONE
    driver.advance(3)
    assert (driver.member_ids("g") == [member]) is lives


@pytest.mark.parametrize(("release", "answer"), [("3.9", ErrorCode.NONE), (CURRENT, ErrorCode.UNKNOWN_MEMBER_ID)])
def test_who_leaves_in_one_request_leaves_one_after_the_other_before_4_0(release, answer):
    driver = like(release)
    first, second = stable(driver, "a", "b")
    waiting = driver.join("g", "a", member_id=first)
    driver.leave("g", second, first)
    assert waiting.error == answer


@pytest.mark.parametrize(("release", "state"), [("3.9", "Stable"), (CURRENT, "PreparingRebalance")])
def test_a_handed_out_id_that_is_given_back_disturbs_nobody_before_4_0(release, state):
    driver = like(release)
    stable(driver, "a")
    pending = driver.join("g", "b").response.member_id
    driver.leave("g", pending)
    assert driver.state("g") == state


@pytest.mark.parametrize(
    ("release", "error"), [("3.9", ErrorCode.ILLEGAL_GENERATION), (CURRENT, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_commit_to_no_group_is_told_of_its_generation_before_4_0(release, error):
    assert like(release).commit("g", {("t", 0): 1}, "m", 1, 9).error == error


@pytest.mark.parametrize(
    ("release", "error"), [("3.9", ErrorCode.INVALID_COMMIT_OFFSET_SIZE), (CURRENT, ErrorCode.UNKNOWN_SERVER_ERROR)]
)
def test_a_commit_that_is_too_large_was_told_so_before_4_0(release, error):
    assert like(release, message_max_bytes=100).commit("g", {("t", 0): 1}, metadata="x" * 200).error == error


@pytest.mark.parametrize(("release", "state"), [("3.9", "Dead"), (CURRENT, "Empty")])
def test_the_last_offset_takes_its_group_along_before_4_0(release, state):
    driver = like(release)
    driver.commit("g", {("t", 0): 1, ("t", 1): 2})
    driver.offset_delete("g", {"t": [0]})
    assert driver.state("g") == "Empty"
    driver.offset_delete("g", {"t": [1]})
    assert driver.state("g") == state


@pytest.mark.parametrize(("release", "state"), [("3.9", "Dead"), (CURRENT, "Empty")])
def test_a_deleted_topic_takes_groups_without_offsets_along_before_4_0(release, state):
    driver = like(release)
    driver.commit("g", {("t", 0): 1})
    driver.commit("other", {("t", 0): 1, ("u", 0): 1})
    (member,) = stable(driver, "a") if release == CURRENT else [None]
    if member is not None:
        driver.leave("g", member)
    driver.delete_topics("t")
    assert (driver.state("g"), driver.state("other")) == (state, "Empty")


@pytest.mark.parametrize(("release", "written"), [("3.9", 0), (CURRENT, 1)])
def test_a_group_is_not_stored_before_its_first_assignment_before_4_0(release, written):
    driver = like(release)
    driver.join("g", "a")
    assert len(driver.records) == written
    assert [one.group_id for one in driver.list().response.groups] == ["g"]
    assert driver.delete_groups("g").error == ErrorCode.NONE
    assert len(driver.records) == 2 * written
    assert driver.state("g") == "Dead"


@pytest.mark.parametrize(("release", "seen"), [("3.9", ["g"]), (CURRENT, [])])
def test_a_group_by_a_commit_of_which_nothing_is_stored_is_seen_at_once_before_4_0(release, seen):
    driver = like(release, offset_metadata_max_bytes=1)
    assert driver.commit("g", {("t", 0): 1}, metadata="long").error == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert [one.group_id for one in driver.list().response.groups] == seen


@pytest.mark.parametrize(("release", "assignment"), [("3.9", b""), (CURRENT, b"a-1")])
def test_assignments_are_told_in_stable_only_before_4_0(release, assignment):
    driver = like(release)
    (member,) = stable(driver, "a")
    assert driver.describe("g").response.groups[0].members[0].member_assignment == member.encode()
    driver.enter("g", "b")
    told = {one.member_id: one.member_assignment for one in driver.describe("g").response.groups[0].members}
    assert told[member] == assignment


@pytest.mark.parametrize(("release", "operations"), [("3.9", 328), (CURRENT, 3400)])
def test_what_one_may_do_with_a_group(release, operations):
    driver = like(release)
    driver.commit("g", {("t", 0): 1})
    assert driver.describe("g", version=5, operations=True).response.groups[0].authorized_operations == operations


@pytest.mark.parametrize(
    ("release", "passing"),
    [("3.7", {"Empty"}), ("3.9", {"Empty", "EMPTY"}), (CURRENT, {"Empty", "EMPTY", " Empty "})],
)
def test_how_a_filter_names_states(release, passing):
    driver = like(release)
    driver.commit("g", {("t", 0): 1})
    names = ("Empty", "EMPTY", " Empty ", "no state")
    assert {name for name in names if driver.list([name]).response.groups} == passing


@pytest.mark.parametrize(("release", "state"), [("1.0", "AwaitingSync"), ("1.1", "CompletingRebalance")])
def test_the_name_of_the_state_before_the_assignment(release, state):
    driver = like(release)
    driver.enter("g", "a", 2)
    driver.advance(3)
    assert driver.state("g") == state
    assert [one.group_state for one in driver.list().response.groups] == [state]
