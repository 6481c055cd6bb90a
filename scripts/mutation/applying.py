"""A mutant put in the place of the code that is loaded, or that is about to be."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType


def module_name(file: str) -> str:
    """The name under which a file of the checkout is imported."""
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def replace_functions(file: str, source: bytes, only: str | None = None) -> None:
    """Give the loaded functions of a module, or `only` the one of that name, the code that they have in `source`.

    A function stays the same object, so whoever holds it calls the new code.
    """
    module = sys.modules[module_name(file)]
    changed = compile(source, module.__file__ or file, "exec", dont_inherit=True)
    codes = {each.co_qualname: each for each in _codes(changed)}
    for name, function in [(only, _at(module, only))] if only else _functions(module):
        function.__code__ = codes[name]


def _functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """The functions that are written in this module, and their names."""
    for place in [module, *(each for each in vars(module).values() if isinstance(each, type))]:
        for found in list(vars(place).values()):
            function = found.fget if isinstance(found, property) else found
            if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
                yield function.__qualname__, function


def _at(module: ModuleType, name: str) -> FunctionType:
    return next(function for known, function in _functions(module) if known == name)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class Replacing(importlib.abc.MetaPathFinder):
    """Has one module imported from another source; nothing of that is kept in a compiled file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.name = module_name(file)
        self.used = False
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of that module, and None for any other."""
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        self.used = True
        spec.loader = _Loader(spec.loader.name, spec.loader.path, self._source)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._changed = source

    def get_code(self, _fullname: str) -> CodeType:
        code: CodeType = compile(self._changed, self.path, "exec", dont_inherit=True)
        return code
