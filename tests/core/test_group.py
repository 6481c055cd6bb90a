"""A group by itself: its moves, its members, its choices."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcoord.core.group import Group, Member, Parked
from kcoord.core.hashing import java_hash_map_place
from kcoord.core.states import ALLOWED_FROM, GroupState, IllegalMove
from wire.errors import ErrorCode

from .driver import Driver, protocols_of, sub
from .situations import stable1, static2


def member(name, protocols, instance=None, rebalance_ms=30_000):
    return Member(
        member_id=name,
        group_instance_id=instance,
        client_id=name,
        client_host="/127.0.0.1",
        rebalance_timeout_ms=rebalance_ms,
        session_timeout_ms=10_000,
        protocols=protocols,
    )


def group_of(*lists, protocol_type="consumer"):
    """A group of one member for each list of protocol names."""
    group = Group("g", 0)
    for number, names in enumerate(lists):
        group.add(member(f"m{number}", protocols_of(names)), protocol_type)
    return group


# --- moves ---

MOVES = {
    (GroupState.EMPTY, GroupState.PREPARING_REBALANCE),
    (GroupState.PREPARING_REBALANCE, GroupState.EMPTY),
    (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE),
    (GroupState.COMPLETING_REBALANCE, GroupState.PREPARING_REBALANCE),
    (GroupState.COMPLETING_REBALANCE, GroupState.STABLE),
    (GroupState.STABLE, GroupState.PREPARING_REBALANCE),
    *((state, GroupState.DEAD) for state in GroupState),
}


@pytest.mark.parametrize("old", GroupState)
@pytest.mark.parametrize("new", GroupState)
def test_a_group_makes_the_moves_of_the_table_and_no_other(old, new):
    group = Group("g", 7)
    group.state = old
    if (old, new) in MOVES:
        group.enter(new, 99)
        assert (group.state, group.previous_state, group.state_timestamp) == (new, old, 99)
    else:
        with pytest.raises(IllegalMove, match="g"):
            group.enter(new, 99)
        assert (group.state, group.state_timestamp) == (old, 7)


def test_the_table_names_every_state():
    assert ALLOWED_FROM.keys() == set(GroupState)


def test_only_a_join_phase_that_began_empty_is_initial():
    group = Group("g", 0)
    assert not group.in_initial_rebalance
    states = [
        GroupState.PREPARING_REBALANCE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.STABLE,
        GroupState.PREPARING_REBALANCE,
        GroupState.EMPTY,
        GroupState.PREPARING_REBALANCE,
    ]
    seen = []
    for state in states:
        group.enter(state, 0)
        seen.append(group.in_initial_rebalance)
    assert seen == [True, False, False, False, False, True]


# --- members ---


def test_the_first_member_leads_and_brings_the_protocol_type():
    group = group_of(["range"], ["range"])
    assert (group.leader_id, group.protocol_type) == ("m0", "consumer")
    group.remove("m0")
    assert group.leader_id == "m1"
    group.remove("m1")
    assert (group.leader_id, group.protocol_type) == (None, "consumer")
    group.add(member("m2", protocols_of(["range"])), "connect")
    assert group.protocol_type == "connect"


def test_two_members_cannot_have_one_instance_id():
    group = Group("g", 0)
    group.add(member("a", protocols_of(["range"]), "i"), "consumer")
    with pytest.raises(IllegalMove, match="taken"):
        group.add(member("b", protocols_of(["range"]), "i"), "consumer")


def test_removing_forgets_everything_about_an_id():
    group = Group("g", 0)
    one = member("a", protocols_of(["range"]), "i")
    group.add(one, "consumer")
    group.pending_syncs.add("a")
    group.park_join(one, Parked("token", 9))
    assert group.has_all_joined
    assert group.remove("a") is one
    assert group.remove("a") is None
    assert group.has_all_joined
    assert (group.awaiting_joins, group.static_members, group.pending_syncs) == (0, {}, set())
    group.check()


def test_a_handed_out_id_keeps_the_join_phase_open():
    group = Group("g", 0)
    assert group.has_all_joined
    group.pending_joins.add("p")
    assert not group.has_all_joined
    group.remove("p")
    assert group.has_all_joined


def test_a_reference_to_a_member_is_checked_instance_first():
    group = Group("g", 0)
    group.add(member("s", protocols_of(["range"]), "i"), "consumer")
    group.add(member("d", protocols_of(["range"])), "consumer")
    group.pending_joins.add("p")
    answers = {
        ("s", "i"): 0,
        ("s", None): 0,
        ("d", None): 0,
        ("d", "i"): 82,
        ("nobody", "i"): 82,
        ("", "i"): 82,
        ("s", "other"): 25,
        ("d", "other"): 25,
        ("nobody", None): 25,
        ("", None): 25,
        ("p", None): 25,
    }
    assert {reference: int(group.check_member(*reference)) for reference in answers} == answers


def test_the_rebalance_timeout_is_the_longest_and_never_negative():
    group = Group("g", 0)
    assert group.rebalance_timeout_ms == 0
    for number, timeout in enumerate((-5, 7, 3)):
        group.add(member(f"m{number}", protocols_of(["range"]), rebalance_ms=timeout), "consumer")
        assert group.rebalance_timeout_ms == (0, 7, 7)[number]


def test_a_parked_member_that_is_not_new_needs_no_heartbeat():
    one = member("a", ())
    assert not one.satisfies_heartbeat
    one.parked_sync = Parked("token", 5)
    assert one.satisfies_heartbeat
    one.parked_sync, one.parked_join = None, Parked("token", 9)
    assert one.satisfies_heartbeat
    one.is_new = True
    assert not one.satisfies_heartbeat


def test_a_leader_that_waits_stays_leader_else_the_first_that_waits():
    group = group_of(["range"], ["range"], ["range"])
    assert not group.elect_leader()
    group.park_join(group.members["m2"], Parked("t", 9))
    assert group.elect_leader()
    assert group.leader_id == "m2"
    group.park_join(group.members["m0"], Parked("t", 9))
    assert group.elect_leader()
    assert group.leader_id == "m2"
    assert not Group("h", 0).elect_leader()


def test_a_static_leader_that_stays_away_hands_over_to_who_came():
    driver = Driver()
    s1, s2 = static2(driver).members
    again = driver.join("g", "c2", member_id=s2, instance="i2", protocols=protocols_of(["range"], "u"))
    for _ in range(6):
        driver.heartbeat("g", s1, 1)
        driver.advance(5)
    told = again.response
    assert (told.error_code, told.leader) == (0, s2)
    assert {one.member_id for one in told.members} == {s1, s2}
    assert driver.heartbeat("g", s1, 1).error == 22


# --- protocols ---


@pytest.mark.parametrize(
    ("kind", "names", "fits"),
    [("consumer", ["range"], True), ("consumer", [], False), ("", ["range"], False), ("any", ["x"], True)],
)
def test_an_empty_group_takes_whatever_names_a_type_and_a_protocol(kind, names, fits):
    assert Group("g", 0).supports(kind, names) is fits


def test_otherwise_type_and_one_common_protocol_must_fit():
    group = group_of(["range", "sticky"], ["range", "roundrobin"])
    group.enter(GroupState.PREPARING_REBALANCE, 0)
    assert group.supports("consumer", ["x", "range"])
    assert not group.supports("consumer", ["sticky", "roundrobin"])
    assert not group.supports("connect", ["range"])
    assert not group.supports("consumer", [])


def test_a_join_phase_that_everybody_left_takes_any_protocol_of_its_type():
    group = group_of(["range"])
    group.enter(GroupState.PREPARING_REBALANCE, 0)
    group.remove("m0")
    assert group.supports("consumer", ["whatever"])
    assert not group.supports("connect", ["whatever"])
    assert not group.supports("consumer", [])


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([["range", "roundrobin"], ["roundrobin", "range"], ["roundrobin", "range"]], "roundrobin"),  # D34
        ([["range", "roundrobin"], ["roundrobin", "foo"]], "roundrobin"),  # D35
        ([["foo", "range"], ["bar", "range"]], "range"),
        ([["range"]], "range"),
        ([["b", "a", "c"], ["c", "a", "b"], ["a", "b", "c"], ["a", "c", "b"]], "a"),
    ],
)
def test_d34_d35_the_vote(lists, chosen):
    for order in permutations(lists):
        assert group_of(*order).select_protocol() == chosen


def test_d36_a_tie_goes_to_whoever_comes_first_in_a_java_hash_map():
    names = ["sticky", "range", "roundrobin", "cooperative-sticky"]
    buckets = [java_hash_map_place(name, 2) for name in names]
    assert buckets == sorted(set(buckets))
    for first, second in pairwise(names):
        assert group_of([first, second], [second, first]).select_protocol() == first
        assert group_of([second, first], [first, second]).select_protocol() == first


@pytest.mark.parametrize(("count", "chosen"), [(12, "proto10"), (13, "proto08"), (26, "proto19")])
def test_among_many_names_a_tie_goes_by_a_larger_hash_map(count, chosen):
    """Who won in Apache Kafka 4.4 between `proto00`, `proto01` and so on, each with one vote."""
    names = [f"proto{number:02}" for number in range(count)]
    assert group_of(*(names[number:] + names[:number] for number in range(count))).select_protocol() == chosen


NAMES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True).map(lambda names: ["z", *names])


@given(st.lists(NAMES, min_size=1, max_size=6), st.randoms())
def test_the_vote_is_a_common_protocol_with_the_most_first_places_whoever_came_first(lists, random):
    lists = [random.sample(names, len(names)) for names in lists]
    common = set.intersection(*map(set, lists))
    firsts = [next(name for name in names if name in common) for names in lists]
    chosen = group_of(*lists).select_protocol()
    assert chosen in common
    assert firsts.count(chosen) == max(map(firsts.count, common))
    random.shuffle(lists)
    assert group_of(*lists).select_protocol() == chosen


@given(st.lists(NAMES, min_size=2, max_size=6))
def test_what_members_support_is_counted_rightly_through_changes(lists):
    group = group_of(*lists)
    for number, names in enumerate(reversed(lists)):
        group.change_protocols(group.members[f"m{number}"], protocols_of(names))
    group.remove("m0")
    fresh = group_of(*[names for number, names in enumerate(reversed(lists)) if number])
    assert group._counts == fresh._counts


def test_a_protocol_listed_twice_counts_once_with_its_first_metadata():
    group = Group("g", 0)
    group.add(member("a", (("range", b"1"), ("range", b"2"))), "consumer")
    assert group.select_protocol() == "range"
    assert group.members["a"].metadata("range") == b"1"
    group.remove("a")
    assert group._counts == {}


def test_a_protocol_that_one_lists_twice_is_common_to_all_who_list_it():
    group = Group("g", 0)
    group.add(member("a", (("range", b"1"), ("range", b"2"), ("sticky", b"3"))), "consumer")
    group.add(member("b", (("range", b"4"), ("sticky", b"5"))), "consumer")
    assert group.select_protocol() == "range"


def test_metadata_of_a_protocol_not_listed_is_empty():
    assert member("a", (("range", b"1"),)).metadata("sticky") == b""
    assert member("a", (("range", b"1"),)).metadata(None) == b""


# --- what is subscribed to ---


def subscribed(*metadata, protocol_type="consumer"):
    group = Group("g", 0)
    for number, data in enumerate(metadata):
        group.add(member(f"m{number}", (("range", data),)), protocol_type)
    group.protocol_type = protocol_type
    group.protocol_name = "range" if metadata else None
    group.compute_subscribed_topics()
    return group


def test_a_consumer_group_is_subscribed_to_what_any_member_is():
    group = subscribed(sub("t"), sub("u", "v"))
    assert group.subscribed_topics == {"t", "u", "v"}
    assert [group.is_subscribed(topic) for topic in "tuvw"] == [True, True, True, False]


def test_a_group_without_members_is_subscribed_to_nothing():
    assert subscribed().subscribed_topics == frozenset()
    assert not subscribed().is_subscribed("t")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0\0",
        b"\0\0\xff\xff\xff\xff",
        b"\0\0\x7f\xff\xff\xff",
        b"\0\0\0\0\0\1\0\5t",
        b"\0\0\0\0\0\1\xff\xff",
    ],
)
def test_a_subscription_that_cannot_be_read_is_a_subscription_to_everything(data):
    group = subscribed(sub("t"), data)
    assert group.subscribed_topics is None
    assert group.is_subscribed("anything")


def test_only_consumers_subscribe():
    group = subscribed(sub("t"), protocol_type="connect")
    assert group.subscribed_topics is None
    assert not group.is_subscribed("t")


@pytest.mark.parametrize("version", [0, 1, 2, 3, 9])
def test_of_any_version_the_topics_are_read(version):
    data = version.to_bytes(2, "big") + sub("t")[2:]
    assert subscribed(data).subscribed_topics == {"t"}


# --- what a check finds ---


@pytest.mark.parametrize(
    "harm",
    [
        lambda group: setattr(group, "awaiting_joins", 1),
        lambda group: setattr(group, "leader_id", None),
        lambda group: setattr(group, "leader_id", "nobody"),
        lambda group: group.pending_joins.add("m1-1"),
        lambda group: group.pending_syncs.add("nobody"),
        lambda group: group.static_members.update(i="m1-1"),
        lambda group: group._counts.update(range=2),
        lambda group: setattr(group, "protocol_name", "sticky"),
        lambda group: setattr(group, "state", GroupState.EMPTY),
        lambda group: setattr(group.members["m1-1"], "parked_sync", Parked("t", 5)),
        lambda group: setattr(group.members["m1-1"], "member_id", "other"),
    ],
)
def test_a_contradiction_is_found(driver, harm):
    stable1(driver)
    harm(driver.inside("g"))
    with pytest.raises(AssertionError):
        driver.coordinator.check()


def test_error_codes_are_what_check_member_gives():
    assert Group("g", 0).check_member("m", None) is ErrorCode.UNKNOWN_MEMBER_ID
