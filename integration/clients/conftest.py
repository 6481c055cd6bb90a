"""One broker for all scenarios of a process, each scenario with groups and topics of its own; what ran is reported.

--reference HOST:PORT    run them against the broker there, which is how the scenarios themselves are judged
--report                 write .clients/report.json, from which the README's table is made
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient

from integration.clients import report, toolchains
from integration.clients.clients import Client
from integration.clients.group import Group
from integration.clients.world import CLIENT_ID, World
from integration.server import Server

SETTINGS = {"group.initial.rebalance.delay.ms": 100}
"""The rest is as everybody gets it."""
PATIENCE = 600
"""Seconds for one scenario."""
CAST = "cast"
"""The property of a test's report that names the clients in it."""
LACKING = pytest.StashKey[dict[str, str]]()
RUN = pytest.StashKey[report.Run]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reference", metavar="HOST:PORT", help="run the clients' scenarios against the broker there")
    parser.addoption("--report", action="store_true", help="write .clients/report.json, of a run over all of them")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LACKING] = toolchains.left_out()
    config.stash[RUN] = report.Run()
    config.pluginmanager.register(Reporter(config))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if cast_of(item):
            item.add_marker(pytest.mark.timeout(PATIENCE))


def cast_of(item: pytest.Item) -> list[Client]:
    """The clients that a scenario is played by, as its parameters name them."""
    cast: list[Client] = []
    for value in (getattr(item, "callspec", None) and item.callspec.params.values()) or ():
        cast += [each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Client)]
    return cast


def pytest_runtest_setup(item: pytest.Item) -> None:
    lacking = item.config.stash[LACKING]
    cast = cast_of(item)
    for client in cast:
        if client.name in lacking:
            refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            refuse(f"{client} is left out: it {lacking[client.name]}")
    for client in cast:
        if (failure := toolchains.build(client)) is not None:
            pytest.fail(failure)
    item.user_properties.append((CAST, sorted({client.name for client in cast})))


@pytest.fixture(scope="session")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The broker."""
    folder = tmp_path_factory.mktemp("clients")
    reference = request.config.getoption("reference", None)
    server = None
    if reference is None:
        server = Server(
            folder / "kcoord.log", topics={}, settings=SETTINGS, flags=["--log-level=debug", "--log-format=json"]
        )
    bootstrap = reference or server.bootstrap
    operator = KafkaAdminClient(bootstrap_servers=bootstrap, client_id=CLIENT_ID)
    yield World(bootstrap, folder, server and server.log, operator)
    operator.close()
    if server is not None:
        server.close()
        report.note(request.config.stash[RUN].seen, server.log)


@pytest.fixture
def new_group(world: World) -> Iterator[Callable[..., Group]]:
    """Make groups; everybody in them is ended when the test is over, and nobody may have said what makes no sense."""
    made: list[Group] = []

    def make(*arguments: Any, **options: Any) -> Group:
        made.append(Group(world, *arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()
    for each in made:
        each.no_faults()


class Reporter:
    """Hears of all scenarios. With pytest-xdist each worker has a broker of its own, and tells the controller of it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cast = dict(report.user_properties).get(CAST)
        if cast:
            self._config.stash[RUN].hear(report.nodeid, cast, report.outcome, report.when)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._config.stash[RUN].merge(getattr(node, "workeroutput", {}).get("seen", {}))

    def pytest_sessionfinish(self) -> None:
        run = self._config.stash[RUN]
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["seen"] = run.seen
        elif self._config.getoption("report", False):
            report.write(run.summary(self._config.stash[LACKING]))
