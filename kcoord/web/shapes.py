"""What JSON is read as: dataclasses, by the types that their fields are annotated with.

Bodies of requests are read so, and so are answers, by those who ask. What does not fit is one sentence that names the
field.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from kcoord.shown import as_given

T = TypeVar("T")


class Misshapen(ValueError):
    """A value is not what it should be; the text is one sentence."""


def read(shape: type[T], value: Any, name: str = "the body") -> T:
    """Return `value`, as JSON has it, as a `shape`. Raises Misshapen."""
    found: T = _read(shape, value, name)
    return found


@cache
def hints(shape: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields."""
    return get_type_hints(shape)


def has_default(field: Any) -> bool:
    """Whether a field of a dataclass may be left out."""
    return field.default is not MISSING or field.default_factory is not MISSING


def _read(shape: Any, value: Any, name: str) -> Any:
    if shape is Any:
        return value
    if is_dataclass(shape):
        return _object(shape, value, name)
    origin = get_origin(shape)
    if origin in (Union, UnionType):
        return _one_of(get_args(shape), value, name)
    if origin is Literal:
        if value not in get_args(shape) or isinstance(value, bool):
            raise Misshapen(f"{name} must be one of {', '.join(map(str, get_args(shape)))}, not {shown(value)}")
        return value
    if origin is tuple:
        return _list(get_args(shape), value, name)
    if origin is dict or origin is Mapping:
        if not isinstance(value, dict):
            raise Misshapen(f"{name} must be an object, not {shown(value)}")
        return {key: _read(get_args(shape)[1], each, f"{name}.{as_given(key)}") for key, each in value.items()}
    return _simple(shape, value, name)


_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    bool: ((bool,), "true or false"),
    NoneType: ((NoneType,), "null"),
}


def _simple(shape: Any, value: Any, name: str) -> Any:
    kinds, what = _KINDS[shape]
    # Python takes true for a whole number.
    if not isinstance(value, kinds) or (isinstance(value, bool) and shape is not bool):
        raise Misshapen(f"{name} must be {what}, not {shown(value)}")
    return value


def _one_of(shapes: tuple[Any, ...], value: Any, name: str) -> Any:
    if value is None and NoneType in shapes:
        return None
    others = [each for each in shapes if each is not NoneType]
    if len(others) == 1:
        return _read(others[0], value, name)
    for each in others:
        try:
            return _read(each, value, name)
        except Misshapen:
            continue
    wanted = " or ".join(_KINDS[each][1] if each in _KINDS else str(each) for each in others)
    raise Misshapen(f"{name} must be {wanted}, not {shown(value)}")


def _list(shapes: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise Misshapen(f"{name} must be a list, not {shown(value)}")
    if shapes[-1] is Ellipsis:
        return tuple(_read(shapes[0], each, f"{name}[{at}]") for at, each in enumerate(value))
    if len(value) != len(shapes):
        raise Misshapen(f"{name} must be a list of {len(shapes)}, not of {len(value)}")
    return tuple(_read(each, part, f"{name}[{at}]") for at, (each, part) in enumerate(zip(shapes, value, strict=True)))


def _object(shape: Any, value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise Misshapen(f"{name} must be an object, not {shown(value)}")
    known = {each.name: each for each in fields(shape)}
    for key in value:
        if key not in known:
            has = f"it has {', '.join(known)}" if known else "it has nothing in it"
            raise Misshapen(f"{name} has no field {shown(key)}: {has}")
    for key, field in known.items():
        if key not in value and not has_default(field):
            raise Misshapen(f"{name} lacks the field {key}")
    inside = "" if name == "the body" else f"{name}."
    return shape(**{key: _read(hints(shape)[key], each, f"{inside}{key}") for key, each in value.items()})


def shown(value: Any) -> str:
    """Return a value as a sentence shows it, in no more than some words."""
    text = (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else ("a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else repr(value))
    )
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


_MOST_SHOWN = 80
"""Characters."""
