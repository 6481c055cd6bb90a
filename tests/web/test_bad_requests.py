"""What is wrong with a request is one sentence and the right status; nothing happens to the server."""

import pytest

from kcoord.web.app import LARGEST_BODY

NOT_JSON = "the body is no JSON: "


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", f"{NOT_JSON}Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"seconds=45", f"{NOT_JSON}Expecting value: line 1 column 1 (char 0)"),
        (b'{"seconds": NaN}', f"{NOT_JSON}NaN is no number"),
        (b'{"seconds": -Infinity}', f"{NOT_JSON}-Infinity is no number"),
        (b'{"seconds": 1, "seconds": 2}', f"{NOT_JSON}'seconds' is there twice"),
        (b'{"seconds": "\xff"}', "the body is no JSON: it is not UTF-8"),
        (b"[" * 100_000, "the body is nested too deeply"),
        (b'{"seconds": 1, "x": "\\ud800"}', "the body has half a surrogate pair, which is no character"),
        (b"[]", "the body must be an object, not a list"),
        (b"null", "the body must be an object, not null"),
        (b"45", "the body must be an object, not 45"),
        (b"", "the body lacks the field seconds"),
        (b"{}", "the body lacks the field seconds"),
        (b'{"seconds": "45"}', "seconds must be a number, not '45'"),
        (b'{"seconds": true}', "seconds must be a number, not true"),
        (b'{"seconds": null}', "seconds must be a number, not null"),
        (b'{"seconds": [1]}', "seconds must be a number, not a list"),
        (b'{"seconds": 1, "heartbeats": 0}', "heartbeats must be true or false, not 0"),
        (b'{"second": 1}', "the body has no field 'second': it has seconds, heartbeats"),
        (b'{"seconds": 1e300}', "the clock is moved by 31622400 s (366 days) at once at most, not 1e+300"),
        (b'{"seconds": -1}', "the clock only moves forward, by a number of seconds from 0, not -1"),
    ],
)
async def test_bodies(autojump_clock, web, bench, body, sentence):
    before = bench.clock.now()
    response = await web("POST", "/clock/advance", content=body)
    assert response.status_code == 400
    assert response.json() == {"error": sentence}
    assert bench.clock.now().mono - before.mono < 1


@pytest.mark.parametrize("body", [b'{"seconds": 1e999}', b'{"seconds": 1' + b"0" * 5000 + b"}"])
async def test_numbers_that_are_too_large(autojump_clock, web, body):
    response = await web("POST", "/clock/advance", content=body)
    assert response.status_code == 400
    assert response.json()["error"].startswith("the body is no JSON: ")


@pytest.mark.parametrize(
    ("method", "path", "body", "sentence"),
    [
        (
            "POST",
            "/groups/g/wait",
            {},
            "nothing to wait for was named: a state, a number of members, a generation, or synced",
        ),
        ("POST", "/groups/g/wait", {"members": 1.5}, "members must be a whole number, not 1.5"),
        ("POST", "/groups/g/wait", {"members": True}, "members must be a whole number, not true"),
        ("POST", "/groups/g/wait", {"members": -1}, "members is -1: it must be a whole number from 0"),
        ("POST", "/groups/g/expire", {"member": 5}, "member must be a text, not 5"),
        ("POST", "/groups/g/rebalance", {"why": "x"}, "the body has no field 'why': it has reason"),
        ("POST", "/clock/freeze", {"x": 1}, "the body has no field 'x': it has nothing in it"),
        ("PUT", "/groups/g/offsets", {"offsets": {}}, "offsets must be a list, not an object"),
        ("PUT", "/groups/g/offsets", {"offsets": [3]}, "offsets[0] must be an object, not 3"),
        ("PUT", "/groups/g/offsets", {"offsets": [{"topic": "t"}]}, "offsets[0] lacks the field partition"),
        (
            "PUT",
            "/groups/g/offsets",
            {"offsets": [{"topic": "t", "partition": 0, "offset": "9"}]},
            "offsets[0].offset must be a whole number, not '9'",
        ),
        ("POST", "/topics", {"name": "t2", "settings": {"a": 1}}, "settings.a must be a text, not 1"),
        ("POST", "/topics", {"name": "t2", "settings": []}, "settings must be an object, not a list"),
        ("POST", "/faults", {}, "a fault"),
        ("POST", "/faults", [], "the body must be an object, not a list"),
        ("POST", "/faults", {"api": "Heartbeat", "eror": 27}, "a fault has no eror; it has"),
        ("POST", "/faults", {"api": "Heartbeat", "error": "NO_SUCH"}, "Kafka has no error NO_SUCH"),
        ("POST", "/faults", {"api": "Heartbeat", "error": 27, "nth": "3"}, "nth must be a whole number, not '3'"),
        ("POST", "/faults", {"error": 27, "seed": None}, "seed must be a whole number, not None"),
        ("POST", "/faults", {"error": 27, "probability": None}, "probability must be a number, not None"),
        ("GET", "/faults/x", None, "fault is 'x': it must be a whole number from 0"),
        ("GET", "/faults/99999999999999999999", None, "fault is '99999999999999999999': it must be a whole number"),
        ("GET", "/brokers/-1", None, "broker is '-1': it must be a whole number from 0"),
        ("GET", "/groups/%FF", None, "the group in the path is no UTF-8: %FF"),
        ("GET", "/timeline/g?format=xml", None, "format must be json or text, not 'xml'"),
        ("GET", "/groups?state=Stable", None, "the query has 'state', which means nothing here"),
    ],
)
async def test_what_cannot_be(autojump_clock, web, method, path, body, sentence):
    assert (await web.refused(method, path, body)).startswith(sentence)


@pytest.mark.parametrize(
    ("method", "path", "body", "sentence"),
    [
        ("GET", "/groups/x", None, "there is no group x"),
        ("DELETE", "/groups/x", None, "there is no group x"),
        ("POST", "/groups/x/rebalance", {}, "there is no group x"),
        ("POST", "/groups/x/expire", {"member": "a"}, "there is no group x"),
        ("POST", "/groups/x/evict", {"member": "a"}, "there is no group x"),
        ("GET", "/topics/x", None, "there is no topic x"),
        ("POST", "/faults/7/release", None, "there is no fault 7"),
        ("POST", "/brokers/7/stop", None, "there is no broker 7"),
        ("GET", "/nowhere", None, "there is nothing at '/nowhere'; /openapi.json tells what there is"),
        ("GET", "/groups/", None, "there is nothing at '/groups/'"),
        ("GET", "//", None, "there is nothing at '//'"),
    ],
)
async def test_what_there_is_not(autojump_clock, web, method, path, body, sentence):
    assert (await web.refused(method, path, body, status=404)).startswith(sentence)


LONG = "x" * 60_000


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", f"/{LONG}", b"", 404),
        ("PATCH", f"/groups/{LONG}", b"", 405),
        (LONG, "/groups", b"", 405),
        ("GET", f"/groups/{LONG}%FF", b"", 400),
        ("GET", f"/groups?{LONG}=1", b"", 400),
        ("GET", f"/timeline/g?format={LONG}", b"", 400),
        ("POST", "/clock/advance", f'{{"{LONG}": 1, "{LONG}": 2}}'.encode(), 400),
        ("POST", "/clock/advance", f'{{"{LONG}": 1}}'.encode(), 400),
        ("POST", "/clock/advance", f'{{"seconds": 1{"0" * 60_000}}}'.encode(), 400),
        ("POST", "/faults", f'{{"{LONG}": 1}}'.encode(), 400),
        ("POST", "/faults", b'{"error": 1%s}' % b"".join(b', "x%d": 1' % number for number in range(9999)), 400),
        ("POST", "/topics", f'{{"name": "t2", "settings": {{"{LONG}": 1}}}}'.encode(), 400),
    ],
    ids=lambda value: None if isinstance(value, int) else str(value)[:20],
)
async def test_what_is_long_is_not_said_again_in_full(autojump_clock, web, method, path, content, status):
    response = await web(method, path, content=content)
    assert response.status_code == status
    assert len(response.json()["error"]) < 500
    assert "sys." not in response.json()["error"]


async def test_methods_that_a_path_has_not(autojump_clock, web):
    response = await web("PATCH", "/groups/g")
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD", "DELETE"}
    assert response.json()["error"].startswith("/groups/g has no PATCH; it has ")


async def test_bodies_that_are_too_large(autojump_clock, web):
    response = await web("POST", "/clock/advance", content=b" " * (LARGEST_BODY + 1))
    assert response.status_code == 413
    assert response.json()["error"] == "the body is too large: it may have 1048576 bytes"
    largest = b'{"seconds": 1}'.ljust(LARGEST_BODY)
    assert (await web("POST", "/clock/advance", content=largest)).status_code == 200


async def test_a_bug_is_a_sentence_without_a_trace(autojump_clock, bench, web, monkeypatch):
    def broken():
        raise RuntimeError("secret")

    monkeypatch.setattr(bench.control.groups, "list", broken)
    response = await web.get("/groups")
    assert response.status_code == 500
    assert response.json() == {"error": "this failed by a bug in kcoord; its log has more"}
