"""What kafka-python says to the server, read on the way, recorded, and played against another server."""

import json
import re
import signal
import subprocess
import sys

import pytest
from kafka import KafkaConsumer, KafkaProducer

PATIENCE = 60
"""Seconds for what takes a few on a busy machine."""
READY = re.compile(r"kcoord: listening on (127\.0\.0\.1:[0-9]+)\n")
RECORDS = 20


def kcoord(*arguments):
    return [sys.executable, "-m", "kcoord", *arguments]


@pytest.fixture
def recording(server, tmp_path):
    """A proxy that records; gives its address and what ends it and returns the file."""
    path = tmp_path / "session.jsonl"
    command = kcoord("record", str(path), "--listen=127.0.0.1:0", f"--to={server.bootstrap}", "--rewrite")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        match = READY.fullmatch(process.stderr.readline())
        assert match is not None

        def end():
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert process.stderr.read() == ""
            return path

        yield match[1], end
        process.kill()


def produce_and_consume(bootstrap, group_id):
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(RECORDS):
        producer.send("t", b"%d" % number, partition=number % 4)
    producer.flush()
    producer.close()
    consumer = KafkaConsumer(
        "t", bootstrap_servers=bootstrap, group_id=group_id, auto_offset_reset="earliest", enable_auto_commit=False
    )
    seen = []
    while len(seen) < RECORDS:
        # It ends with the first record; where polls are short, kafka-python 3.0 may miss that it has joined.
        for records in consumer.poll(timeout_ms=10_000).values():
            seen += [int(each.value) for each in records]
    consumer.commit()
    consumer.close()
    assert sorted(seen) == list(range(RECORDS))


def test_a_client_is_read_recorded_and_played_again(server, start_server, recording):
    bootstrap, end = recording
    produce_and_consume(bootstrap, "readers")
    path = end()

    done = subprocess.run(
        kcoord("dump", str(path), "--json"), capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    frames = [each for each in map(json.loads, done.stdout.splitlines()) if "frame" in each]
    assert [each["problems"] for each in frames if each["problems"]] == []
    assert {each["api"] for each in frames} >= {
        "ApiVersions", "Metadata", "Produce", "InitProducerId", "FindCoordinator", "JoinGroup", "SyncGroup",
        "OffsetFetch", "ListOffsets", "Fetch", "OffsetCommit", "LeaveGroup",
    }  # fmt: skip
    values = [
        row["value"] for each in frames if each["api"] == "Fetch" for row in each["body"]
        if re.fullmatch(r".*\.records\[[0-9]+\]\.value", row["path"])
    ]  # fmt: skip
    assert sorted(int(bytes.fromhex(each)) for each in set(values)) == list(range(RECORDS))
    group = subprocess.run(
        kcoord("dump", str(path), "--group", "readers", "--only", "JoinGroup"),
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert "subscription of the consumer protocol" in group.stdout

    # The same answers, in every field, from a server that has not seen these clients.
    fresh = start_server()
    command = kcoord("replay", str(path), fresh.bootstrap)
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert re.fullmatch(r"([0-9]+) requests, \1 answers, 0 differences\n", again.stdout), again.stdout
    assert again.returncode == 0
    # And others from one that has.
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert again.returncode == 1
    assert "base_offset was 0, is 5" in again.stdout
