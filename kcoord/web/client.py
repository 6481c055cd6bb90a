"""Asking a control over HTTP, with nothing but the standard library."""

import json
import os
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from kcoord.control.errors import ControlError, Impossible, NotFound, TimedOut, Unavailable

CONTROL = "KCOORD_CONTROL"
"""The environment variable that has a control's address."""
TOKEN = "KCOORD_CONTROL_TOKEN"  # noqa: S105 - its name
"""The environment variable that has its token."""
PATIENCE = 60.0
"""Seconds that a control may take for an answer, beside what it is asked to wait."""
_ERRORS: Mapping[int, type[ControlError]] = {each.status: each for each in (Impossible, NotFound, Unavailable)}


NO_TOKEN = "the control's token must be of ASCII characters that can be printed, without blanks"  # noqa: S105 - a sentence
"""What is wrong with a text that is no token."""


def is_token(text: str) -> bool:
    """Whether a header of HTTP can have it as a token; an empty one would be none."""
    return text.isascii() and text.isprintable() and text != "" and " " not in text


class Unreachable(ControlError):
    """There is no answer, or none of a control."""


class ControlClient:
    """One control, at `url`: http://HOST:PORT, or HOST:PORT alone.

    Raises Impossible for what is no such address, and no token.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        if token is not None and not is_token(token):
            raise Impossible(NO_TOKEN)
        self.url = url
        self._token = token
        full = url if "://" in url else f"http://{url}"
        try:
            parts = urlsplit(full)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or parts.scheme not in {"http", "https"} or parts.query or parts.fragment or not url.isprintable():
            raise Impossible(f"{url!r} is no address of a control: it must be http://HOST:PORT")
        self._host, self._port = host, port
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._base = parts.path.rstrip("/")

    @classmethod
    def from_environment(cls, url: str | None = None, token: str | None = None) -> "ControlClient":
        """Return the control that is named here or, if none is, in the environment, where an empty name is none.

        Raises Impossible.
        """
        found = os.environ.get(CONTROL) or None if url is None else url
        if found is None:
            raise Impossible(f"which server? Give --control, or {CONTROL} in the environment: http://HOST:PORT")
        return cls(found, os.environ.get(TOKEN) or None if token is None else token)

    def get(self, *path: object, text: bool = False) -> Any:
        """Return what is at a path, given by its parts. Raises ControlError."""
        return self.ask("GET", *path, text=text)

    def post(self, *path: object, patience: float = PATIENCE, **body: Any) -> Any:
        """Have something done. Raises ControlError."""
        return self.ask("POST", *path, body=body, patience=patience)

    def delete(self, *path: object) -> Any:
        """Have something deleted. Raises ControlError."""
        return self.ask("DELETE", *path)

    def ask(
        self,
        method: str,
        *path: object,
        body: Mapping[str, Any] | None = None,
        text: bool = False,
        patience: float = PATIENCE,
    ) -> Any:
        """Return the answer: JSON, read, or with `text` a text; None if there is nothing to tell.

        `patience` is in seconds. Raises Impossible, NotFound, TimedOut, Unavailable as the control does; Unreachable.
        """
        headers = {"Accept": "text/plain" if text else "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        where = f"{self._base}/{'/'.join(quote(str(part), safe='') for part in path)}"
        connection = self._kind(self._host, self._port, timeout=patience)
        try:
            connection.request(method, where, data, headers)
            response = connection.getresponse()
            return self._read(response.status, response.read(), text=text)
        except OSError as error:
            why = error.strerror or str(error)
            raise Unreachable(f"the control at {self.url} cannot be reached: {why}") from None
        except HTTPException as error:
            raise Unreachable(f"what answers at {self.url} is no control: {error!r}") from None
        except ValueError as error:
            raise Unreachable(
                f"the control at {self.url} cannot be asked, or does not answer in JSON: {error}"
            ) from None
        finally:
            connection.close()

    def _read(self, status: int, data: bytes, *, text: bool) -> Any:
        if status < 400 and text:
            return data.decode()
        answer = json.loads(data) if data else None
        if status < 400:
            return answer
        if not isinstance(answer, dict) or not isinstance(answer.get("error"), str):
            raise Unreachable(f"what answers at {self.url} is no control: its status is {status}")
        sentence = "\n".join(filter(None, (answer["error"], answer.get("detail"))))
        if status == TimedOut.status:
            raise TimedOut(sentence, answer.get("timeline"))
        raise _ERRORS.get(status, ControlError)(sentence)
