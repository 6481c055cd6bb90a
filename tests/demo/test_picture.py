"""The picture of small timelines, character by character."""

import pytest

from kcoord.core import notes
from kcoord.demo.axis import columns_of
from kcoord.demo.picture import ASCII, UNICODE, Ink, picture
from kcoord.demo.scene import Scene
from kcoord.demo.stories import Kind


def drawn(scene, width=80, marks=UNICODE, expected=0.0):
    """The lines as text; the margin stays."""
    return ["".join(cell.text for cell in line).rstrip() for line in picture(scene, width, marks, expected)]


def test_an_eager_rebalance(eager):
    assert drawn(eager.scene(3.5)) == [
        "generation    1       2",
        "seconds     0",
        "a            +012───░░01──",
        "b                  +++2───",
        "",
        "            + joins   012─ reads these partitions   ░ stands still",
    ]


def test_in_a_cooperative_rebalance_members_read_on(cooperative):
    assert drawn(cooperative.scene(3.5)) == [
        "generation    1   2   3",
        "seconds     0",
        "a            +012─01──────",
        "b                +∅∅∅+2───",
        "",
        "            + joins   012─ reads these partitions   ∅ has none",
    ]


def test_a_crash_and_the_clock_that_is_moved(crash):
    assert drawn(crash.scene(48.0)) == [
        "generation    1       2",
        "seconds     0        45",
        "a           ++0─────»─01─",
        "b           ++1───x·»!",
        "",
        "            + joins   012─ reads these partitions",
        "            · away, nobody reads what it has   x is killed   ! is put out",
        "            » the clock is moved",
    ]


def test_a_member_that_stalls_leaves_and_comes_back(telling):
    telling.do(0.0, Kind.START, "a").join(0.0, "a").rebalance(0.0, 0, "new member a-1 joined")
    telling.generation(0.25, 1, a=(0, 1)).do(1.0, Kind.STALL, "a").leave(2.0, "a").do(3.0, Kind.GO_ON, "a")
    telling.incarnation["a"] = 2
    telling.join(3.25, "a").rebalance(3.25, 2, "new member a-2 joined").generation(3.5, 3, a=(0, 1))
    assert drawn(telling.scene(4.0, "a"))[2:3] == ["a           +01─~~~~<    +01"]


def test_a_static_member_that_comes_back_has_the_same_row(telling):
    telling.do(0.0, Kind.START, "a").join(0.0, "a", instance="a").rebalance(0.0, 0, "new member a-1 joined")
    telling.generation(0.25, 1, a=(0, 1)).do(1.0, Kind.STOP, "a")
    before = telling.id_of("a")
    telling.incarnation["a"] = 2
    telling.join(2.0, "a", instance="a", new=False)
    telling.note(2.0, notes.StaticMemberReplaced, member="a-2", instance="a", replaced=before, client_id="a", host="h")
    sync = telling.asked(2.25, "a", "SyncGroup", member="a-2", instance="a", generation=1)
    telling.events.append(telling.given(sync, 0, 1))
    assert drawn(telling.scene(3.0, "a"))[2] == "a           +01─····+01─"


def test_who_leaves_in_good_order_is_not_away(eager):
    eager.do(3.0, Kind.STOP, "b").leave(3.3, "b")
    assert drawn(eager.scene(4.0))[3] == "b                  +++2──<"


def test_nothing_has_happened_yet():
    assert drawn(Scene(None, (), ("a", "b"), 0.0)) == ["generation", "seconds", "a", "b", ""]


def test_partitions_without_cells_are_not_as_if_they_were_nobodys(telling):
    telling.join(0.0, "a").rebalance(0.0, 0, "new member a-1 joined").generation(0.5, 1, a=(0, 1, 2, 3, 4, 5))
    telling.do(1.25, Kind.START, "b").join(1.25, "b").rebalance(1.25, 1, "new member b-1 joined", "a")
    telling.join(1.5, "a", new=False).generation(1.5, 2, a=(0, 1, 2), b=(3, 4, 5)).leave(1.75, "b")
    telling.rebalance(1.75, 2, "explicit removal of b-1", "a").join(1.75, "a", new=False).generation(2.25, 3, a=(0,))
    lines = drawn(telling.scene(2.75))
    assert lines[2:] == [
        "a           ++012……░░0─",
        "b                +…<",
        "",
        "            + joins   012─ reads these partitions   … more partitions",
        "            ░ stands still   < leaves",
    ]
    assert drawn(telling.scene(2.75), marks=ASCII)[2] == "a           ++012&&##0-"


def test_what_has_cells_before_and_behind_a_move_of_the_clock_is_all_there(telling):
    telling.join(0.0, "a").rebalance(0.0, 0, "new member a-1 joined").generation(0.25, 1, a=(0, 1, 2))
    telling.do(0.75, Kind.CLOCK, seconds=45.0)
    assert drawn(telling.scene(46.0, "a"))[2] == "a           +01»2"
    assert drawn(telling.scene(45.75, "a"))[2] == "a           +0…»"


def test_without_other_characters(crash):
    lines = drawn(crash.scene(48.0), marks=ASCII)
    assert lines[2:4] == ["a           ++0-----}-01-", "b           ++1---x.}!"]
    assert all(line.isascii() for line in lines)


def test_each_cell_says_what_it_is_about(eager):
    a = picture(eager.scene(3.5), 80)[2]
    assert [cell.ink for cell in a[:7]] == [
        Ink.NAME, Ink.PLAIN, Ink.JOINING, Ink.PARTITION, Ink.PARTITION, Ink.PARTITION, Ink.READING,
    ]  # fmt: skip


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_it_is_never_wider_than_the_terminal(crash, width):
    assert max(map(len, drawn(crash.scene(48.0), width)[:4])) <= width


def test_numbers_of_generations_never_touch(cooperative):
    top = drawn(cooperative.scene(3.5), 20)[0]
    assert top.split() == ["generation", "1", "2", "3"]


def test_columns_are_for_a_quarter_of_a_second_while_that_fits():
    assert [(each.start, each.end) for each in columns_of(0.6, (), 68)] == [(0.0, 0.25), (0.25, 0.5), (0.5, 0.6)]
    assert len(columns_of(17.0, (), 68)) == 68
    longer = columns_of(20.0, (), 68)
    assert (longer[0].end, longer[-1].end) == (0.3, 20.0)
    assert columns_of(1.0, (), 68, expected=20.0)[0].end == 0.3


def test_a_jump_has_one_column():
    columns = columns_of(46.5, [(1.0, 45.0)], 68)
    assert [(each.start, each.end) for each in columns if each.jump] == [(1.0, 46.0)]
    assert len(columns) == 4 + 1 + 2
    assert [each.end for each in columns[:-1]] == [each.start for each in columns[1:]]


def test_what_fits_in_no_way_shows_the_end():
    columns = columns_of(10_000.0, (), 10)
    assert len(columns) == 10
    assert columns[-1].end == 10_000.0
