"""Frozen data as what JSON has: objects, lists, texts, numbers."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """Return a value of this package, or of notes and messages, as JSON has it.

    Enums are their names, bytes are hexadecimal text, keys of mappings are texts. Raises TypeError for what has no form
    there.
    """
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, int):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    raise TypeError(f"{type(value).__name__} has no form in JSON")
