"""Assertions that remember what they compared.

`assert await member.heartbeat() is ErrorCode.NONE` says nothing but that it failed, and to ask the broker once more
would be another conversation. So the modules of `kcoord.check` are compiled with a change: what an assertion looks at
is kept in a local variable on the way. The name of the variable is the place in the source, `@12:4:12:20` (first line
and column, last line and column), which no variable of Python can have; `values_in` finds them again in the frame
that failed. Nothing else of a module changes, and what is evaluated, and in which order, stays the same.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

PACKAGE = "kcoord.check."
_MARK = "@"


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of this package where Python would, and gives them the loader that changes assertions."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of this package; None for any other, and for one without source."""
        if not fullname.startswith(PACKAGE):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module anew each time: the compiled file that lies beside it was made without the change."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        """Tell that a compiled file cannot be compared with the source, which is what keeps it from being used."""
        raise OSError(f"{path} is always compiled anew")

    def source_to_code(  # type: ignore[override]
        self, data: bytes, path: str, *, _optimize: int = -1
    ) -> CodeType:
        """Compile a module, its assertions changed. Raises SyntaxError."""
        tree = ast.parse(data, path)
        code: CodeType = compile(remembering(tree), path, "exec", dont_inherit=True, optimize=_optimize)
        return code


def install() -> None:
    """Have the modules of this package that are imported from now on loaded so."""
    if not any(isinstance(each, Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, Finder())


def remembering(tree: ast.Module) -> ast.Module:
    """Change the assertions inside functions, in place."""
    changed: ast.Module = ast.fix_missing_locations(_Asserts().visit(tree))
    return changed


def values_in(local: Mapping[str, Any], first: int, last: int) -> Iterator[tuple[tuple[int, int, int, int], Any]]:
    """Yield (place, value) of all that the assertion in the lines `first` to `last` looked at before it failed.

    A place is first line, first column, last line, last column; columns count bytes of UTF-8, as in `ast`.
    """
    for name in sorted((each for each in local if each.startswith(_MARK)), key=_place):
        place = _place(name)
        if first <= place[0] and place[2] <= last and local[name] is not ...:
            yield place, local[name]


def _place(name: str) -> tuple[int, int, int, int]:
    first, column, last, end = (int(each) for each in name[len(_MARK) :].split(":"))
    return first, column, last, end


class _Asserts(ast.NodeTransformer):
    def __init__(self) -> None:
        self._depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._inside(node)

    def _inside(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._depth += 1
        try:
            return self.generic_visit(node)
        finally:
            self._depth -= 1

    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.stmt]:
        if not self._depth:
            return node
        kept: list[str] = []
        node.test = _looked_at(node.test, kept)
        if not kept:
            return node
        # What an earlier turn of a loop left there is not what this one looked at.
        targets: list[ast.expr] = [ast.Name(id=name, ctx=ast.Store()) for name in kept]
        cleared = ast.copy_location(ast.Assign(targets=targets, value=ast.Constant(value=...)), node)
        return [cleared, node]


def _looked_at(test: ast.expr, kept: list[str]) -> ast.expr:
    """Change an expression so that what decides its truth is kept, under names that are added to `kept`."""
    match test:
        case ast.Compare():
            test.left = _keep(test.left, kept)
            test.comparators = [_keep(each, kept) for each in test.comparators]
        case ast.BoolOp():
            test.values = [_looked_at(each, kept) for each in test.values]
        case ast.UnaryOp(op=ast.Not()):
            test.operand = _looked_at(test.operand, kept)
        case ast.Call():
            if isinstance(test.func, ast.Attribute) and isinstance(test.func.value, (ast.Name, ast.Await)):
                test.func.value = _keep(test.func.value, kept)
            test.args = [_keep(each, kept) for each in test.args]
        case ast.Await(value=ast.Call()):
            test.value = _looked_at(test.value, kept)
        case ast.Await():
            pass
        case _:
            return _keep(test, kept)
    return test


def _keep(value: ast.expr, kept: list[str]) -> ast.expr:
    if isinstance(value, (ast.Starred, ast.GeneratorExp, ast.Lambda, ast.NamedExpr)) or _is_literal(value):
        return value
    name = f"{_MARK}{value.lineno}:{value.col_offset}:{value.end_lineno}:{value.end_col_offset}"
    kept.append(name)
    return ast.copy_location(ast.NamedExpr(target=ast.Name(id=name, ctx=ast.Store()), value=value), value)


def _is_literal(value: ast.expr) -> bool:
    if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        return all(_is_literal(each) for each in value.elts)
    return isinstance(value, ast.Constant)
