"""pytest's fixtures, in test runs of their own."""

import os
import subprocess
import sys

import pytest

from kcoord.testing import Kcoord

PLUGIN = "kcoord.testing.pytest_plugin"
CI = ("CI", "BUILD_NUMBER")
"""Variables by which pytest repeats whole errors in its summary, so that what is in them would be counted twice."""
WITH_A_TOPIC = """
import pytest

@pytest.fixture(scope="session")
def kcoord_config():
    return {"topics": {"t": 1}}
"""
GIVE_UP_S = 240
"""For a run of pytest, and two workers of it, which take some seconds of a processor of their own."""


@pytest.fixture
def run(tmp_path):
    """Write a test module, and a conftest, and run them in a process that has the plugin; return what it printed."""

    def run(source, *arguments, conftest="", environment=(), expected=0, **outcomes):
        (tmp_path / "test_it.py").write_text(source)
        (tmp_path / "conftest.py").write_text(conftest)
        # Which server whoever runs this has named, and what pytest around it is, is nothing to the one within.
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in CI and not name.startswith(("KCOORD_", "PYTEST_"))
        }
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:randomly", "-W", "error", "-q", *arguments],
                cwd=tmp_path,
                env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **dict(environment)},
                capture_output=True,
                text=True,
                timeout=GIVE_UP_S,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            pytest.fail(f"not within {GIVE_UP_S} s; until then: {late.stdout} {late.stderr}")
        assert done.returncode == expected, done.stdout + done.stderr
        summary = done.stdout.splitlines()[-1]
        for outcome, count in outcomes.items():
            assert f"{count} {outcome}" in summary, done.stdout
        return done.stdout

    return run


def test_a_running_server_with_nothing_in_it_for_each_test(run):
    source = """
import pytest
from kcoord.testing import Kcoord

ports = set()

@pytest.mark.parametrize("number", range(3))
def test_it(kcoord, number):
    assert isinstance(kcoord, Kcoord)
    ports.add(kcoord.bootstrap)
    assert len(ports) == 1
    assert kcoord.groups() == () and kcoord.topics() == ()
    kcoord.create_topic("t", 3)
    kcoord.group("g").set_offsets({("t", 0): 5})
    kcoord.clock.freeze()
"""
    run(source, passed=3)


def test_its_configuration_can_be_overridden_in_any_scope(run):
    conftest = """
import pytest

@pytest.fixture(scope="session")
def kcoord_config():
    return {"topics": {"orders": 6}}
"""
    source = """
import pytest

def test_of_the_session(kcoord):
    assert [(each.name, each.partitions) for each in kcoord.topics()] == [("orders", 6)]

class TestOther:
    @pytest.fixture
    def kcoord_config(self):
        return {"topics": {"other": 1}, "settings": {"group.max.size": 2}}

    @pytest.mark.parametrize("number", range(2))
    def test_of_a_class(self, kcoord, number):
        assert [each.name for each in kcoord.topics()] == ["other"]

def test_of_the_session_again(kcoord):
    assert [each.name for each in kcoord.topics()] == ["orders"]
"""
    run(source, conftest=conftest, passed=4)


def test_servers_of_a_tests_own_are_stopped_when_it_is_over(run):
    source = """
import threading

def test_makes_two(make_kcoord):
    one, other = make_kcoord({"t": 1}), make_kcoord(kafka_defaults=True)
    assert one.bootstrap != other.bootstrap
    assert [each.name for each in one.topics()] == ["t"]
    other.close()

def test_none_is_left():
    assert [each.name for each in threading.enumerate()] == ["MainThread"]
"""
    run(source, passed=2)


def test_a_test_may_close_its_server(run):
    source = """
import pytest

closed = set()

@pytest.mark.parametrize("number", range(2))
def test_it(kcoord, number):
    assert kcoord.groups() == ()
    assert kcoord not in closed
    kcoord.close()
    closed.add(kcoord)
"""
    run(source, passed=2)


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_it_works_in_tests_of_event_loops(run, loop):
    source = f"""
import asyncio, trio
from kcoord.testing import Impossible
import pytest

def test_it(kcoord):
    async def main():
        kcoord.create_topic("t")
        with pytest.raises(Impossible, match="would stop the {loop} loop"):
            kcoord.group("g").wait(state="Stable")
        assert (await kcoord.aio.group("g").wait(state="Dead")).members == ()
        await kcoord.aio.clock.advance(1)
    asyncio.run(main()) if "{loop}" == "asyncio" else trio.run(main)
"""
    run(source, passed=1)


def test_a_configuration_that_cannot_be_is_said_in_a_sentence(run):
    conftest = """
import pytest

@pytest.fixture
def kcoord_config():
    return {"settings": {"group.size": 1}}
"""
    printed = run("def test_it(kcoord): pass", conftest=conftest, expected=1, error=1)
    assert "ConfigError: group.size is not a setting that kcoord knows" in printed


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            '{"topic": {"t": 1}}',
            "kcoord_config has 'topic': Kcoord takes topics, brokers, as_version, mask, settings, kafka",
        ),
        ("{5: 1}", "kcoord_config has 5: Kcoord takes topics, brokers"),
        ("[]", "kcoord_config is a list: it must be arguments of Kcoord by name, as in a dict"),
        ("None", "kcoord_config is None: it must be arguments of Kcoord by name, as in a dict"),
        ('{"brokers": 3, "settings": {"brokers": 2}}', "brokers is 3, but settings say that brokers is 2"),
    ],
)
def test_arguments_that_there_are_not(run, config, sentence):
    conftest = f"import pytest\n@pytest.fixture\ndef kcoord_config():\n    return {config}\n"
    printed = run("def test_it(kcoord): pass", conftest=conftest, expected=1, error=1)
    assert f"ConfigError: {sentence}" in printed


def test_a_server_that_crashed_is_not_used_again(run):
    source = """
import pytest
from kcoord.testing import ServerGone

def test_crash(kcoord):
    async def crash():
        raise LookupError("a bug")
    kcoord.run(lambda _: kcoord._server._nursery.start_soon(crash))
    kcoord._server.join()

def test_after(kcoord):
    assert kcoord.groups() == ()
"""
    printed = run(source, expected=1, passed=2, error=1)
    assert "ServerGone: the server has crashed" in printed


def test_several_workers_have_a_server_each(run):
    pytest.importorskip("xdist")
    source = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_it(kcoord, number):
    assert kcoord.groups() == ()
    kcoord.group("g").set_offsets({("t", 0): number})
    assert kcoord.group("g").offsets == {("t", 0): number}
"""
    run(source, "-n", "2", conftest=WITH_A_TOPIC, passed=8)


def test_a_server_that_the_environment_names(run):
    conftest = """
import pytest

@pytest.fixture(scope="session")
def kcoord_config():
    return {"topics": {"orders": 6}}
"""
    source = """
import os
import pytest
from kcoord.testing import Impossible, NotFound

@pytest.mark.parametrize("number", range(2))
def test_it(kcoord, number):
    assert kcoord.bootstrap == os.environ["KCOORD_BOOTSTRAP"]
    kcoord.create_topic("new", 2, {"retention.ms": "1000"})
    assert {(each.name, each.partitions) for each in kcoord.topics()} == {("old", 1), ("orders", 6), ("new", 2)}
    with pytest.raises(Impossible, match="did not create topic new"):
        kcoord.create_topic("new")
    kcoord.create_topic("newer")
    kcoord.delete_topic("newer")
    with pytest.raises(NotFound):
        kcoord.delete_topic("newer")

def test_what_cannot_be(kcoord):
    for wish in (
        lambda: kcoord.clock.advance(1),
        lambda: kcoord.clock.now(),
        lambda: kcoord.group("g").state,
        lambda: kcoord.group("g").wait(state="Stable"),
        lambda: kcoord.groups(),
        lambda: kcoord.aio,
    ):
        with pytest.raises(Impossible, match="which|is one that KCOORD_BOOTSTRAP names: its clock, groups and faults"):
            wish()

def test_its_own_are_made_as_ever(make_kcoord):
    assert make_kcoord().groups() == ()
"""
    with Kcoord({"old": 1}) as k:
        run(source, conftest=conftest, environment={"KCOORD_BOOTSTRAP": k.bootstrap}, passed=4)
        assert [each.name for each in k.topics()] == ["old"]


SHARED = """
import pytest

class TestOne:
    @pytest.fixture
    def kcoord_config(self):
        return {"topics": {"orders": 6}}

    @pytest.mark.parametrize("number", range(4))
    def test_it(self, kcoord, number):
        assert {each.name for each in kcoord.topics()} - {"old"} == {"orders"}
        kcoord.create_topic("mine")

class TestOther:
    @pytest.fixture
    def kcoord_config(self):
        return {"topics": {"others": 1}}

    @pytest.mark.parametrize("number", range(4))
    def test_it(self, kcoord, number):
        assert {each.name for each in kcoord.topics()} - {"old"} == {"others"}
        kcoord.create_topic("mine")

class TestOneAgain(TestOne):
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n", "3")], ids=["alone", "workers"])
@pytest.mark.parametrize("named", ["KCOORD_BOOTSTRAP", "KCOORD_CONTROL"])
def test_each_test_has_what_it_wants_at_a_server_that_the_environment_names(run, named, workers):
    if workers:
        pytest.importorskip("xdist")
    with Kcoord({"old": 1}) as k:
        address = k.bootstrap if named == "KCOORD_BOOTSTRAP" else k.control_url
        run(SHARED, *workers, environment={named: address}, passed=12)
        assert [each.name for each in k.topics()] == ["old"]


def test_topics_that_were_created_where_not_all_can_be_are_deleted(run):
    conftest = "import pytest\n@pytest.fixture\ndef kcoord_config():\n    return {'topics': {'new': 1, 'old': 2}}\n"
    with Kcoord({"old": 1}) as k:
        environment = {"KCOORD_BOOTSTRAP": k.bootstrap}
        printed = run("def test_it(kcoord): pass", conftest=conftest, environment=environment, expected=1, error=1)
        assert "has a topic old with 1 partitions, not 2" in printed
        assert [each.name for each in k.topics()] == ["old"]


@pytest.mark.parametrize(
    ("bootstrap", "config", "sentence"),
    [
        ("nowhere", {}, "KCOORD_BOOTSTRAP is 'nowhere': it must be HOST:PORT"),
        ("h:9", {"settings": {"group.max.size": 2}}, "the server at h:9 cannot be given settings: group.max.size"),
        ("127.0.0.1:1", {"topics": {"t": 1}}, "the server at 127.0.0.1:1 cannot be reached"),
    ],
)
def test_an_environment_that_names_no_server_of_use(run, bootstrap, config, sentence):
    conftest = f"import pytest\n@pytest.fixture\ndef kcoord_config():\n    return {config!r}\n"
    printed = run(
        "def test_it(kcoord): pass", conftest=conftest, environment={"KCOORD_BOOTSTRAP": bootstrap}, expected=1, error=1
    )
    assert sentence in printed


def test_who_does_not_use_it_loads_nothing_of_it():
    loaded = "sorted(name for name in sys.modules if name.startswith(('kcoord', 'wire', 'trio')))"
    source = f"import sys, pytest\nimport {PLUGIN}\nprint(*{loaded})"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["kcoord", "kcoord.testing", PLUGIN]


def test_a_failing_test_is_told_what_happened_to_its_groups(run):
    source = """
from kcoord.testing import Kcoord

def test_shared(kcoord):
    kcoord.group("orders-readers").set_offsets({("t", 0): 5})
    assert False

def test_own(make_kcoord):
    make_kcoord({"t": 1}).group("own").set_offsets({("t", 0): 5})
    assert False

def test_passing(kcoord):
    kcoord.group("passing").set_offsets({("t", 0): 5})

def test_gone(make_kcoord):
    make_kcoord().close()
    assert False
"""
    printed = run(source, conftest=WITH_A_TOPIC, expected=1, failed=3)
    assert "kcoord timeline: orders-readers" in printed
    assert "Group orders-readers: Empty" in printed
    assert "the group comes into being" in printed
    assert "kcoord timeline: own" in printed
    assert "Group passing" not in printed


def test_a_fault_that_stayed_and_was_for_no_request_warns_and_fails_here(run):
    source = """
def test_it(kcoord):
    kcoord.faults.add(api="Heartbeat", error=27)
"""
    printed = run(source, expected=1, passed=1, error=1)
    assert "FaultNeverMet: this fault was for no request, as none came" in printed


def test_a_warning_of_a_fault_that_is_an_error_keeps_nothing_from_being_cleared_away(run):
    source = """
import threading

def test_one(kcoord, make_kcoord):
    for server in (kcoord, make_kcoord(), make_kcoord()):
        server.faults.add(api="Heartbeat", error=27)

def test_other(kcoord):
    assert kcoord.faults.list() == ()
    assert [each.name for each in threading.enumerate()].count("kcoord") == 1
"""
    run(source, expected=1, passed=2, error=1)


def test_a_fixture_that_fails_is_told_what_happened_too(run):
    source = """
import pytest

@pytest.fixture
def ready(kcoord):
    kcoord.group("set-up").set_offsets({("t", 0): 5})
    assert False

def test_it(ready):
    pass
"""
    assert "kcoord timeline: set-up" in run(source, conftest=WITH_A_TOPIC, expected=1, error=1)


def test_a_wait_in_vain_has_its_story_once(run):
    source = """
import asyncio
import pytest
from kcoord.testing import TimedOut

def wait(server):
    server.group("waited-for").wait(members=1, timeout=0)

@pytest.fixture(autouse=True)
def groups(kcoord):
    for group in ("waited-for", "another"):
        kcoord.group(group).set_offsets({("t", 0): 5})

def test_plainly(kcoord):
    wait(kcoord)

def test_on_a_loop(kcoord):
    asyncio.run(kcoord.aio.group("waited-for").wait(members=1, timeout=0))

def test_with_an_error_that_comes_of_it(kcoord):
    try:
        wait(kcoord)
    except TimedOut:
        raise LookupError

def test_in_a_group_of_errors(kcoord):
    try:
        wait(kcoord)
    except TimedOut as error:
        raise ExceptionGroup("several", [ValueError(), error]) from None
"""
    printed = run(source, conftest=WITH_A_TOPIC, expected=1, failed=4)
    assert printed.count("Group waited-for: Empty") == 4
    assert "kcoord timeline: waited-for" not in printed
    assert printed.count("kcoord timeline: another") == printed.count("Group another: Empty") == 4


def test_what_an_error_does_not_tell_is_attached(run):
    source = """
import pytest
from kcoord.testing import TimedOut

def wait(server):
    server.group("g").wait(members=1, timeout=0)

def test_another_server(kcoord, make_kcoord):
    other = make_kcoord({"t": 1})
    kcoord.group("g").set_offsets({("t", 0): 5})
    kcoord.clock.advance(100)
    other.group("g").set_offsets({("t", 0): 5})
    wait(other)

def test_an_error_that_is_hidden(kcoord):
    kcoord.group("g").set_offsets({("t", 0): 5})
    try:
        wait(kcoord)
    except TimedOut:
        raise LookupError from None

def test_an_error_that_was_caught(kcoord):
    kcoord.group("g").set_offsets({("t", 0): 5})
    with pytest.raises(TimedOut):
        wait(kcoord)
    assert False

@pytest.mark.xfail(strict=True)
def test_no_error(kcoord):
    kcoord.group("g").set_offsets({("t", 0): 5})
"""
    printed = run(source, conftest=WITH_A_TOPIC, expected=1, failed=4)
    assert printed.count("kcoord timeline: g") == 4
    assert printed.count("Group g: Empty") == 5


@pytest.mark.parametrize("named", [(), [("KCOORD_BOOTSTRAP", "127.0.0.1:1")]], ids=["own", "external"])
def test_a_refusal_is_shown_by_the_line_of_the_test_and_none_of_kcoords(run, named):
    source = """
import asyncio
import trio

def test_in_vain(kcoord):
    kcoord.group("readers").wait(members=1, timeout=0.01)

def test_what_cannot_be(kcoord):
    kcoord.group("readers").fence("nobody")

def test_on_asyncio(kcoord):
    async def in_vain():
        await kcoord.aio.clock.advance(-1)
    asyncio.run(in_vain())

def test_on_trio(kcoord):
    async def in_vain():
        await kcoord.aio.clock.advance(-1)
    trio.run(in_vain)
"""
    printed = run(source, expected=1, environment=named, failed=4)
    assert printed.count("\nE       kcoord.control.errors.") == 4
    # Neither a frame's place, as "kcoord/testing/sync.py:111: in run_async", nor its source.
    assert f"kcoord{os.sep}" not in printed
    assert ">       raise " not in printed


def test_of_what_is_no_refusal_the_whole_way_is_shown(run):
    source = """
def test_it(kcoord):
    kcoord.run(lambda control: 1 / 0)
"""
    assert os.path.join("kcoord", "testing", "thread.py") in run(source, expected=1, failed=1)
