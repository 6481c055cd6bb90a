"""Apache Kafka: one node, broker and controller in one (KRaft)."""

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from .brokers import Running, Wanted, not_on_path, serve
from .building import built
from .overseer import Failed, Overseer, Unusable
from .probe import HOST, create_topics, free_ports

SOURCE = Path(__file__).parent / "kafka"
GROUP, ARTIFACT = "org.apache.kafka", "kafka_2.13"
OLDEST = "2.8"
"""The oldest that runs without ZooKeeper: as a preview; it is meant for use from 3.3 on."""
BEFORE_OLDEST = (
    *("0.8", "0.9", "0.10", "0.11", "1.0", "1.1"),
    *(f"2.{minor}" for minor in range(8)),
)
"""Those that need ZooKeeper."""
NODE = 1
CLUSTER_ID = "a2Nvb3JkLXJlZmVyZW5jZQ"
JAVA = (
    "-Xms256m", "-Xmx512m",
    # As Kafka's own scripts have it.
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
    "-Djava.net.preferIPv4Stack=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)  # fmt: skip
ALONE: Mapping[str, object] = {
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}
"""What a cluster of one broker has to have. All else is Kafka's default."""


def missing() -> Sequence[str]:
    """The programs that it needs and that cannot be found."""
    return not_on_path("java", "mvn")


def version() -> str:
    """The usual one: that of the pom."""
    found = re.search(r"<kafka\.version>(.+)</kafka\.version>", (SOURCE / "pom.xml").read_text())
    assert found is not None
    return found[1]


def start(wanted: Wanted, overseer: Overseer, undo: ExitStack) -> Running:
    """See `brokers.Kind`. A directory that is used again is told the new ports."""
    release = wanted.release or version()
    if numbers(release) < numbers(OLDEST):
        if numbers(release) not in map(numbers, BEFORE_OLDEST):
            raise Unusable(unknown(release))
        raise Unusable(
            f"it needs ZooKeeper in release {release}, which is not started here; {OLDEST} is the oldest without"
        )
    home = built("kafka", SOURCE, partial(make, release), overseer, release)
    directory = wanted.directory or wanted.scratch
    data = directory / "data"
    if not (data / "meta.properties").exists():
        shutil.copytree(home / "formatted", data)
    free = free_ports(2)
    port, controller_port = wanted.port or free[0], free[1]
    properties = directory / "server.properties"
    write(properties, {**settings(data, port, controller_port), **wanted.overrides})
    log = directory / "kafka.log"
    process = serve([*java(home), "kafka.Kafka", str(properties)], log, port, overseer, undo)
    create_topics(port, wanted.topics)
    return Running(release, port, process.pid, process, log)


def numbers(release: str) -> list[int]:
    """What a release begins with, to tell which is older."""
    return [int(number) for number in re.findall(r"\d+", release)[:2]]


def make(release: str, overseer: Overseer, home: Path) -> None:
    """Gather the jars of a release, and format a directory to copy: that takes a Java of its own.

    Raises Unusable if there is no such release.
    """
    pom = str(SOURCE / "pom.xml")
    maven = ["mvn", "--quiet", "--batch-mode", "--no-transfer-progress", f"--file={pom}"]
    maven += [f"-Dout={home}", f"-Dkafka.version={release}", "compile"]
    log = home / "maven.log"
    try:
        overseer.run(maven, log)
    except Failed as error:
        if is_unknown(release, log.read_text(errors="replace")):
            raise Unusable(unknown(release)) from error
        raise
    properties = home / "format.properties"
    write(properties, settings(home / "formatted", *free_ports(2)))
    tool = [*java(home), "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)]
    overseer.run(tool, home / "format.log")


def unknown(release: str) -> str:
    """Say that there is no such release, and which there are."""
    return (
        f"there is no release {release} of Apache Kafka in Maven Central; any that it has from {OLDEST}.0 on can be had"
        f", and {version()} is the usual one"
    )


def is_unknown(release: str, said: str) -> bool:
    """Whether Maven said that its repository, which it reached, does not have the release.

    It says so in other words when it was told that before, and asks nobody again for a day.
    """
    artifact = re.escape(f"{GROUP}:{ARTIFACT}:") + r"\w+" + re.escape(f":{release}")
    found = re.search(rf"Could not find artifact {artifact} |{artifact} was not found in \S+ during a previous", said)
    return found is not None


def java(home: Path) -> list[str]:
    return ["java", *JAVA, "-cp", f"{home}/jars/*"]


def settings(data: Path, port: int, controller_port: int) -> dict[str, object]:
    """The server.properties."""
    return {
        "process.roles": "broker,controller",
        "node.id": NODE,
        "controller.quorum.voters": f"{NODE}@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": data,
        **ALONE,
    }


def write(properties: Path, values: Mapping[str, object]) -> None:
    properties.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
