"""Over HTTP: values of fields that cannot be are answered with one sentence, and change nothing."""

import json
from dataclasses import fields

import pytest

from kcoord.faults import FaultRule
from kcoord.web.actions import ACTIONS
from kcoord.web.bodies import Nothing
from tests.control.test_wrong_values import snapshot
from tests.control.wrong import WRONG, WRONG_THERE
from tests.web.test_odd_values import NEEDED

WITH_FIELDS = [each for each in ACTIONS if each.body not in (Nothing, FaultRule)]
AS_LISTED = [
    None, 5, "x", {}, [5], [{}], [None], [{"topic": "t", "partition": 0}],
    *([{"topic": value, "partition": 0, "offset": 1}] for value in WRONG["group_id"]),
    *([{"topic": "t", "partition": value, "offset": 1}] for value in (None, "0", True, -1, 1.0, 2**31)),
    *([{"topic": "t", "partition": 0, "offset": value}] for value in ("1", True, -1, 1.0, 2**63)),
    *([{"topic": "t", "partition": 0, "offset": 1, "metadata": value}] for value in (None, 5, "m" * 5000)),
    [{"topic": "t", "partition": 0, "offset": 1}] * 2,
]  # fmt: skip
"""Offsets, as bodies have them."""


def has_form(value):
    """Whether a value can be written as JSON, or as what some take for it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("action", WITH_FIELDS, ids=lambda action: f"{action.method} {action.path}")
async def test_fields(autojump_clock, bench, web, action):
    await bench.stable(bench.consumer("a", instance="i1"))
    bench.clock.freeze()
    before = snapshot(bench.control)
    path = action.path.replace("{group}", "g").replace("{broker}", "1")
    names = [each.name for each in fields(action.body)]
    usual = {name: NEEDED[name] for name in names if name in NEEDED}
    for name in names:
        values = AS_LISTED if name == "offsets" else [*WRONG[name], *WRONG_THERE.get(("create", name), ())]
        for value in filter(has_form, values):
            response = await web(action.method, path, json={**usual, name: value})
            assert response.status_code in {400, 404}, f"{name}={value!r:.80}: {response.text}"
            assert 10 < len(response.json()["error"]) < 1000
            assert response.json()["error"].isprintable()
            assert snapshot(bench.control) == before, f"{name}={value!r:.80}"


async def test_faults(autojump_clock, bench, web):
    before = snapshot(bench.control)
    for rule in filter(has_form, WRONG["rule"]):
        response = await web("POST", "/faults", json=rule)
        assert response.status_code == 400, f"{rule!r:.80}: {response.text}"
        assert 10 < len(response.json()["error"]) < 1000
    assert snapshot(bench.control) == before


@pytest.mark.parametrize("name", ["x" * 40_000, "%ED%A0%80"])
async def test_names_in_paths(autojump_clock, web, name):
    for action in ACTIONS:
        if "{group}" in action.path or "{topic}" in action.path:
            path = action.path.replace("{group}", name).replace("{topic}", name)
            body = {each.name: NEEDED[each.name] for each in fields(action.body) if each.name in NEEDED}
            response = await web(action.method, path, json=body)
            assert response.status_code in {400, 404}, f"{action.method} {action.path}: {response.text}"
            assert len(response.json()["error"]) < 1000
