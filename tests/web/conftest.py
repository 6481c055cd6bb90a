"""A server without sockets under virtual time, and its control as an application that is called without sockets."""

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from json import dumps
from types import MappingProxyType
from urllib.parse import unquote

import pytest
import trio
from jsonschema import Draft202012Validator

from kcoord.web.app import control_app
from tests.control.conftest import Bench
from tests.server.conftest import start, without_sockets


@cache
def description():
    return json.loads(files("kcoord.web").joinpath("openapi.json").read_text())


def described(method, path):
    """What the description says of a request; `path` is one that was sent."""
    parts = path.split("?")[0].split("/")
    for template, operations in description()["paths"].items():
        wanted = template.split("/")
        if (
            len(parts) == len(wanted)
            and all(want == part or (want.startswith("{") and part) for want, part in zip(wanted, parts, strict=True))
            and method.lower() in operations
        ):
            return operations[method.lower()]
    return None


def check(method, path, response):
    """Every answer is one that the description has, in its shape."""
    operation = described(method, path)
    if operation is None:
        assert response.status_code in {401, 403, 404, 405}
        schema = {"$ref": "#/components/schemas/Refusal"}
    else:
        answers = operation["responses"]
        assert str(response.status_code) in answers, f"{method} {path}: {response.status_code} is not described"
        content = answers[str(response.status_code)].get("content")
        if content is None:
            assert response.content == b""
            return
        kind = response.headers["content-type"].split(";")[0]
        assert kind in content
        if kind != "application/json":
            return
        schema = content[kind]["schema"]
    whole = {"components": description()["components"], **schema}
    Draft202012Validator(whole).validate(response.json())


@dataclass
class Response:
    status_code: int
    headers: dict
    content: bytes = b""

    @property
    def text(self):
        return self.content.decode()

    def json(self):
        return json.loads(self.content)


class Web:
    """A client of the control, for whom each answer is checked against the description."""

    def __init__(self, control, token=None):
        self.app = control_app(control, token)

    async def __call__(self, method, path, *, json=None, content=None, headers=MappingProxyType({})):
        if content is None:
            content = b"" if json is None else dumps(json).encode()
        response = await self.call(method, path, content, {"Host": "127.0.0.1", **headers})
        if method != "HEAD":
            check(method, path, response)
        return response

    async def call(self, method, path, content, headers):
        """Call the application as a server does, which gives it a body in two parts and then nothing more."""
        half = len(content) // 2
        to_come = [(content[:half], True), (content[half:], False)]

        async def receive():
            if not to_come:
                await trio.sleep_forever()
            body, more = to_come.pop(0)
            return {"type": "http.request", "body": body, "more_body": more}

        response = None

        async def send(message):
            nonlocal response
            if message["type"] == "http.response.start":
                told = {name.decode(): value.decode() for name, value in message["headers"]}
                response = Response(message["status"], told)
            else:
                response.content += message["body"]

        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        # Of a bug it tells whoever runs it as well, once it has answered.
        with suppress(RuntimeError):
            await self.app(scope, receive, send)
        return response

    async def get(self, path, **how):
        return await self("GET", path, **how)

    async def post(self, path, body=None, **how):
        return await self("POST", path, json=body, **how)

    async def told(self, method, path, body=None, *, status=200):
        """The answer's JSON, or None where it has none."""
        response = await self(method, path, json=body)
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    async def refused(self, method, path, body=None, *, status=400):
        """The sentence of a refusal."""
        return (await self.told(method, path, body, status=status))["error"]


@pytest.fixture
async def bench(autojump_clock, nursery):
    return Bench(await start(nursery, without_sockets(group_initial_rebalance_delay_ms=0)))


@pytest.fixture
async def web(bench):
    return Web(bench.control)
