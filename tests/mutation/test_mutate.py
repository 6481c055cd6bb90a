"""scripts/mutate.py, on a few mutants; all of them take too long to be judged with every run of the tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.mutate import LIST, omission
from scripts.mutation import listed
from scripts.mutation.making import mutants_of

ROOT = Path(__file__).parent.parent.parent
SOURCE = b'''"""A module."""

LIMIT = -1


class Thing:
    """A thing."""

    __slots__ = ("count",)

    @property
    def full(self) -> bool:
        """Whether it is full."""
        assert self.count > 0
        if self.count >= LIMIT and not self.over:
            self.count += 2
            return True
        for one in self.others:
            self.told(one, "text")
        return any(other is None for other in self.others)

    def answer(self, code: int | None = 3):
        if code:
            return Answer(error=ErrorCode.NONE, host=self.host, client=self.client)
        return None
'''


def made(source: bytes, **may_omit: bool | None):
    return mutants_of("a/module.py", source, lambda _function, keyword, _value: may_omit[keyword])


def test_each_mutant_is_one_change_of_one_line():
    found = made(SOURCE, error=False, host=True, client=None)
    changes: dict[str, list[str]] = {}
    for one in found:
        compile(one.source(SOURCE), one.file, "exec")
        changes.setdefault(one.original, []).append(one.mutated)
    assert {original: sorted(mutated) for original, mutated in changes.items()} == {
        "LIMIT = -1": ["LIMIT = -2", "LIMIT = 1"],
        "if self.count >= LIMIT and not self.over:": [
            "if False:",
            "if True and not self.over:",
            "if True:",
            "if not (self.count >= LIMIT and not self.over):",
            "if self.count > LIMIT and not self.over:",
            "if self.count >= LIMIT and True:",
            "if self.count >= LIMIT and self.over:",
            "if self.count >= LIMIT or not self.over:",
        ],
        "self.count += 2": ["pass", "self.count += 3", "self.count -= 2"],
        "return True": ["pass", "return False"],
        "for one in self.others:": ["for one in ():"],
        'self.told(one, "text")': ["pass", 'self.told(one, "mutated")'],
        "return any(other is None for other in self.others)": [
            "return all(other is None for other in self.others)",
            "return any(other is not None for other in self.others)",
        ],
        "def answer(self, code: int | None = 3):": ["def answer(self, code: int | None = 4):"],
        "if code:": ["if False:", "if True:", "if not (code):"],
        "return Answer(error=ErrorCode.NONE, host=self.host, client=self.client)": [
            "pass",
            "return Answer(error=ErrorCode.NONE, client=self.client)",
            "return Answer(error=ErrorCode.NONE, host=self.host, client=None)",
            "return Answer(error=ErrorCode.UNKNOWN_MEMBER_ID, host=self.host, client=self.client)",
        ],
    }
    assert {(one.function, one.body_of) for one in found} == {
        ("", None),
        ("Thing.full", "Thing.full"),
        ("Thing.answer", "Thing.answer"),
        ("Thing.answer", None),
    }


def test_the_same_change_of_the_same_line_is_told_apart_by_its_number():
    twice = b"def f(a):\n    a.g(a)\n    a.h(a)\n    a.g(a)\n"
    assert [(one.original, one.nth, one.first) for one in made(twice)] == [
        ("a.g(a)", 1, 2),
        ("a.h(a)", 1, 3),
        ("a.g(a)", 2, 4),
    ]
    moved = [one.key for one in made(b"\n\n" + twice)]
    assert moved == [one.key for one in made(twice)]


def test_a_code_that_the_script_does_not_know_is_changed_as_well():
    (one,) = made(b"def f():\n    return ErrorCode.BRAND_NEW\n")
    assert one.mutated == "return ErrorCode.UNKNOWN_SERVER_ERROR"


def test_the_list_can_be_read_and_is_about_the_core():
    """Whether each of its lines is still there, the script says."""
    files = {key[0] for key in listed.read(LIST)}
    assert files
    for file in files:
        assert file.startswith("kcoord/core/")
        assert mutants_of(file, (ROOT / file).read_bytes(), omission(file))


ENTRY = """[[mutant]]
file = 'a.py'
function = 'f'
original = 'a'
mutated = 'b'
reason = "equivalent"
"""


def test_an_entry_is_read_as_it_is_written(tmp_path):
    file = tmp_path / "mutants.toml"
    mutant = next(one for one in made(b"def f(a):\n    a.g('\\\\', \"'\")\n") if one.mutated == "pass")
    file.write_text(listed.entry(mutant).removesuffix('""\n') + '"why"\n')
    assert listed.read(file) == {mutant.key: "why"}


@pytest.mark.parametrize(
    ("text", "wrong"), [(ENTRY + ENTRY, "twice"), (ENTRY.replace("equivalent", " "), "gives no reason")]
)
def test_an_entry_comes_once_and_with_a_reason(tmp_path, text, wrong):
    file = tmp_path / "mutants.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=wrong):
        listed.read(file)


def mutate(module, *arguments):
    command = [sys.executable, ROOT / "scripts/mutate.py", "--only", module, "--tests", "tests/core/test_hashing.py"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=280)


def test_the_mutants_of_a_module_are_judged():
    """Some in a copy of the process, some in a fresh interpreter."""
    done = mutate("hashing", "--at-least", "85")
    assert done.returncode == 0, done.stdout + done.stderr
    row = re.search(r"^ *hashing +(\d+) +(\d+) +(\d+) +[\d.]+$", done.stdout, re.MULTILINE)
    assert row is not None
    mutants, caught, survived = (int(number) for number in row.groups())
    assert mutants == caught + survived
    assert caught > 30
    assert "caught first by: core" in done.stdout


def test_what_no_test_catches_is_told():
    done = mutate("outcome")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0.0 % are caught, which is less than 90 %." in done.stdout
    assert "function = 'Now.back_at'" in done.stdout
