"""README's table of what brokers keep, and how scripts/cards.py goes on with a broker that goes away."""

import contextlib
import re
from pathlib import Path

import pytest

from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict
from kcoord.check.rules import all_rules
from scripts import cards
from scripts.reference import apache, kfake

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def shown():
    """The rows of README's table, without the line under the head."""
    text = (ROOT / "README.md").read_text().partition(cards.BEGIN)[2].partition(cards.END)[0]
    lines = text.splitlines()
    assert all(re.fullmatch(r"\|( [^|]* \|)+", line) for line in lines)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| --- |")]


def test_the_table_is_well_formed(shown):
    assert shown[0] == ["", *cards.BROKERS]
    assert {len(row) for row in shown} == {1 + len(cards.BROKERS)}
    assert [row[0] for row in shown[1:7]] == [
        "version",
        "judged on",
        "rules kept",
        "rules broken",
        "rules not applicable",
        "kept, of those that Apache Kafka keeps",
    ]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", date) for date in shown[2][1:])
    assert all(re.fullmatch(r"\d{1,3} %", each) for each in shown[6][1:])


def test_it_is_of_the_versions_that_are_run(shown):
    pinned = re.search(r'"confluent-kafka==(\S+)"', (ROOT / "pyproject.toml").read_text())[1]
    kafka, _, ours, mock = shown[1][1:]
    assert (kafka, ours) == (apache.version(), kfake.version())
    assert mock.endswith(f"(confluent-kafka {pinned})")


NEARLY = 0.95


def test_it_is_of_nearly_all_rules_that_there_are(shown):
    """If not, scripts/cards.py has to be run: a few rules more need not wait for that."""
    totals = [list(map(int, row[1:])) for row in shown[3:6]]
    (judged,) = {sum(column) for column in zip(*totals, strict=True)}
    assert NEARLY * len(all_rules()) <= judged <= len(all_rules())
    by_api = [[list(map(int, cell.split("/"))) for cell in row[1:]] for row in shown[7:]]
    assert [[sum(each) for each in zip(*column, strict=True)] for column in zip(*by_api, strict=True)] == [
        list(each) for each in zip(*totals, strict=True)
    ]
    apis = {rule.api for rule in all_rules().values()}
    assert {row[0] for row in shown[7:]} == apis
    counts = {api: sum(rule.api == api for rule in all_rules().values()) for api in apis}
    found = {row[0]: sum(map(int, row[1].split("/"))) for row in shown[7:]}
    assert all(NEARLY * counts[api] - 1 <= found[api] <= counts[api] for api in apis)


# --- how it is made ---


def report_of(verdicts, rules, ran=()):
    results = tuple(RuleResult(rule, (CaseResult(rule.cases[0], Run(verdicts[rule.id], 0.1)),)) for rule in rules)
    return Report("here", "run", 0.0, 1.0, results, stopped="gone" if ran else "", ran=tuple(ran))


def test_what_makes_a_broker_go_is_found(rule_of):
    rules = [rule_of("kept", id=name) for name in ("a", "deadly", "c", "fatal", "e")]
    asked = []

    @contextlib.contextmanager
    def broker():
        yield "1.0", "here:9092"
        if asked[-1]:
            raise AssertionError("it did not end in order")

    def judge(address, some):
        """Rules run in fours; those that are deadly end the broker."""
        assert address == "here:9092"
        verdicts = {each.id: Verdict.NOT_RUN for each in some}
        ran = []
        for at in range(0, len(some), 4):
            now = some[at : at + 4]
            if {each.id for each in now} & {"deadly", "fatal"}:
                ran = [each.id for each in now]
                break
            verdicts |= {each.id: Verdict.KEPT for each in now}
        asked.append(bool(ran))
        return report_of(verdicts, some, ran)

    card = cards.judged("it", broker, rules, judge)
    assert card.version == "1.0"
    assert card.verdicts == {
        "a": Verdict.KEPT,
        "deadly": Verdict.BROKEN,
        "c": Verdict.KEPT,
        "fatal": Verdict.BROKEN,
        "e": Verdict.KEPT,
    }
    assert card.count(rules) == [3, 2, 0]


def test_a_broker_that_ends_in_disorder_though_it_was_there_is_a_fault_of_ours(rule_of):
    @contextlib.contextmanager
    def broker():
        yield "1.0", "here:9092"
        raise AssertionError("it did not end in order")

    def judge(_address, some):
        return report_of({"a": Verdict.KEPT}, some)

    with pytest.raises(AssertionError, match="in order"):
        cards.judged("it", broker, [rule_of("kept", id="a")], judge)


def test_the_table_that_is_made(rule_of):
    kept, broken, absent = Verdict.KEPT, Verdict.BROKEN, Verdict.NOT_APPLICABLE
    rules = [rule_of("kept", id="a"), rule_of("kept", id="b", api="Fetch"), rule_of("kept", id="c")]
    both = [
        cards.Card("Kafka", "4", "2026-01-02", {"a": kept, "b": kept, "c": absent}),
        cards.Card("other", "1", "2026-01-03", {"a": kept, "b": broken, "c": kept}),
    ]
    assert cards.table(both, rules).splitlines() == [
        "|  | Kafka | other |",
        "| --- | ---: | ---: |",
        "| version | 4 | 1 |",
        "| judged on | 2026-01-02 | 2026-01-03 |",
        "| rules kept | 2 | 2 |",
        "| rules broken | 0 | 1 |",
        "| rules not applicable | 1 | 0 |",
        "| kept, of those that Kafka keeps | 100 % | 50 % |",
        "| Heartbeat | 1/0/1 | 2/0/0 |",
        "| Fetch | 1/0/0 | 0/1/0 |",
    ]


def test_the_table_is_put_between_its_markers():
    text = f"before\n{cards.BEGIN}old\n{cards.END}\nafter\n"
    assert cards.written(text, "new") == f"before\n{cards.BEGIN}new\n{cards.END}\nafter\n"
    with pytest.raises(ValueError, match="cards"):
        cards.written("nothing", "new")
