"""A crashed member's partitions move by a wish from elsewhere: over HTTP from Node with kafkajs, and by the commands.

What is printed are times of this machine; nothing is asserted of them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.clients import toolchains
from integration.clients.clients import CLIENTS
from integration.test_fixture import CONFLUENT, KAFKA_PYTHON

PATIENCE = 120
SCENARIO = Path(__file__).with_name("control_scenario.mjs")
ALL_OF_THEM = (0, 1, 2, 3, 4, 5)


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("KCOORD_")} | more


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, str]]:
    """A server that may be controlled: its address for clients, and the URL of its control."""
    command = [sys.executable, "-m", "kcoord", "serve", "--listen=127.0.0.1:0", "--control=127.0.0.1:0"]
    command += ["--topic=orders:6", "--topic=t:6", "--override=group.initial.rebalance.delay.ms=0"]
    with subprocess.Popen(
        [*command, "--log-level=warning"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        listening, controlled = [process.stdout.readline() for _ in range(2)]
        url = re.fullmatch(r"kcoord is controlled at (http://\S+)\n", controlled)
        if url is None:
            process.terminate()
            pytest.fail(f"it said {listening + controlled!r} and: {process.communicate(timeout=PATIENCE)[1]}")
        try:
            yield listening.split()[-1], url[1]
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "Traceback" not in errors, errors


def test_from_node(served: tuple[str, str]) -> None:
    kafkajs = CLIENTS["kafkajs"]
    if lacking := toolchains.missing(kafkajs):
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse(f"kafkajs is left out: it needs {', '.join(lacking)}")
    assert toolchains.build(kafkajs) is None
    # Modules are looked for beside the script, links resolved.
    script = kafkajs.out / SCENARIO.name
    shutil.copyfile(SCENARIO, script)
    done = subprocess.run(
        ["node", script, *served], capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment()
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert sorted(each["client_id"] for each in told["before"]["members"]) == ["a", "b"]
    assert sorted(index for each in told["before"]["members"] for index in each["assignment"]["orders"]) == [
        *ALL_OF_THEM
    ]
    (survivor,) = told["after"]["members"]
    assert survivor["client_id"] == "b"
    assert survivor["member_id"] in {each["member_id"] for each in told["before"]["members"]}
    assert survivor["assignment"] == {"orders": [*ALL_OF_THEM]}
    assert told["findings"] == []
    assert "on heartbeat expiration" in told["story"]
    assert told["refused"] == {
        "status": 400,
        "error": "the clock only moves forward, by a number of seconds from 0, not -1",
    }
    print(f"the partitions had moved {told['took']:.0f} ms after the wish was sent")


class Cli:
    """The commands, with the address of the control in the environment."""

    def __init__(self, url: str) -> None:
        self._env = environment(KCOORD_CONTROL=url)

    def __call__(self, *arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "kcoord", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=self._env,
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    def group(self, *arguments: str) -> dict:
        return json.loads(self("groups", *arguments, "--json"))


@pytest.mark.parametrize("script", [KAFKA_PYTHON, CONFLUENT], ids=["kafka-python", "librdkafka"])
def test_by_the_commands(served: tuple[str, str], request: pytest.FixtureRequest, script: str) -> None:
    bootstrap, url = served
    cli, group = Cli(url), request.node.callspec.id
    members = []
    try:
        for name in ("a", "b"):
            config = {"bootstrap_servers": bootstrap, "group_id": group, "client_id": name}
            members.append(
                subprocess.Popen(
                    [sys.executable, "-W", "ignore", "-c", script, json.dumps(config)],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        before = cli.group("wait", group, "--synced", "--members", "2", "--timeout", "60")
        assert sorted(each["client_id"] for each in before["members"]) == ["a", "b"]
        members[0].kill()
        members[0].wait(PATIENCE)
        cli("clock", "advance", "45")
        (survivor,) = cli.group("wait", group, "--synced", "--members", "1", "--timeout", "60")["members"]
        assert survivor["client_id"] == "b"
        assert survivor["assignment"] == {"t": [*ALL_OF_THEM]}
        assert "t 0,1,2,3,4,5" in cli("groups", "show", group)
        story = cli("timeline", group)
        assert story.startswith(f"Group {group}: Stable, generation ")
        assert "on heartbeat expiration" in story
        wait = cli("groups", "wait", group, "--members", "7", "--timeout", "0.1", status=1)
        assert wait.startswith(f"kcoord: group {group} did not become of 7 members within 0.1 s: it is in generation")
        assert "on heartbeat expiration" in wait
    finally:
        for each in members:
            each.kill()
            each.wait(PATIENCE)
