"""How clients take errors: README's table, and how what became of a client is read from a timeline."""

import json
import re
from pathlib import Path

import pytest

from integration.clients.clients import CLIENTS
from integration.matrix.cells import APIS, DROPPED, ERRORS, SHOWN, TROUBLES, Cell, Outcome, cells
from integration.matrix.judging import QUIET_S, seen
from integration.matrix.playing import read_again
from integration.matrix.table import listed, plain, readme, sentences, shown
from kcoord.core import notes
from kcoord.timeline.events import Answered, Asked, Beats, Noted
from scripts import client_matrix

ROOT = Path(__file__).parents[2]
CELL = re.compile(r"(?:\d+(?:\.\d)? s(?:, new id)?|hung|no heartbeats|not met)†?‡?|stopped")


# --- README ---


@pytest.fixture(scope="module")
def part():
    return (ROOT / "README.md").read_text().partition(client_matrix.BEGIN)[2].partition(client_matrix.END)[0]


@pytest.fixture(scope="module")
def rows(part):
    """The rows of README's table, without the line under the head."""
    lines = [line for line in part.splitlines() if line.startswith("|")]
    assert all(re.fullmatch(r"\|( [^|]* \|)+", line) for line in lines)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| --- |")]


def test_the_table_is_well_formed(part, rows):
    assert re.match(r"Run on 20\d\d-\d\d-\d\d\. ", part)
    assert rows[0] == ["client", "request", *TROUBLES]
    assert [row[1] for row in rows[1:]] == list(APIS) * len(SHOWN)
    assert {len(row) for row in rows} == {2 + len(TROUBLES)}
    assert [cell for row in rows[1:] for cell in row[2:] if not CELL.fullmatch(cell)] == []


def test_each_error_is_named(part):
    assert all(f"{int(error)} {error.name}" in part for error in ERRORS)
    assert [int(error) for error in ERRORS] == [14, 15, 16, 22, 25, 27, 79, 82]


def test_it_is_of_the_versions_that_are_pinned(rows):
    """If not, scripts/client_matrix.py --readme has to be run."""
    assert [row[0] for row in rows[1:]] == [
        f"{name} {CLIENTS[client].version}" for client, name in SHOWN.items() for _ in APIS
    ]


def test_the_versions_are_those_that_are_installed_and_built():
    here = ROOT / "integration" / "clients"
    pins = (ROOT / "pyproject.toml").read_text()
    assert f'"kafka-python[lz4,snappy,zstd]=={CLIENTS["kafka-python"].version}"' in pins
    assert f'"aiokafka=={CLIENTS["aiokafka"].version}"' in pins
    assert f'"confluent-kafka=={CLIENTS["confluent"].version}"' in pins
    lock = json.loads((here / "kafkajs" / "package-lock.json").read_text())
    assert lock["packages"]["node_modules/kafkajs"]["version"] == CLIENTS["kafkajs"].version
    assert f"twmb/franz-go v{CLIENTS['franz-go'].version}\n" in (here / "franz-go" / "go.mod").read_text()
    assert f"<kafka.version>{CLIENTS['java'].version}</kafka.version>" in (here / "java" / "pom.xml").read_text()


def test_the_sentences_say_what_the_table_does(part, rows):
    for word, says in (("stopped", "It stopped"), ("hung", "It hung"), ("new id", "It came back as another member")):
        (line,) = (line for line in part.splitlines() if line.startswith(f"- {says}"))
        count = sum(word in cell for row in rows[1:] for cell in row[2:])
        named = re.findall(r"[A-Z][A-Za-z]+ ((?:\d+|dropped)(?:/(?:\d+|dropped))*)(?=[,)])", line)
        assert sum(len(each.split("/")) for each in named) == count


# --- the table ---


def outcomes(**of):
    """All cells; those of one client, by name, are something else than soon recovered."""
    usual = Outcome("recovered", seconds=0.3, same_member=True)
    return {cell: of.get(cell.client, usual) for cell in cells(list(SHOWN), list(APIS), list(TROUBLES))}


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome("recovered", seconds=0.3, same_member=True), "0.3 s"),
        (Outcome("recovered", seconds=0.3, same_member=True, told=("no",), read_again=3), "0.3 s†‡"),
        (Outcome("recovered", seconds=9.94, same_member=False), "9.9 s, new id"),
        (Outcome("recovered", seconds=9.96, same_member=False), "10 s, new id"),
        (Outcome("stopped", told=("no",), ended=True), "stopped"),
        (Outcome("hung"), "hung"),
        (Outcome("no heartbeats", told=("no",)), "no heartbeats†"),
    ],
)
def test_a_cell(outcome, text):
    assert shown(outcome) == text
    assert CELL.fullmatch(text)


def test_sentences_name_clients_and_requests():
    found = sentences(outcomes(kafkajs=Outcome("stopped", told=("no",))))
    errors = "/".join(TROUBLES)
    assert found[0] == f"- It stopped with an error: kafkajs ({', '.join(f'{api} {errors}' for api in APIS)})."
    assert found[1] == "- It hung, and told the application nothing: nobody."


def test_json_has_every_cell():
    found = plain(outcomes(java=Outcome("hung")), "2026-01-01")
    assert json.loads(json.dumps(found)) == found
    assert len(found["cells"]) == len(SHOWN) * len(APIS) * len(TROUBLES)
    assert found["clients"]["Java"] == CLIENTS["java"].version
    assert {each["client"] for each in found["cells"] if each["outcome"] == "hung"} == {"Java"}
    assert all((each["error"] is None) == each["dropped"] for each in found["cells"])


def test_it_goes_between_its_markers():
    text = f"before\n{client_matrix.BEGIN}old\n{client_matrix.END}\nafter\n"
    fresh = client_matrix.written(text, readme(outcomes(), "2026-01-01"))
    assert fresh.startswith(f"before\n{client_matrix.BEGIN}Run on 2026-01-01. ")
    assert fresh.endswith(f"\n{client_matrix.END}\nafter\n")
    with pytest.raises(ValueError, match="no part 'errors'"):
        client_matrix.written("nothing", "new")


def test_some_cells_are_listed():
    assert listed({Cell("java", "Heartbeat", DROPPED): Outcome("hung")}) == "Java Heartbeat dropped: hung"


def test_readme_is_of_all_cells(capsys):
    with pytest.raises(SystemExit) as ended:
        client_matrix.main(["--readme", "--client", "java"])
    assert ended.value.code == 2
    assert "README's table is of all cells" in capsys.readouterr().err


def test_only_clients_with_static_members_are_static():
    assert Cell("java", "Heartbeat", "82").static
    assert not Cell("java", "Heartbeat", "25").static
    assert not Cell("kafkajs", "Heartbeat", "82").static


# --- what became of a client ---


def test_what_was_committed_and_read_twice_was_read_again():
    once = [("t", 0, 4, "a"), ("t", 0, 5, "b"), ("t", 1, 0, "c")]
    assert read_again(2 * once, {("t", 0): 5}) == 1
    assert read_again(once, {("t", 0): 6}) == 0


class Told:
    """Events at the moments that are given, of one client with the id c."""

    def __init__(self):
        self.events = []

    def request(self, at, api, member="m", errors=(), fault="", silent=False, client_id="c", **offsets):
        asked = Asked(
            at=at, wall_ms=0, number=1, connection=1, client_id=client_id, host="h", node_id=1, api=api, version=1,
            member=member, offsets={(topic, 0): offset for topic, offset in offsets.items()},
        )  # fmt: skip
        self.events += [asked, Answered(at=at, wall_ms=0, asked=asked, errors=errors, fault=fault, silent=silent)]

    def beats(self, at, last, error="NONE", member="m"):
        self.events.append(
            Beats(at=at, wall_ms=0, member=member, instance=None, client_id="c", error=error, count=2, last=last)
        )

    def note(self, at, note):
        self.events.append(Noted(at=at, wall_ms=0, note=note))

    @property
    def seen(self):
        return seen(self.events, "c")


@pytest.fixture
def told():
    """It committed offset 5, and its next heartbeat met a fault."""
    told = Told()
    told.request(1, "OffsetCommit", t=5)
    told.request(2, "Heartbeat", errors=("UNKNOWN_MEMBER_ID",), fault="a fault")
    return told


def test_without_a_fault_nothing_is_seen():
    told = Told()
    told.request(1, "OffsetCommit", t=5)
    assert told.seen is None


def test_it_recovers_when_it_commits_and_nothing_else_happens(told):
    told.request(2.5, "OffsetCommit", t=6)
    told.request(3, "JoinGroup", member="")
    told.note(3, notes.RebalanceStarted(group="g", generation=1, reason="", waiting_for=()))
    told.request(4, "SyncGroup", member="n")
    told.request(4.5, "OffsetFetch")
    told.request(5, "OffsetCommit", member="n", t=6)
    told.note(5, notes.OffsetsCommitted(group="g", member="n", generation=2, partitions=1))
    told.request(6, "OffsetCommit", member="n", t=7)
    told.beats(4.7, 8.1, member="n")
    assert (told.seen.met_at, told.seen.recovered_at) == (2, 5)
    assert (told.seen.member_before, told.seen.member_after) == ("m", "n")
    assert told.seen.requests == ("OffsetCommit", "JoinGroup", "SyncGroup", "OffsetFetch", "OffsetCommit")
    assert not told.seen.settled(5 + QUIET_S - 0.1)
    assert told.seen.settled(5 + QUIET_S)


def test_what_was_committed_before_is_no_recovery(told):
    told.request(3, "OffsetCommit", t=5)
    told.beats(3, 10)
    assert told.seen.recovered_at is None
    assert not told.seen.commits(100)
    assert not told.seen.settled(100)


def test_commits_that_are_refused_or_unanswered_are_no_recovery(told):
    told.request(3, "OffsetCommit", t=6, errors=("ILLEGAL_GENERATION",))
    told.request(4, "OffsetCommit", t=6, silent=True)
    assert told.seen.recovered_at is None


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"])
def test_a_heartbeat_that_is_refused_means_that_more_will_happen(told, error):
    told.request(3, "OffsetCommit", t=6)
    told.beats(4, 4, error=error)
    assert told.seen.recovered_at is None
    told.request(5, "OffsetCommit", t=7)
    assert told.seen.recovered_at == 5


def test_without_heartbeats_it_only_commits(told):
    told.beats(2.5, 2.9)
    told.request(3, "OffsetCommit", t=6)
    assert told.seen.commits(100)
    assert not told.seen.settled(100)


def test_commits_of_others_before_the_fault_are_not_its_own():
    told = Told()
    told.request(1, "OffsetCommit", t=5)
    told.request(2, "OffsetCommit", member="other", client_id="other", t=9)
    told.request(3, "OffsetFetch", errors=("NOT_COORDINATOR",), fault="a fault")
    told.request(4, "OffsetCommit", t=6)
    assert told.seen.member_before == "m"
    assert told.seen.recovered_at == 4
