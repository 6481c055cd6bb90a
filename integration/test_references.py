"""The brokers to compare with: each starts, answers, and leaves nothing behind."""

import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from integration.waiting import eventually
from scripts.reference import Reference, Unusable, apache, reference, started, why_not
from scripts.reference.building import BUILT
from scripts.reference.context import READY, SCRIPT
from scripts.reference.probe import API_VERSIONS, call, free_ports

METADATA, FIND_COORDINATOR = 3, 10
OLDER = "3.9.2"


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """Where temporary files go, and nothing else does."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    return directory


@pytest.fixture
def able():
    """Leave a test out where its broker cannot run; where everything is to be tested, that is a failure."""

    def check(kind: str) -> None:
        if why := why_not(kind):
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)

    return check


def port_of(bootstrap: str) -> int:
    host, _, port = bootstrap.rpartition(":")
    assert host == "127.0.0.1"
    return int(port)


def coordinator(port: int) -> int | None:
    """The port of some group's coordinator (FindCoordinator 0), or None while there is none."""
    answer = call(port, FIND_COORDINATOR, 0, struct.pack(">h1s", 1, b"g"))
    error, _, size = struct.unpack_from(">hih", answer)
    assert error in {0, 15}, answer  # COORDINATOR_NOT_AVAILABLE
    return None if error else struct.unpack_from(">i", answer, 8 + size)[0]


def brokers(port: int) -> list[tuple[str, int]]:
    """Where the brokers listen (Metadata 0, of all topics)."""
    answer = call(port, METADATA, 0, struct.pack(">i", 0))
    (count,) = struct.unpack_from(">i", answer)
    found, at = [], 4
    for _ in range(count):
        _, size = struct.unpack_from(">ih", answer, at)
        at += 6 + size
        found.append((answer[at - size : at].decode(), struct.unpack_from(">i", answer, at)[0]))
        at += 4
    return found


def newest(port: int, key: int) -> int:
    """The newest version of an API that is advertised (ApiVersions 0)."""
    answer = call(port, API_VERSIONS, 0, b"")
    return {api: last for api, _, last in struct.iter_unpack(">hhh", answer[6:])}[key]


def partitions(port: int, topic: str) -> int:
    """How many partitions a topic has (Metadata 0)."""
    name = topic.encode()
    answer = call(port, METADATA, 0, struct.pack(f">ih{len(name)}s", 1, len(name), name))
    before = answer.index(struct.pack(">ihh", 1, 0, len(name)) + name)  # one topic, no error
    return struct.unpack_from(">i", answer, before + 8 + len(name))[0]


def is_gone(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) != 0


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


def check_answers(running: Reference, kind: str) -> None:
    port = port_of(running.bootstrap)
    assert running.name == kind
    assert brokers(port) == [("127.0.0.1", port)]
    assert eventually(lambda: coordinator(port), "a coordinator") == port
    assert not has_ended(running.pid)


def check_nothing_is_left(running: Reference, temporary: Path) -> None:
    assert has_ended(running.pid)
    assert is_gone(port_of(running.bootstrap))
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("kind", ["kfake", "librdkafka"])
def test_it_answers_and_leaves_nothing_behind(kind, able, temporary):
    able(kind)
    with started(kind) as running:
        check_answers(running, kind)
    check_nothing_is_left(running, temporary)


def test_kafka_answers_and_leaves_only_its_directory_to_be_used_again(able, temporary, tmp_path):
    able("kafka")
    kept = tmp_path / "kept"
    with started("kafka", directory=kept, topics={"t": 3}, overrides={"num.partitions": 5}) as running:
        check_answers(running, "kafka")
        assert partitions(port_of(running.bootstrap), "t") == 3
    check_nothing_is_left(running, temporary)
    assert "num.partitions=5\n" in (kept / "server.properties").read_text()
    with reference("kafka", directory=kept, topics={"t": 4}) as bootstrap:
        assert partitions(port_of(bootstrap), "t") == 3


def test_kafka_in_an_older_release(able, temporary):
    able("kafka")
    with started("kafka", release=OLDER, topics={"t": 3}) as running:
        check_answers(running, "kafka")
        assert running.version == OLDER
        assert newest(port_of(running.bootstrap), METADATA) == 12  # 13 came with 4.0
        assert partitions(port_of(running.bootstrap), "t") == 3
    check_nothing_is_left(running, temporary)


MAVEN_REFUSES = "[ERROR] Failed to execute goal on project kafka: Could not resolve dependencies for project x:pom:1: "
UNKNOWN = (
    "kafka: there is no release {} of Apache Kafka in Maven Central; any that it has from 2.8.0 on can be had, and"
    f" {apache.version()} is the usual one\n"
)


@pytest.mark.parametrize(
    ("maven", "status", "sentence"),
    [
        (
            "Could not find artifact org.apache.kafka:kafka_2.13:jar:9.0.1 in central (https://m) -> [Help 1]",
            2,
            UNKNOWN.format("9.0.1"),
        ),
        (
            "org.apache.kafka:kafka_2.13:jar:9.0.1 was not found in https://m during a previous attempt.",
            2,
            UNKNOWN.format("9.0.1"),
        ),
        ("Could not transfer artifact org.apache.kafka:kafka_2.13:pom:9.0.1: Unknown host m", 1, "Unknown host m"),
        ("Could not find artifact org.slf4j:slf4j-simple:jar:9.0.1 in central", 1, "slf4j-simple"),
    ],
)
def test_a_release_that_cannot_be_had(maven, status, sentence, tmp_path):
    for program, text in (("mvn", f"echo '{MAVEN_REFUSES}{maven}'; exit 1"), ("java", "exit 3")):
        (tmp_path / program).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / program).chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, str(SCRIPT), "kafka", "--release=9.0.1"]
    done = subprocess.run(command, env=path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == sentence if status == 2 else sentence in done.stderr
    assert list(BUILT.glob("reference-kafka-9.0.1*")) == []


@pytest.mark.parametrize("release", ["0.0.0", "0.7", "0.12.0", "1", "1.2.0", "v0.1"])
def test_a_release_that_there_never_was(release, able):
    able("kafka")
    command = [sys.executable, str(SCRIPT), "kafka", f"--release={release}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", UNKNOWN.format(release))


@pytest.mark.parametrize("release", ["2.7.2", "2.0.0", "0.11.0.3", "0.8.2.2"])
def test_a_kafka_that_needs_zookeeper(release, able, temporary):
    able("kafka")
    with pytest.raises(Unusable, match=f"kafka: it needs ZooKeeper in release {release}, which is not started here; "):
        started("kafka", release=release).__enter__()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("kind", ["kfake", "librdkafka"])
def test_a_broker_that_comes_in_one_release(kind, able, temporary):
    able(kind)
    with pytest.raises(Unusable, match=f"{kind}: it is to be had in release \\S+ only, not 3.9.2"):
        started(kind, release="3.9.2").__enter__()
    with started(kind) as running:
        usual = running.version
    with started(kind, release=usual) as running:
        assert running.version == usual
    assert list(temporary.iterdir()) == []


def test_a_kfake_with_topics_on_a_port_that_was_chosen(able, tmp_path):
    able("kfake")
    (port,) = free_ports(1)
    with reference("kfake", port, topics={"t": 3, "u": 1}, directory=tmp_path / "kept") as bootstrap:
        assert port_of(bootstrap) == port
        assert (partitions(port, "t"), partitions(port, "u")) == (3, 1)
        with pytest.raises(AssertionError, match=f"kfake: cannot listen on 127.0.0.1:{port}: Address already in use"):
            reference("kfake", port).__enter__()
    with reference("kfake", directory=tmp_path / "kept") as bootstrap:
        assert partitions(port_of(bootstrap), "t") == 3


def test_a_mock_cluster_behind_a_port_that_was_chosen(able):
    able("librdkafka")
    (port,) = free_ports(1)
    with reference("librdkafka", port) as bootstrap:
        assert port_of(bootstrap) == port
        ((_, own),) = brokers(port)
        assert own != port
        assert coordinator(port) == own
        assert coordinator(own) == own


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"directory": Path("x")}, "it has no use for a directory"),
        ({"topics": {"t": 1}}, "librdkafka makes topics when a client asks for them"),
    ],
)
def test_what_the_mock_cluster_cannot(arguments, sentence, able, tmp_path, monkeypatch):
    able("librdkafka")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unusable, match=sentence):
        reference("librdkafka", **arguments).__enter__()


def test_settings_that_a_broker_refuses(able, temporary):
    able("librdkafka")
    with pytest.raises(AssertionError, match=r'No such configuration property: "no.such"'):
        reference("librdkafka", overrides={"no.such": 1}).__enter__()
    able("kafka")
    with pytest.raises(
        AssertionError, match=r"kafka: it ended with status 1: (?s:.)* Invalid value x for configuration num"
    ):
        reference("kafka", overrides={"num.partitions": "x"}).__enter__()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("kafka", "kafka: it needs java and mvn, which"), ("kfake", "kfake: it needs go, which")],
)
def test_a_machine_without_the_toolchain(kind, sentence, tmp_path):
    nothing = {"PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, str(SCRIPT), kind], env=nothing, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", ["kafka --port=65536", "kafka --release=x", "kfake --topic=t", "kfake --override=x", "nix", ""]
)
def test_arguments_that_are_wrong(arguments):
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments.split()], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: " in done.stderr


def begin(kind: str) -> tuple[subprocess.Popen[str], int, int]:
    """Run the script as a person does; its process, that of the broker, and the port."""
    process = subprocess.Popen([sys.executable, str(SCRIPT), kind], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready = READY.fullmatch(process.stdout.readline())
    assert ready is not None
    return process, int(ready["pid"]), port_of(ready["bootstrap"])


def parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_the_script(how, able, temporary):
    able("kfake")
    script, pid, port = begin("kfake")
    script.send_signal(how)
    assert script.wait() == (-how if how == signal.SIGKILL else 0)
    eventually(lambda: is_gone(port) and has_ended(pid), "the broker to end")
    eventually(lambda: not list(temporary.iterdir()), "its directory to be removed")
    script.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_it_ends_with_the_process_that_holds_it(able, temporary):
    able("kfake")
    script, pid, port = begin("kfake")
    os.kill(parent(pid), signal.SIGKILL)
    eventually(lambda: is_gone(port) and has_ended(pid), "the broker to end")
    assert script.wait() != 0
    script.communicate()


def test_a_broker_that_ends_by_itself(able, temporary):
    able("kfake")

    def break_off() -> None:
        os.kill(running.pid, signal.SIGKILL)
        eventually(lambda: not list(temporary.iterdir()), "its directory to be removed")

    with pytest.raises(AssertionError, match="kfake: it ended by itself, with status -9"), started("kfake") as running:
        break_off()
