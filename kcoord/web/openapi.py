"""The description of all that can be asked over HTTP, by OpenAPI 3.1: made of the table of actions and its shapes.

`python -m kcoord.web.openapi` writes kcoord/web/openapi.json anew.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from http import HTTPStatus
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from kcoord import __version__
from kcoord.timeline.events import TopicPartition
from kcoord.timeline.findings import Finding
from kcoord.timeline.generations import Generation
from kcoord.web.actions import ACTIONS, FINDINGS, OPENAPI, TIMELINE, Action
from kcoord.web.bodies import Nothing, Refusal, WaitOver
from kcoord.web.shapes import has_default, hints

FILE = Path(__file__).with_name("openapi.json")
_JSON = "application/json"
_TEXT = "text/plain"
_ALL_MAY: Mapping[HTTPStatus, str] = {
    HTTPStatus.BAD_REQUEST: "What is asked for cannot be: a sentence says why.",
    HTTPStatus.UNAUTHORIZED: "The control has a token, and this request does not.",
    HTTPStatus.FORBIDDEN: "A page in a browser, or a name that is not this machine's, is not let in without a token.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "A bug in kcoord.",
}
_SOME_MAY: Mapping[HTTPStatus, str] = {
    HTTPStatus.NOT_FOUND: "There is nothing of that name.",
    HTTPStatus.REQUEST_TIMEOUT: "What was waited for did not come; the timeline says why.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The group's coordinator does not serve.",
}
_SIMPLE: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
    # Within timelines: "topic-0".
    TopicPartition: {"type": "string"},
}
_EVENT: dict[str, Any] = {
    "type": "object",
    "description": "Something that happened. Which fields there are depends on its kind.",
    "required": ["kind", "at", "wall_ms", "sentence"],
    "properties": {
        "kind": {
            "type": "string",
            "description": "request, answer, heartbeats, left out, or the name of a note, as RebalanceStarted",
        },
        "at": {"type": "number", "description": "Seconds on the server's clock, from the recording's start."},
        "wall_ms": {"type": "integer", "description": "Unix time on the server's clock."},
        "sentence": {"type": "string"},
    },
}


class Description:
    """The document while it is written; shapes are described once, under their names."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        self._names: dict[type, str] = {}

    def document(self) -> dict[str, Any]:
        """Return all of it."""
        paths: dict[str, dict[str, Any]] = {}
        for action in ACTIONS:
            paths.setdefault(action.path, {})[action.method.lower()] = self._operation(action)
        paths[OPENAPI] = {
            "get": {
                "summary": "Describe all of this.",
                "operationId": "get_openapi",
                "responses": {"200": _content("This document.", {"type": "object"})},
            }
        }
        return {
            "openapi": "3.1.1",
            "info": {
                "title": "The control of a kcoord server",
                "version": __version__,
                "description": "Its clock, groups, topics, faults, brokers and timelines. Names in paths are "
                "percent-encoded, slashes in them as well. Every error is an object with one sentence.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "security": [{}, {"token": []}],
            "paths": paths,
            "components": {
                "schemas": dict(sorted(self.schemas.items())),
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }

    def _operation(self, action: Action) -> dict[str, Any]:
        parts = [each[1:-1] for each in action.path.split("/") if each.startswith("{")]
        words = [each.strip("{}") for each in action.path.split("/") if each] or ["server"]
        found: dict[str, Any] = {"summary": action.says, "operationId": "_".join([action.method.lower(), *words])}
        parameters: list[dict[str, Any]] = [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "integer", "minimum": 0} if name in _NUMBERS else {"type": "string", "minLength": 1},
            }
            for name in parts
        ]
        parameters += [
            {"name": name, "in": "query", "schema": {"type": "string", "enum": list(values)}}
            for name, values in action.query.items()
        ]
        if parameters:
            found["parameters"] = parameters
        if action.body is not Nothing:
            required = not all(has_default(each) for each in fields(action.body)) or action.path == "/faults"
            found["requestBody"] = {"required": required, "content": {_JSON: {"schema": self.schema(action.body)}}}
        found["responses"] = self._responses(action)
        return found

    def _responses(self, action: Action) -> dict[str, Any]:
        status = str(action.status.value)
        found: dict[str, Any]
        if action.answer is None:
            found = {status: {"description": "It is done."}}
        else:
            found = {status: _content("How things stand.", self._answer(action.answer))}
            if "format" in action.query:
                found[status]["content"][_TEXT] = {"schema": {"type": "string"}}
        for code, says in {**_ALL_MAY, **{each: _SOME_MAY[each] for each in action.refusals}}.items():
            shape = WaitOver if code is HTTPStatus.REQUEST_TIMEOUT else Refusal
            found[str(code.value)] = _content(says, self.schema(shape))
        return dict(sorted(found.items()))

    def _answer(self, answer: Any) -> dict[str, Any]:
        if answer == FINDINGS:
            return {"type": "array", "items": self.schema(Finding)}
        return self._timeline() if answer == TIMELINE else self.schema(answer)

    def _timeline(self) -> dict[str, Any]:
        self.schema(Generation)
        generation = self.schemas["Generation"]
        generation["properties"]["seconds"] = {
            "type": ["number", "null"],
            "description": "How long the rebalance took; null while it is not over.",
        }
        generation["required"] = [*dict.fromkeys([*generation["required"], "seconds"])]
        self.schemas["Event"] = _EVENT
        properties = {
            "group": {"type": "string"},
            "state": {"type": "string"},
            "until": {"type": "number", "description": "The moment at which it was asked for, as those of events."},
            "names": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "What members are called in sentences, by member id.",
            },
            "findings": {"type": "array", "items": self.schema(Finding)},
            "generations": {"type": "array", "items": self.schema(Generation)},
            "events": {"type": "array", "items": {"$ref": "#/components/schemas/Event"}},
        }
        self.schemas["Timeline"] = {
            "type": "object",
            "description": "What happened to a group.",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        return {"$ref": "#/components/schemas/Timeline"}

    def schema(self, shape: Any) -> dict[str, Any]:
        """Return the schema of a shape."""
        if shape in _SIMPLE:
            return dict(_SIMPLE[shape])
        if is_dataclass(shape) and isinstance(shape, type):
            return self._named(shape)
        if isinstance(shape, type) and issubclass(shape, Enum):
            return {"type": "string", "enum": [each.value for each in shape]}
        origin, inner = get_origin(shape), get_args(shape)
        if origin in (Union, UnionType):
            return self._any_of([self.schema(each) for each in inner])
        if origin is Literal:
            return {"type": "string", "enum": list(inner)}
        if origin in (tuple, frozenset):
            return self._list(inner if origin is tuple else (inner[0], ...))
        # What is left are mappings.
        return {"type": "object", "additionalProperties": self.schema(inner[1]) or True}

    def _any_of(self, schemas: list[dict[str, Any]]) -> dict[str, Any]:
        if all(each.keys() == {"type"} for each in schemas):
            return {"type": [each["type"] for each in schemas]}
        return {"anyOf": schemas}

    def _list(self, inner: tuple[Any, ...]) -> dict[str, Any]:
        if inner[-1] is Ellipsis:
            return {"type": "array", "items": self.schema(inner[0])}
        each = [self.schema(part) if part is not int else {"type": "integer"} for part in inner]
        return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}

    def _named(self, shape: type) -> dict[str, Any]:
        if shape not in self._names:
            name = shape.__name__ if shape.__name__ not in self.schemas else f"{shape.__name__}Told"
            self._names[shape] = name
            self.schemas[name] = {}
            self.schemas[name] |= self._object(shape)
        return {"$ref": f"#/components/schemas/{self._names[shape]}"}

    def _object(self, shape: type) -> dict[str, Any]:
        told = docs(shape)
        properties: dict[str, Any] = {}
        for each in fields(shape):
            properties[each.name] = self.schema(hints(shape)[each.name])
            if each.name in told:
                properties[each.name]["description"] = told[each.name]
            if _is_plain(each.default):
                properties[each.name]["default"] = each.default
        found: dict[str, Any] = {
            "type": "object",
            "description": _in_terms_of_json(inspect.getdoc(shape) or ""),
            "properties": properties,
            "additionalProperties": False,
        }
        needed = [each.name for each in fields(shape) if not has_default(each)]
        if needed:
            found["required"] = needed
        return found


_NUMBERS = frozenset({"fault", "broker"})
"""Parts of paths that are numbers."""


def _is_plain(default: Any) -> bool:
    return default is None or (isinstance(default, str | int | float) and default is not MISSING)


def _content(says: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": says, "content": {_JSON: {"schema": schema}}}


@cache
def docs(shape: type) -> dict[str, str]:
    """Return what is said of fields of a dataclass, in texts beneath them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(shape))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            value = after.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[field.target.id] = _in_terms_of_json(value.value)
    return found


def _in_terms_of_json(text: str) -> str:
    """Return a text of these sources on one line, without what only its readers in Python can use."""
    return re.sub(r"\bNone\b", "null", re.sub(r" Raises \w+\.", "", " ".join(text.split())))


def document() -> str:
    """Return the document as text."""
    return json.dumps(Description().document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
