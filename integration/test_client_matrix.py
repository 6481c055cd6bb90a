"""Some cells of the matrix of clients and errors: what becomes of two clients, however long it takes."""

import json

import pytest

from integration.matrix.cells import DROPPED, Cell
from integration.matrix.playing import Stage, played
from scripts import client_matrix

PATIENCE_S = 240.0
"""So long a client may take to recover: nobody here needs that."""
pytestmark = pytest.mark.timeout(600)

SAME = [
    Cell("kafka-python", "Heartbeat", "27"),
    Cell("kafka-python", "JoinGroup", DROPPED),
    Cell("kafka-python", "OffsetFetch", "16"),
    Cell("confluent", "SyncGroup", "22"),
    Cell("confluent", "OffsetCommit", DROPPED),
]
NEW = [Cell("kafka-python", "SyncGroup", "25"), Cell("confluent", "Heartbeat", "25")]
AGAIN = Cell("aiokafka", "OffsetFetch", "16")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of all of them, side by side, with the stories of their groups."""
    with Stage(tmp_path_factory.mktemp("matrix"), PATIENCE_S) as stage:
        todo = [*SAME, *NEW, AGAIN]
        found = played(stage, todo, 4, lambda _cell, _outcome: None)
        return {cell: (found[cell], stage.story(cell.group)) for cell in todo}


@pytest.mark.parametrize("cell", SAME, ids=lambda cell: cell.group)
def test_it_goes_on_as_the_same_member(outcomes, cell):
    outcome, story = outcomes[cell]
    assert (outcome.what, outcome.same_member, outcome.read_again) == ("recovered", True, 0), story


@pytest.mark.parametrize("cell", NEW, ids=lambda cell: cell.group)
def test_it_comes_back_as_another_member(outcomes, cell):
    outcome, story = outcomes[cell]
    assert (outcome.what, outcome.same_member, outcome.read_again) == ("recovered", False, 0), story
    assert "JoinGroup" in outcome.requests


def test_aiokafka_takes_an_error_for_no_offsets(outcomes):
    """From version 2 on the error stands above the partitions, of which there are none; aiokafka reads none there."""
    outcome, story = outcomes[AGAIN]
    assert (outcome.what, outcome.same_member) == ("recovered", True), story
    assert outcome.read_again > 0


def test_the_fault_is_in_the_story(outcomes):
    _, story = outcomes[NEW[0]]
    assert "fault: UNKNOWN_MEMBER_ID is answered: SyncGroup" in story


def test_the_script_tells_of_some_cells(capsys):
    arguments = ["--client", "kafka-python", "--api", "OffsetCommit", "--error", "14", "--error", "22", "--json"]
    assert client_matrix.main(arguments) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert told["clients"].keys() == {"kafka-python"}
    assert [(each["api"], each["error"], each["outcome"]) for each in told["cells"]] == [
        ("OffsetCommit", 14, "recovered"),
        ("OffsetCommit", 22, "recovered"),
    ]
    assert "[2/2] kafka-python OffsetCommit" in printed.err
