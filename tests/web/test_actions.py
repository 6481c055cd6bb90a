"""What can be done over HTTP, each with what comes of it in the server. The tests of `kcoord.control` say more."""

from urllib.parse import quote

import pytest
import trio

from kcoord.control import plain
from tests.web.conftest import Web


async def test_the_server_is_told(autojump_clock, bench, web):
    told = await web.told("GET", "/")
    assert told["bootstrap"] == bench.control.bootstrap
    assert (await web.get(told["openapi"])).json()["openapi"].startswith("3.1")


async def test_a_crashed_members_partitions_move_by_an_advance(autojump_clock, bench, web):
    a, _b = await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await a.crash()
    before = await web.told("GET", "/clock")
    after = await web.told("POST", "/clock/advance", {"seconds": 45})
    assert after["mono"] - before["mono"] >= 45
    assert not after["frozen"]
    group = await web.told("GET", "/groups/g")
    assert group["state"] == "PreparingRebalance"
    assert [each["client_id"] for each in group["members"]] == ["b"]
    story = (await web.get("/timeline/g?format=text")).text
    assert "removing member a on heartbeat expiration; waiting for b" in story


async def test_who_is_silent_without_heartbeats_is_put_out(autojump_clock, bench, web):
    await bench.stable(bench.consumer("a"))
    await web.told("POST", "/clock/advance", {"seconds": 45, "heartbeats": False})
    assert (await web.told("GET", "/groups/g"))["members"] == []


async def test_time_stands_still_and_goes_on(autojump_clock, web):
    frozen = await web.told("POST", "/clock/freeze")
    assert frozen["frozen"]
    await trio.sleep(10)
    assert await web.told("GET", "/clock") == frozen
    assert not (await web.told("POST", "/clock/resume", {}))["frozen"]
    await trio.sleep(10)
    assert (await web.told("GET", "/clock"))["mono"] >= frozen["mono"] + 10


async def test_groups_are_listed_and_shown_as_the_control_has_them(autojump_clock, bench, web):
    await bench.stable(bench.consumer("a", group="one"))
    await bench.groups.set_offsets("two", {("t", 0): (5, "x")})
    await web.told("POST", "/clock/freeze")
    assert await web.told("GET", "/groups") == plain(bench.groups.list())
    assert await web.told("GET", "/groups/two") == plain(bench.groups.get("two"))


@pytest.mark.parametrize("group_id", ["a/b", "ä ö", "%2F", "?x=1#y", "..", "a+b", "\N{GRINNING FACE}", "x" * 3000])
async def test_ids_of_any_characters(autojump_clock, bench, web, group_id):
    path = f"/groups/{quote(group_id, safe='')}"
    told = await web.told(
        "PUT", f"{path}/offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": 3, "metadata": "m"}]}
    )
    assert told["group_id"] == group_id
    assert (await web.told("GET", path))["offsets"][0]["metadata"] == "m"
    await web.told("DELETE", path, status=204)
    assert await web.refused("GET", path, status=404) == f"there is no group {group_id}"


async def test_offsets_are_set_and_deleted(autojump_clock, bench, web):
    entries = [{"topic": "t", "partition": index, "offset": 7} for index in range(3)]
    await web.told("PUT", "/groups/g/offsets", {"offsets": entries})
    told = await web.told("PUT", "/groups/g/offsets", {"offsets": [{**entries[1], "offset": None}]})
    assert [(each["partition"], each["offset"]) for each in told["offsets"]] == [(0, 7), (2, 7)]
    twice = {"offsets": [entries[0], entries[0]]}
    assert await web.refused("PUT", "/groups/g/offsets", twice) == "offsets names t-0 twice"


async def test_wait_answers_at_the_moment(autojump_clock, bench, nursery, web):
    answers = []

    async def wait():
        answers.append(await web.told("POST", "/groups/g/wait", {"state": "Stable", "members": 1, "timeout": 50}))

    nursery.start_soon(wait)
    await trio.testing.wait_all_tasks_blocked()
    assert not answers
    await bench.stable(bench.consumer("a"))
    await trio.testing.wait_all_tasks_blocked()
    assert answers[0]["members"][0]["assignment"] == {"t": [0]}


async def test_a_wait_that_cannot_come_true_names_the_cause_and_has_the_timeline(autojump_clock, bench, web):
    await bench.stable(bench.consumer("a"))
    told = await web.told("POST", "/groups/g/wait", {"members": 2, "timeout": 30}, status=408)
    assert told["error"].startswith("group g did not become of 2 members within 30 s: it is in generation 1")
    assert "\n" not in told["error"]
    assert "GENERATION 1 forms" in told["detail"]
    assert told["timeline"] == bench.control.timeline.of("g").plain() | {"until": told["timeline"]["until"]}


async def test_of_a_group_to_which_nothing_happened_a_wait_has_no_timeline(autojump_clock, web):
    told = await web.told("POST", "/groups/g/wait", {"state": "Stable", "timeout": 1}, status=408)
    assert told["timeline"] is None
    assert told["error"] == "group g did not become Stable within 1 s: there is no such group."


async def test_members_are_interfered_with(autojump_clock, bench, web):
    a, _b = await bench.stable(bench.consumer("a", instance="ia"), bench.consumer("b"))
    told = await web.told("POST", "/groups/g/fence", {"instance_id": "ia"})
    assert told["state"] == "Stable"
    assert await a.heartbeat() == 82
    told = await web.told("POST", "/groups/g/expire", {"member": "b"})
    assert [each["instance_id"] for each in told["members"]] == ["ia"]
    told = await web.told("POST", "/groups/g/evict", {"member": "ia", "reason": "enough"})
    assert told["members"] == []


async def test_everybody_joins_again(autojump_clock, bench, web):
    (a,) = await bench.stable(bench.consumer("a"))
    told = await web.told("POST", "/groups/g/rebalance", {"reason": "a test wants one"})
    assert told["state"] == "PreparingRebalance"
    assert await a.heartbeat() == 27
    assert "a test wants one" in (await web.get("/timeline/g?format=text")).text


async def test_topics(autojump_clock, bench, web):
    await web.told(
        "POST", "/topics", {"name": "new", "partitions": 3, "settings": {"cleanup.policy": "compact"}}, status=201
    )
    shown = await web.told("GET", "/topics/new")
    assert (shown["partitions"], shown["settings"]) == (3, {"cleanup.policy": "compact"})
    assert shown in await web.told("GET", "/topics")
    await web.told("DELETE", "/topics/new", status=204)
    assert await web.refused("DELETE", "/topics/new", status=404) == "there is no topic new"


async def test_faults(autojump_clock, bench, web):
    (a,) = await bench.stable(bench.consumer("a"))
    rule = {"api": "Heartbeat", "error": "REBALANCE_IN_PROGRESS", "times": 1}
    added = await web.told("POST", "/faults", rule, status=201)
    assert added["rule"]["times"] == 1
    assert await a.heartbeat() == 27
    assert await a.heartbeat() == 0
    number = added["number"]
    assert (await web.told("GET", f"/faults/{number}"))["applied"] == 1
    assert [each["number"] for each in await web.told("GET", "/faults")] == [number]
    assert (await web.told("DELETE", f"/faults/{number}"))["applied"] == 1
    assert await web.refused("GET", f"/faults/{number}", status=404) == f"there is no fault {number}"
    await web.told("POST", "/faults", rule, status=201)
    await web.told("DELETE", "/faults", status=204)
    assert await web.told("GET", "/faults") == []


async def test_what_a_fault_holds_is_released(autojump_clock, bench, nursery, web):
    (a,) = await bench.stable(bench.consumer("a"))
    added = await web.told("POST", "/faults", {"api": "Heartbeat", "hold": "request"}, status=201)
    answers = []

    async def beat():
        answers.append(await a.heartbeat())

    nursery.start_soon(beat)
    await trio.sleep(1)
    assert (await web.told("GET", f"/faults/{added['number']}"))["held"] == 1
    assert await web.told("POST", f"/faults/{added['number']}/release") == {"released": 1}
    await trio.sleep(1)
    assert answers == [0]


async def test_a_timeline_is_json_or_text(autojump_clock, bench, web):
    await bench.stable(bench.consumer("a"))
    await web.told("POST", "/clock/freeze")
    assert await web.told("GET", "/timeline") == {"groups": ["g"]}
    assert await web.told("GET", "/timeline/g") == bench.control.timeline.of("g").plain()
    assert await web.told("GET", "/timeline/g/findings") == []
    for query, headers in (("?format=text", {}), ("", {"Accept": "text/plain"})):
        response = await web.get(f"/timeline/g{query}", headers=headers)
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        assert response.text == bench.control.timeline.of("g").text() + "\n"
    browser = await web.get("/timeline/g", headers={"Accept": "application/json, text/plain, */*"})
    assert browser.headers["content-type"] == "application/json"
    assert await web.refused("GET", "/timeline/x", status=404) == "nothing is known of a group x"


async def test_brokers(autojump_clock, bench, web):
    (broker,) = await web.told("GET", "/brokers")
    path = f"/brokers/{broker['node_id']}"
    assert await web.told("GET", path) == broker
    await web.told("PUT", "/groups/g/offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": 3}]})
    assert "no other broker runs" in await web.refused("POST", "/groups/g/move")
    await web.told("POST", "/groups/g/load", {"seconds": 5}, status=204)
    assert "does not serve: loading" in await web.refused("GET", "/groups/g", status=503)
    await trio.sleep(6)
    assert (await web.told("GET", "/groups/g"))["offsets"]
    assert await web.refused("GET", "/brokers/77", status=404) == "there is no broker 77: there are 1"


async def test_a_reset_leaves_nothing(autojump_clock, bench, web):
    await bench.stable(bench.consumer("a"))
    await web.told("POST", "/reset", status=204)
    assert await web.told("GET", "/groups") == []
    assert await web.told("GET", "/timeline") == {"groups": []}


async def test_a_reset_does_not_leave_what_is_still_to_be_loaded(autojump_clock, bench, web):
    await web.told("PUT", "/groups/g/offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": 3}]})
    await web.told("POST", "/groups/g/load", {"seconds": 1000}, status=204)
    await web.told("POST", "/reset", status=204)
    assert await web.refused("GET", "/groups/g", status=404) == "there is no group g"


async def test_head_is_get_without_the_answer(autojump_clock, web):
    response = await web("HEAD", "/clock")
    assert response.status_code == 200


async def test_with_a_token_who_has_it_is_let_in(autojump_clock, bench):
    web = Web(bench.control, "sesame")
    for headers in ({}, {"Authorization": "Bearer open"}, {"Authorization": "Basic sesame"}, {"Authorization": "ä"}):
        response = await web.get("/clock", headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["error"] == "this control needs its token, as Authorization: Bearer TOKEN"
    told = await web.get("/clock", headers={"Authorization": "Bearer sesame", "Host": "somewhere.example"})
    assert told.status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:1234"}, 200),
        ({"Host": "[::1]:1234"}, 200),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "rebound.example:1234"}, 403),
        ({"Host": "10.0.0.1"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_without_a_token_no_page_in_a_browser_is_let_in(autojump_clock, web, headers, status):
    response = await web.post("/clock/freeze", headers=headers)
    assert response.status_code == status
