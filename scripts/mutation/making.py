"""The mutants of one module: small changes of its source, each of which some test should notice.

Assertions, annotations, decorators, docstrings and `__slots__` stay as they are: they decide nothing that anybody sees.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

COMPARISONS = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
}
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
    ast.LShift: ">>", ast.RShift: "<<", ast.BitOr: "&", ast.BitAnd: "|", ast.BitXor: "&",
}  # fmt: skip
TOKENS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^",
}  # fmt: skip
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
ENUMS = {
    "ErrorCode": (
        "UNKNOWN_SERVER_ERROR", "NONE", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS",
        "INVALID_GROUP_ID", "INCONSISTENT_GROUP_PROTOCOL", "FENCED_INSTANCE_ID", "GROUP_ID_NOT_FOUND",
        "NON_EMPTY_GROUP", "MEMBER_ID_REQUIRED", "GROUP_MAX_SIZE_REACHED", "INVALID_SESSION_TIMEOUT",
        "NOT_COORDINATOR", "OFFSET_METADATA_TOO_LARGE", "GROUP_SUBSCRIBED_TO_TOPIC",
    ),
    "GroupState": ("EMPTY", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE", "DEAD"),
}  # fmt: skip
"""What is named instead of a code or a state: the next one, and the first one instead of the last and of any other."""
MayOmit = Callable[[str, str, str], bool | None]
PLAIN = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons whose other operator says the opposite."""
NOT_MUTATED = (ast.Assert, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one place.

    `original` and `mutated` are the lines concerned without the blanks around them; `nth` counts (from 1) where a
    function has the same change of the same line several times. `begin` and `end` are offsets in the source in bytes,
    `text` is what stands between them instead. `first` and `last` are the lines of the statement, or of the function
    where a default of an argument is changed. `body_of` is the function to replace, or None for what happens when the
    module is imported, and `names` is what that gives values to.
    """

    file: str
    function: str
    original: str
    mutated: str
    nth: int
    begin: int
    end: int
    text: str
    first: int
    last: int
    body_of: str | None
    names: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What the mutant is known by, wherever in the file it stands."""
        return self.file, self.function, self.original, self.mutated, self.nth

    def source(self, data: bytes) -> bytes:
        """The module's source with the change."""
        return data[: self.begin] + self.text.encode() + data[self.end :]


def mutants_of(file: str, data: bytes, may_omit: MayOmit) -> list[Mutant]:
    """All mutants of a module, in the order of its source.

    `may_omit` tells of a class of that module, a keyword argument and its value whether leaving it out is a change;
    None where it cannot be left out.
    """
    finder = _Finder(file, data, may_omit)
    finder.visit(ast.parse(data))
    found = {(one.begin, one.end, one.text): one for one in finder.found}
    seen: Counter[tuple[str, ...]] = Counter()
    numbered = []
    for one in sorted(found.values(), key=lambda each: (each.begin, each.end, each.text)):
        seen[one.function, one.original, one.mutated] += 1
        numbered.append(replace(one, nth=seen[one.function, one.original, one.mutated]))
    return numbered


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, data: bytes, may_omit: MayOmit) -> None:
        self.found: list[Mutant] = []
        self._file = file
        self._data = data
        self._may_omit = may_omit
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
        self._path: list[str] = []
        self._function: str | None = None
        self._lines = (1, 1)
        self._names: tuple[str, ...] = ()

    # --- places and texts ---

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _text(self, node: ast.expr) -> str:
        begin, end = self._span(node)
        return self._data[begin:end].decode()

    def _change(self, node: ast.expr | ast.stmt, text: str) -> None:
        self._put(*self._span(node), text)

    def _put(self, begin: int, end: int, text: str) -> None:
        first = self._data.rfind(b"\n", 0, begin) + 1
        last = self._data.find(b"\n", end)
        before, old, after = self._data[first:begin], self._data[begin:end], self._data[end:last]
        self.found.append(
            Mutant(
                file=self._file,
                function=".".join(self._path),
                original=_on_one_line((before + old + after).decode()),
                mutated=_on_one_line(before.decode() + text + after.decode()),
                nth=1,
                begin=begin,
                end=end,
                text=text,
                first=self._lines[0],
                last=self._lines[1],
                body_of=self._function,
                names=self._names,
            )
        )

    def _between(self, left: ast.expr, right: ast.expr, pattern: str, text: str) -> None:
        """Change the operator that stands between two expressions."""
        begin, end = self._span(left)[1], self._span(right)[0]
        match = re.search(pattern.encode(), self._data[begin:end])
        assert match is not None
        self._put(begin + match.start(), begin + match.end(), text)

    # --- definitions ---

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._path.append(node.name)
        outer = self._function, self._lines, self._names
        assert node.end_lineno is not None
        self._lines, self._names = (node.body[0].lineno, node.end_lineno), (node.name,)
        for default in [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]:
            self.visit(default)
        if self._function is None:
            self._function = ".".join(self._path)
        self._block(node.body, last=True)
        self._function, self._lines, self._names = outer
        self._path.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._path.append(node.name)
        self._block(node.body)
        self._path.pop()

    def visit_Module(self, node: ast.Module) -> None:
        self._block(node.body)

    def _block(self, body: list[ast.stmt], *, last: bool = False) -> None:
        """Look at statements; `last` says that nothing of the function comes after them."""
        for number, statement in enumerate(body):
            self._statement(statement, last=last and number == len(body) - 1)

    def _statement(self, node: ast.stmt, *, last: bool) -> None:
        if isinstance(node, NOT_MUTATED) or _is_docstring(node) or (self._function is None and _is_declaration(node)):
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.visit(node)
            return
        outer = self._lines, self._names
        body: list[ast.stmt] = getattr(node, "body", [])
        assert node.end_lineno is not None
        self._lines = node.lineno, max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
        if self._function is None:
            stored = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and _stored(each)]
            self._names = (*stored, *self._path)
        self._remove(node, last=last)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr) and part is not getattr(node, "annotation", None):
                self.visit(part)
        match node:
            case ast.If() | ast.While():
                self._condition(node.test, loop=isinstance(node, ast.While))
            case ast.For():
                self._change(node.iter, "()")
            case ast.AugAssign():
                token, other = TOKENS[type(node.op)] + "=", ARITHMETIC[type(node.op)] + "="
                self._between(node.target, node.value, re.escape(token), other)
            case _:
                pass
        for inner in (body, getattr(node, "orelse", []), getattr(node, "finalbody", [])):
            self._block(inner)
        for handler in getattr(node, "handlers", []):
            self._block(handler.body)
        self._lines, self._names = outer

    def _remove(self, node: ast.stmt, *, last: bool) -> None:
        """Leave a statement out, if the function can do without it; a local name that is never set is no mutant."""
        match node:
            case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Raise():
                self._change(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AnnAssign(target=ast.Attribute()):
                self._change(node, "pass")
            case ast.Return() if not last:
                self._change(node, "pass")
            case ast.Continue():
                self._change(node, "break")
            case ast.Break():
                self._change(node, "continue")
            case _:
                pass

    # --- expressions ---

    def _condition(self, test: ast.expr, *, loop: bool = False) -> None:
        """Turn a condition round, and let it be always true or always false."""
        turned = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        turned |= isinstance(test, ast.Compare) and isinstance(test.ops[0], PLAIN)
        if not turned:
            self._change(test, f"not ({self._text(test)})")
        if not loop:
            self._change(test, "True")
        self._change(test, "False")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._condition(condition)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            self._between(left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word, other, neutral = ("and", "or", "True") if isinstance(node.op, ast.And) else ("or", "and", "False")
        for left, right in pairwise(node.values):
            self._between(left, right, rf"\b{word}\b", other)
        for operand in node.values:
            self._change(operand, neutral)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._between(node.left, node.right, re.escape(TOKENS[type(node.op)]), ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub)):
            self._change(node, self._text(node.operand))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                self._change(node, str(not node.value))
            case int():
                self._change(node, str(node.value + 1))
            case str():
                self._change(node, '"mutated"')
            case bytes():
                self._change(node, 'b"mutated"')
            case _:
                pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._change(node, '"mutated"')  # Python 3.11 does not know where in it an expression stands

    def visit_Attribute(self, node: ast.Attribute) -> None:
        match node:
            case ast.Attribute(value=ast.Name(id=("ErrorCode" | "GroupState") as enum), attr=name) if name.isupper():
                names = ENUMS[enum]
                place = names.index(name) if name in names else -1
                self._change(node, f"{enum}.{names[(place + 1) % len(names)]}")
            case _:
                self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name):
            if node.func.id in FUNCTIONS:
                self._change(node.func, FUNCTIONS[node.func.id])
            for keyword in node.keywords:
                self._argument(node.func.id, keyword)
        self.generic_visit(node)

    def _argument(self, function: str, keyword: ast.keyword) -> None:
        """Leave an argument of a message, note or record out, or give None where it has to be given."""
        if not function[0].isupper() or isinstance(keyword.value, ast.Constant):
            return
        assert keyword.arg is not None
        may = self._may_omit(function, keyword.arg, self._text(keyword.value))
        if may is None:
            self._change(keyword.value, "None")
        if not may:
            return
        begin, end = self._at(keyword.lineno, keyword.col_offset), self._span(keyword.value)[1]
        comma = re.match(rb"\s*,\s*", self._data[end:])
        self._put(begin, end + (comma.end() if comma else 0), "")


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_declaration(node: ast.stmt) -> bool:
    """Whether a statement of a module or class only says something to the type checker, or about the slots."""
    match node:
        case ast.AnnAssign(value=None) | ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Assign(targets=[ast.Name(id="__slots__")]):
            return True
        case ast.Assign(value=ast.Subscript() | ast.BinOp(right=ast.Subscript())):
            return True
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar"))):
            return True
        case _:
            return False


def given_values_from(tree: ast.Module, names: tuple[str, ...]) -> Iterator[str]:
    """The names to which statements outside of functions give a value that is made from one of these names."""
    places: list[ast.Module | ast.ClassDef] = [tree, *(each for each in tree.body if isinstance(each, ast.ClassDef))]
    for statement in (each for place in places for each in place.body):
        value = getattr(statement, "value", None)
        if value is None or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            continue
        if any(
            (isinstance(each, ast.Name) and each.id in names)
            or (isinstance(each, ast.Attribute) and each.attr in names)
            for each in ast.walk(value)
        ):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))


def functions_that_name(tree: ast.Module, names: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The lines (first, last) of each function in which one of these names stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            (isinstance(each, ast.Name) and each.id in names)
            or (isinstance(each, ast.Attribute) and each.attr in names)
            for each in ast.walk(node)
        ):
            assert node.end_lineno is not None
            yield node.body[0].lineno, node.end_lineno
