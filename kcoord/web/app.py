"""The control of a server as an ASGI application: JSON in, JSON out, and one sentence for what is wrong.

Paths are taken as they were sent, and their parts are decoded one by one, so that a group's id may have slashes.
"""

import hmac
import json
from collections.abc import Awaitable, Mapping
from functools import cache, partial
from http import HTTPStatus
from importlib.resources import files
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kcoord.control import Control, ControlError, Impossible, TimedOut, plain
from kcoord.faults import FaultRule
from kcoord.shown import as_given, shown
from kcoord.web.actions import ACTIONS, OPENAPI, Action, Asked
from kcoord.web.bodies import Nothing
from kcoord.web.shapes import Misshapen, read

LARGEST_BODY = 1 << 20
"""Bytes."""
MOST_DIGITS = 1000
"""Of a whole number. The largest that means something here has 19."""
LOCAL_NAMES = frozenset({"localhost", "testserver"})
Refused = HTTPException


class Json(Response):
    """An answer in JSON, in ASCII, so that nothing can go wrong with its characters."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def control_app(control: Control, token: str | None = None) -> Starlette:
    """Return the application. Whoever asks has to bring `token`, if there is one, as `Authorization: Bearer`.

    Without one, nobody is let in whom a page in a browser may have sent.
    """
    by_path: dict[str, dict[str, Action]] = {}
    for action in ACTIONS:
        by_path.setdefault(action.path, {})[action.method] = action
    routes = [
        Route(path, partial(_answer, control, methods), methods=list(methods)) for path, methods in by_path.items()
    ]
    routes.append(Route(OPENAPI, _describe, methods=["GET"]))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(AsSent), Middleware(Guard, token=token)],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
    )
    # A slash at the end is part of a name, or a mistake.
    app.router.redirect_slashes = False
    return app


class AsSent:
    """Lets routes be found by the path as it was sent: a slash that is part of a name (%2F) parts nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http":
            scope["path"] = scope["raw_path"].decode("latin-1")
        await self._app(scope, receive, send)


class Guard:
    """Lets in who may come in."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (self._app if refusal is None else refusal)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        if self._token is not None:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token.encode()):
                return None
            sentence = "this control needs its token, as Authorization: Bearer TOKEN"
            return refusal(HTTPStatus.UNAUTHORIZED, sentence, {"WWW-Authenticate": "Bearer"})
        # A page that somebody looks at can have requests sent to this machine; they tell whose they are. And a
        # name that belongs to somebody else can be made to lead here.
        if "origin" in request.headers:
            return refusal(HTTPStatus.FORBIDDEN, "pages in browsers are not let in without a token")
        named = request.headers.get("host")
        host = request.url.hostname if named is None else host_in(named)
        if not is_local(host or ""):
            sentence = f"without a token this control is no {shown(host or named)}, but at 127.0.0.1"
            return refusal(HTTPStatus.FORBIDDEN, sentence)
        return None


def host_in(named: str) -> str | None:
    """Return the host of what a request says that it is for, HOST or HOST:PORT, in small letters; None if it is none.

    For `Request.url` what makes no sense is the address at which the request arrived.
    """
    try:
        parts = urlsplit(f"//{named}")
        port = parts.port
    except ValueError:
        return None
    return None if port == 0 else parts.hostname


def is_local(host: str) -> bool:
    """Whether a host is this machine, for certain."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in LOCAL_NAMES


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return an answer that says what is wrong."""
    return Json({"error": sentence, **more}, status, dict(headers or {}))


async def _answer(control: Control, methods: Mapping[str, Action], request: Request) -> Response:
    """Do what is asked for."""
    action = methods["GET" if request.method == "HEAD" else request.method]
    asked = Asked(path=_path(request), query=_query(action, request), body=await _body(action, request))
    try:
        result = await (_unless_gone(request, action.do(control, asked)) if action.waits else action.do(control, asked))
    except ControlError as error:
        return _sorry(error)
    if action.answer is None:
        return Response(status_code=action.status)
    if isinstance(result, str):
        return PlainTextResponse(result + "\n")
    return Json(plain(result), action.status)


def _sorry(error: ControlError) -> Response:
    sentence, _, detail = str(error).partition("\n")
    if not isinstance(error, TimedOut):
        return refusal(error.status, sentence)
    return refusal(error.status, sentence, detail=detail, timeline=error.timeline)


def _path(request: Request) -> dict[str, str]:
    found = {}
    for name, part in request.path_params.items():
        try:
            found[name] = unquote(part, errors="strict")
        except UnicodeDecodeError:
            raise Refused(HTTPStatus.BAD_REQUEST, f"the {name} in the path is no UTF-8: {as_given(part)}") from None
    return found


def _query(action: Action, request: Request) -> dict[str, str]:
    given = dict(request.query_params)
    for name, value in given.items():
        if name not in action.query:
            raise Refused(HTTPStatus.BAD_REQUEST, f"the query has {shown(name)}, which means nothing here")
        if value not in action.query[name]:
            known = " or ".join(action.query[name])
            raise Refused(HTTPStatus.BAD_REQUEST, f"{name} must be {known}, not {shown(value)}")
    if "format" in action.query:
        given.setdefault("format", "text" if _wants_text(request.headers.get("accept", "")) else "json")
    return given


def _wants_text(accept: str) -> bool:
    """Whether text comes before JSON, and whatever else, in what a client takes."""
    for each in accept.split(","):
        kind = each.partition(";")[0].strip().lower()
        if kind in {"text/plain", "application/json", "application/*", "*/*"}:
            return kind == "text/plain"
    return False


async def _body(action: Action, request: Request) -> Any:
    data = await _bytes(request)
    if not data.strip() and action.body is not FaultRule:
        data = b"{}"
    try:
        value = json.loads(data, parse_constant=_no_number, parse_int=_whole, object_pairs_hook=_once)
        # A half of a surrogate pair is a character of JSON, but of nothing else. A number may be too large.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise Refused(HTTPStatus.BAD_REQUEST, "the body has half a surrogate pair, which is no character") from None
    except UnicodeDecodeError:
        raise Refused(HTTPStatus.BAD_REQUEST, "the body is no JSON: it is not UTF-8") from None
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"the body is no JSON: {error}") from None
    except RecursionError:
        raise Refused(HTTPStatus.BAD_REQUEST, "the body is nested too deeply") from None
    if action.body is Nothing and value == {}:
        return Nothing()
    if action.body is FaultRule and isinstance(value, dict):
        # It checks itself, in sentences of its own.
        return value
    try:
        return read(action.body, value)
    except Misshapen as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None


async def _bytes(request: Request) -> bytes:
    found = bytearray()
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Refused(HTTPStatus.BAD_REQUEST, "the body does not come to its end")
        found += message.get("body", b"")
        if len(found) > LARGEST_BODY:
            sentence = f"the body is too large: it may have {LARGEST_BODY} bytes"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
        if not message.get("more_body", False):
            return bytes(found)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _whole(digits: str) -> int:
    # Python refuses to read very many digits, in words about its settings.
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits, and {MOST_DIGITS} are the most")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{shown(name)} is there twice")
        found[name] = value
    return found


async def _unless_gone(request: Request, work: Awaitable[Any]) -> Any:
    """Do it, until the client goes away: then there is nobody to whom anything could be told."""
    failure: ControlError | None = Impossible("nobody waits for this any more")
    result = None
    async with trio.open_nursery() as nursery:

        async def stop_if_gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        nursery.start_soon(stop_if_gone)
        try:
            result = await work
            failure = None
        except ControlError as error:
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return result


@cache
def description() -> bytes:
    """Return the OpenAPI description of all of it."""
    return files("kcoord.web").joinpath("openapi.json").read_bytes()


async def _describe(_: Request) -> Response:
    return Response(description(), media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    """Say what is wrong with a request that no action has got."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    if error.status_code == HTTPStatus.NOT_FOUND:
        return refusal(error.status_code, f"there is nothing at {shown(path)}; {OPENAPI} tells what there is")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "")
        sentence = f"{as_given(path)} has no {as_given(request.method)}; it has {allowed}"
        return refusal(error.status_code, sentence, error.headers)
    return refusal(error.status_code, error.detail, error.headers)


async def _fail(_: Request, _error: Exception) -> Response:
    """Answer what a bug has kept from being done; what it was is told to who listens to the server."""
    return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "this failed by a bug in kcoord; its log has more")
