"""A topic is deleted: what was committed for it goes, and nobody is disturbed."""

from kcoord.core.notes import OffsetsDeleted

from .situations import stable1


def test_its_offsets_go_in_every_group(driver):
    driver.commit("one", {("t", 0): 1, ("t", 2): 2, ("u", 0): 3})
    driver.commit("other", {("u", 1): 4})
    driver.commit("third", {("t", 1): 5})
    outcome = driver.delete_topics("t")
    assert driver.coordinator.tables.offsets.keys() == {"one", "other"}
    assert [driver.offset("one", "u"), driver.offset("other", "u", 1)] == [3, 4]
    assert [(note.group, note.partitions) for note in driver.noted(OffsetsDeleted)] == [("one", 2), ("third", 1)]
    assert [(record.key.group, record.key.topic, record.key.partition) for record in outcome.records] == [
        ("one", "t", 0),
        ("one", "t", 2),
        ("third", "t", 1),
    ]
    assert all(record.value is None for record in outcome.records)


def test_several_go_at_once(driver):
    driver.commit("g", {("t", 0): 1, ("u", 0): 2, ("v", 0): 3})
    outcome = driver.delete_topics("t", "v", "w")
    assert len(outcome.records) == 2
    assert [(note.group, note.partitions) for note in outcome.notes] == [("g", 2)]
    assert driver.offset("g", "u") == 2


def test_it_may_come_again_and_nothing_comes_back(driver):
    driver.commit("g", {("t", 0): 1})
    driver.delete_topics("t")
    driver.reload()
    assert driver.offset("g") == -1
    assert driver.delete_topics("t").records == []


def test_the_groups_members_are_not_told(driver):
    made = stable1(driver)
    driver.commit("g", {("t", 0): 1}, made.leader, made.generation)
    driver.delete_topics("t")
    assert driver.offset("g") == -1
    assert driver.state("g") == "Stable"
    assert driver.heartbeat("g", made.leader, made.generation).error == 0


def test_a_group_in_which_nothing_is_left_goes_with_the_next_sweep(driver):
    driver.commit("g", {("t", 0): 1})
    driver.delete_topics("t")
    assert driver.state("g") == "Empty"
    driver.advance(600)
    assert driver.state("g") == "Dead"
