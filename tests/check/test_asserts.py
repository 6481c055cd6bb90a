"""Assertions that remember what they compared mean what they meant before."""

import ast

import pytest

from kcoord.check.asserts import Finder, remembering, values_in

PASSES = """
def run(log):
    def call(value):
        log.append(value)
        return value
    assert call(1) == 1 and call(2) in (2, call(3)), call("no")
    assert 0 < call(4) < 10 or call(5)
    assert not call(0)
    assert all(each for each in (call(1), call(2))), "no"
    assert (named := call(6)) and named == 6
    assert [call(7)] == [*[7]]
    assert "text".startswith(call("t"))
    for n in range(2):
        assert n < 2 and (n or call("none"))
    return log

assert run([])
"""

FAILS = """
def run(n, none=None):
    é = [n]
    for step in (0, n):
        assert step == 0 or é[0] == none and run(step), f"{step}"
"""


def compiled(source, changed):
    tree = ast.parse(source)
    namespace = {}
    exec(compile(remembering(tree) if changed else tree, "f", "exec"), namespace)
    return namespace["run"]


def test_what_passes_does_the_same_in_the_same_order():
    assert compiled(PASSES, True)([]) == compiled(PASSES, False)([])


def test_what_fails_tells_what_it_looked_at_this_time():
    with pytest.raises(AssertionError, match=r"^7$") as caught:
        compiled(FAILS, True)(7)
    local = caught.traceback[-1].frame.f_locals
    found = list(values_in(local, 5, 5))
    assert [value for _, value in found] == [7, 7, None]
    line = FAILS.splitlines()[4].encode()
    assert [line[start:end].decode() for (_, start, _, end), _ in found] == ["step", "é[0]", "none"]
    assert list(values_in(local, 1, 4)) == []


def test_only_modules_of_the_package_are_changed():
    assert Finder().find_spec("kcoord.config", None) is None
    assert Finder().find_spec("kcoord.check.no_such_module", ["/nowhere"]) is None
