"""kcoord is held against Apache Kafka: all rules at both, by `kcoord check KAFKA KCOORD`, and what is said, by field.

Both keep every rule, and what differs is listed here with the reason. The list is exact: a difference that is not on it
fails, and so does an entry of it that no longer occurs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from integration.server import Server
from scripts.reference import started, why_not

PATIENCE: Final = 1200
"""Seconds that the run may take before that counts as hanging; it needs two to three minutes."""
pytestmark = pytest.mark.timeout(2 * PATIENCE)

BY_RULE: Final[Mapping[str, tuple[str, set[str]]]] = {
    "D38": ("Kafka never answers a JoinGroup whose place another connection takes", {"JoinGroup"}),
    "G32": ("Kafka never answers a SyncGroup whose place another connection takes", {"SyncGroup"}),
    "I10b": ("Kafka never answers the held SyncGroup of a member that leaves", {"SyncGroup"}),
    "joining-21": ("Kafka never answers the held SyncGroup of a member that is replaced", {"SyncGroup"}),
    "joining-23": (
        "a protocol that is listed twice counts once, and so may win",
        {"JoinGroup protocol_name", "JoinGroup metadata"},
    ),
    "fetch-16": ("fetch sessions are declined", {"Fetch session_id", "Fetch"}),
    "fetch-records-5": ("a Fetch returns whole batches only", {"Fetch records"}),
    "fetch-records-8": ("a Fetch returns whole batches only", {"Fetch records"}),
    "fetch-records-15": ("a Fetch returns whole batches only", {"Fetch records"}),
    "produce-35": (
        "who asks for a transaction's coordinator is told at once that there is none",
        {f"FindCoordinator {field}" for field in ("error_code", "node_id", "host", "port")},
    ),
}
"""Rules in which something else is said: the reason, and in which requests or answers, and in which fields of them."""

READ_ONLY: Final = {
    # No setting of the broker changes while it runs.
    "compression.type", "listeners", "log.cleaner.delete.retention.ms", "log.cleanup.policy",
    "log.message.timestamp.after.max.ms", "log.message.timestamp.before.max.ms", "log.message.timestamp.type",
    "log.retention.bytes", "log.retention.ms", "max.connections", "message.max.bytes", "min.insync.replicas",
}  # fmt: skip
OWN: Final = {
    # Kafka's file has no cluster id and no store; the others are kcoord's own.
    "as.version", "brokers", "cluster.id", "mask", "memory.limit.bytes", "store",
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `kcoord check` writes about Kafka and kcoord, both with their default settings."""
    if why := why_not("kafka"):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    directory = tmp_path_factory.mktemp("conformance")
    result = directory / "differences.json"
    server = Server(directory / "log", topics={}, settings={})
    try:
        with started("kafka") as kafka:
            done = subprocess.run(
                [sys.executable, "-m", "kcoord", "check", kafka.bootstrap, server.bootstrap, "--json", str(result)],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
    finally:
        server.close()
    print(done.stdout)  # shown with what fails
    assert done.returncode == 1, done.stderr
    return json.loads(result.read_text())


def test_all_rules_were_run(found):
    assert found["stopped"] == ""
    kafka, kcoord = found["reports"]
    assert [each["id"] for each in kafka["rules"]] == [each["id"] for each in kcoord["rules"]]
    assert not [note for report in found["reports"] for note in report["notes"] if "removed" in note]


def about(found: dict[str, Any], *rules: str) -> str:
    """What is known of rules, to be read where a test fails: the result is gone by then."""
    lines = [f"unsteady: {found['unsteady']}"]
    for report in found["reports"]:
        for rule in report["rules"]:
            lines += [f"{report['broker']} {text}" for text in of_a_rule(rule)] if rule["id"] in rules else []
    for case in found["differences"]:
        if case["id"] in rules:
            lines += [f"{case['id']} [{case['case']}] #{each['connection']} {each}" for each in case["differs"]]
    return "\n".join(lines)


def of_a_rule(rule: dict[str, Any]) -> Iterator[str]:
    """What came of a rule at one broker, and of each of its cases in which anything went wrong."""
    yield f"{rule['id']}: {rule['verdict']} {rule['why']}"
    for case in rule["cases"]:
        for when, run in (("at first", case["before"]), ("in the end", case)):
            if run is not None and (why := run["why"] or run["failure"]):
                yield f"  [{case['case']}] {when} {run['verdict']}, with {run['beside']} beside it: {why}"


@pytest.mark.parametrize("number", [0, 1], ids=["kafka", "kcoord"])
def test_no_rule_is_broken(found, number):
    broken = [each["id"] for each in found["reports"][number]["rules"] if each["verdict"] == "broken"]
    assert broken == [], about(found, *broken)


def test_kcoord_keeps_every_rule_that_kafka_keeps(found):
    kafka, kcoord = ({each["id"] for each in of["rules"] if each["verdict"] == "kept"} for of in found["reports"])
    assert len(kafka) > 700
    assert sorted(kafka - kcoord) == [], about(found, *(kafka - kcoord))


def place(differs: dict[str, Any]) -> str:
    """The request or answer, and the field: `Fetch records`."""
    fields = [step for step in differs["path"] if not step.isdigit() and not step.startswith("[")]
    return " ".join([differs["in"].partition(" ")[0], *fields[-1:]])


def test_what_is_said_differs_only_where_the_reason_is_known(found):
    places: dict[str, set[str]] = {}
    for case in found["differences"]:
        places.setdefault(case["id"], set()).update(place(each) for each in case["differs"])
    known = {rule: fields for rule, (_, fields) in BY_RULE.items()}
    odd = [rule for rule in {**known, **places} if known.get(rule) != places.get(rule)]
    assert odd == [], about(found, *odd)


def offers(found: dict[str, Any], what: str, *values: str) -> set[str]:
    """The names of what the brokers list of themselves with these values, or with any."""
    return {
        each["name"]
        for each in found["offers"]
        if each["what"] == what and (not values or each["values"] == list(values))
    }


def test_kcoord_offers_what_kafka_does_but_for_what_it_says(found):
    apis = offers(found, "API")
    # What is served is served in Kafka's versions.
    assert apis - offers(found, "API", "offered", "not offered") == set()
    # Transactions, ACLs, SASL, the newer groups, and what brokers and controllers say to each other.
    assert {"AddPartitionsToTxn", "CreateAcls", "SaslHandshake", "ConsumerGroupHeartbeat", "DescribeQuorum"} <= apis
    settings = offers(found, "setting") - offers(found, "setting", "offered", "not offered")
    assert settings == OWN | {f"{name} read_only" for name in READ_ONLY}
    assert offers(found, "setting", "not offered", "offered") == OWN
    # Features are what brokers and controllers of several releases have to agree on.
    assert {each.split()[0] for each in offers(found, "feature")} == {
        "supported_features",
        "finalized_features",
        "finalized_features_epoch",
    }
