"""Whatever stands in a field of a body, or in a path: the answer is one that is described, and never a bug."""

from dataclasses import fields

import pytest

from kcoord.faults import FaultRule
from kcoord.web.actions import ACTIONS
from kcoord.web.bodies import Nothing

VALUES = [
    None, True, False, 0, -1, 1, 1.5, -0.0, 2**31, 2**63,
    -(2**63), 10**30, 1e300, 5e-324, "", "x", "Stable", "g", "1",
    "\0",
    "\N{GRINNING FACE}" * 2000, "x" * 40_000, "ä\r\nX: y", [], [None], [[]], {},
    {"x": 1}, {"topic": "t", "partition": 0},
    [{"topic": "t", "partition": 0, "offset": 2**63}], [{"topic": "t", "partition": 2**31, "offset": 1}],
    [{"topic": "no such", "partition": 7, "offset": 1, "metadata": "x" * 5000}],
    [{"topic": "", "partition": 0, "offset": 0}],
]  # fmt: skip
NEEDED = {
    "seconds": 1,
    "member": "a",
    "instance_id": "i",
    "offsets": [{"topic": "t", "partition": 0, "offset": 1}],
    "name": "new",
    "members": 1,
    "timeout": 1,
}
PATHS = ["g", "%00", "x" * 5000, "%F0%9F%98%80", "-1", "0", "1", "99999999", "%2e%2e", "a%0d%0aX:y"]


def fields_of(action):
    return [] if action.body is Nothing else [each.name for each in fields(action.body)]


WITH_BODY = [action for action in ACTIONS if action.method in {"POST", "PUT"} and fields_of(action)]


@pytest.mark.parametrize("action", WITH_BODY, ids=lambda action: f"{action.method} {action.path}")
async def test_values(autojump_clock, bench, web, action):
    await bench.groups.set_offsets("g", {("t", 0): 1})
    usual = {name: NEEDED[name] for name in fields_of(action) if name in NEEDED and action.body is not FaultRule}
    if action.body is FaultRule:
        usual = {"api": "Heartbeat", "error": 27}
    path = action.path.replace("{group}", "g").replace("{fault}", "1").replace("{broker}", "1")
    for name in fields_of(action):
        for value in VALUES:
            if name == "timeout" and isinstance(value, int | float) and value > 100:
                continue  # it would wait
            response = await web(action.method, path, json={**usual, name: value})
            assert response.status_code != 500, f"{name}={value!r:.60}: {response.text}"
        for body in (None, [], "x", {}, {**usual, "strange": 1}):
            response = await web(action.method, path, json=body)
            assert response.status_code != 500, f"{body!r:.60}: {response.text}"


@pytest.mark.parametrize(
    "action", [each for each in ACTIONS if "{" in each.path], ids=lambda action: f"{action.method} {action.path}"
)
async def test_paths(autojump_clock, web, action):
    before, _, rest = action.path.partition("{")
    after = rest.partition("}")[2]
    usual = {name: NEEDED[name] for name in fields_of(action) if name in NEEDED} if action in WITH_BODY else None
    for part in PATHS:
        response = await web(action.method, f"{before}{part}{after}", json=usual)
        assert response.status_code != 500, f"{part:.60}: {response.text}"
