"""Apache Kafka: one node, broker and controller in one (KRaft)."""

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from .brokers import Running, Wanted, not_on_path, serve
from .building import built
from .overseer import Overseer
from .probe import HOST, create_topics, free_ports

SOURCE = Path(__file__).parent / "kafka"
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
    """That of the pom."""
    found = re.search(r"<kafka\.version>(.+)</kafka\.version>", (SOURCE / "pom.xml").read_text())
    assert found is not None
    return found[1]


def start(wanted: Wanted, overseer: Overseer, undo: ExitStack) -> Running:
    """See `brokers.Kind`. A directory that is used again is told the new ports."""
    home = built("kafka", SOURCE, make, overseer)
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
    return Running(version(), port, process.pid, process, log)


def make(overseer: Overseer, home: Path) -> None:
    """Gather the jars, and format a directory to copy: that takes a Java of its own."""
    pom = str(SOURCE / "pom.xml")
    maven = ["mvn", "--quiet", "--batch-mode", "--no-transfer-progress", f"--file={pom}", f"-Dout={home}", "compile"]
    overseer.run(maven, home / "maven.log")
    properties = home / "format.properties"
    write(properties, settings(home / "formatted", *free_ports(2)))
    tool = [*java(home), "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)]
    overseer.run(tool, home / "format.log")


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
