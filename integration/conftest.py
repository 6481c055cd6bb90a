"""Fixtures: a server in its own process for each module, a group and an admin client for each test."""

import uuid
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient

from integration.members import Group
from integration.processes import ProcessMember
from integration.server import Server
from tests.looks import plain_output  # noqa: F401 - pytest finds it here

FORSAKEN = "unclosed <socket.socket"
"""kafka-python 3.0.12 leaves the socket of a connection that was refused to the garbage collector."""
GROUPS = pytest.StashKey[list[tuple[Any, Group]]]()
"""The groups of a test, each with its server."""
LINES = 200
"""So many of a log are shown where a test has failed."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", f"ignore:{FORSAKEN}:ResourceWarning")


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    warnings.filterwarnings("ignore", FORSAKEN, ResourceWarning)  # for the collection at the very end


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with quick settings, shared by the module's tests: each uses groups of its own."""
    running = Server(tmp_path_factory.mktemp("server") / "log")
    yield running
    running.close()


@pytest.fixture
def start_server(tmp_path) -> Iterator[Callable[..., Server]]:
    """Start servers for one test: `start_server(settings={"group.max.size": 2})`."""
    started: list[Server] = []

    def start(**arguments: Any) -> Server:
        started.append(Server(tmp_path / f"log-{len(started)}", **arguments))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def new_group(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Group]]:
    """Make groups; their members are closed when the test is over, before the server is."""
    made = request.node.stash[GROUPS] = []

    def make(server: Any) -> Group:
        made.append((server, Group(server.bootstrap, f"group-{uuid.uuid4().hex[:8]}")))
        return made[-1][1]

    yield make
    for _, group in made:
        group.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with a failure what the server logged of the test's groups, and what their members were told."""
    report = yield
    if report.failed:
        for server, group in item.stash.get(GROUPS, ()):
            report.sections.append((f"members of {group.id}", group.story()))
            if isinstance(server, Server):
                logged = [line for line in server.log.read_text().splitlines() if group.id in line]
                report.sections.append((f"log of {group.id}", "\n".join(logged[-LINES:])))
    return report


@pytest.fixture
def group(server, new_group) -> Group:
    """A group on the module's server."""
    return new_group(server)


@pytest.fixture
def new_process() -> Iterator[Callable[..., ProcessMember]]:
    """Start members in processes of their own: `new_process(group, "t", client_id="p")`."""
    started: list[ProcessMember] = []

    def start(group: Group, topic: str, **config: Any) -> ProcessMember:
        started.append(ProcessMember(group.bootstrap, group.id, topic, **config))
        return started[-1]

    yield start
    for each in started:
        each.thaw()
        each.kill()


@pytest.fixture
def admin(server) -> Iterator[KafkaAdminClient]:
    """An operator's client."""
    client = KafkaAdminClient(bootstrap_servers=server.bootstrap)
    yield client
    client.close()
