"""The control's own listener: where it may listen, and serving it beside the server that it controls."""

import os
import socket
from ipaddress import ip_address
from traceback import format_exception

import trio

from kcoord.config import Address, ConfigError
from kcoord.control import Control
from kcoord.net.addresses import plain_host
from kcoord.net.listening import CannotListen, Lack
from kcoord.notices import HandlerFailed
from kcoord.serve import Running
from kcoord.web.client import NO_TOKEN, is_token

BACKLOG = 128
WILDCARDS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a wildcard is reached by


class ControlListener:
    """An address at which a server may be controlled. Raises ConfigError if it may not be used, or not be served."""

    def __init__(self, address: Address, token: str | None = None) -> None:
        _may_listen(address, token)
        _needs_extra()
        self._address = address
        self._token = token
        self.url = ""
        """Where it is reached from this machine, once it is served."""

    async def serve(
        self,
        running: Running,
        control: Control | None = None,
        *,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Let whoever connects control the server, until cancelled; started, with the URL, once connections come in.

        `control` is that of the server which is `running`, if it has one already. Raises CannotListen.
        """
        from kcoord.web.app import control_app
        from kcoord.web.http import serve_connection

        app = control_app(control or Control(running), self._token)

        async def serve_client(stream: trio.SocketStream) -> None:
            try:
                host, port = stream.socket.getpeername()[:2]
            except OSError:
                # It is gone again.
                return

            def on_failure(error: Exception) -> None:
                running.broker.tell(
                    HandlerFailed(host=plain_host(host), port=port, traceback="".join(format_exception(error)))
                )

            await serve_connection(app, stream, on_failure)

        with _bound(self._address) as sock:
            host, port = sock.getsockname()[:2]
            self.url = f"http://{Address(WILDCARDS.get(host, host), port)}"
            task_status.started(self.url)
            listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
            await trio.serve_listeners(serve_client, [_Patient(listener, Lack(running.broker, "control"))])


class _Patient(trio.abc.Listener[trio.SocketStream]):
    """A listener that goes on when clients cannot be let in, and tells of that.

    trio would write to the standard error, ten times a second, and wait until somebody has read it.
    """

    def __init__(self, listener: trio.SocketListener, lack: Lack) -> None:
        self._listener = listener
        self._lack = lack

    async def accept(self) -> trio.SocketStream:
        """Return the next client."""
        while True:
            # Without descriptors `accept` fails also if nobody is there.
            await trio.lowlevel.wait_readable(self._listener.socket)
            try:
                return await self._listener.accept()
            except OSError as error:
                await self._lack.met(error)

    async def aclose(self) -> None:
        """Close it."""
        await self._listener.aclose()


def control_address(text: str) -> Address:
    """Read what --control is given. Raises ConfigError."""
    try:
        return Address.parse(text)
    except ValueError as error:
        raise ConfigError(f"--control is {text!r}: {error}") from None


def _may_listen(address: Address, token: str | None) -> None:
    """See to it that only this machine is let in without a token. Raises ConfigError."""
    if token is not None and not is_token(token):
        raise ConfigError(NO_TOKEN)
    if token is None and not _is_loopback(address.host):
        raise ConfigError(
            f"--control is {str(address)!r}, which others can reach: that needs a token, by --control-token or "
            "KCOORD_CONTROL_TOKEN in the environment"
        )


def _needs_extra() -> None:
    """Raise ConfigError if what is needed to serve HTTP is not installed."""
    try:
        import h11  # noqa: F401
        import starlette  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"control over HTTP needs {error.name}, which is not installed; kcoord[web] has it") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bound(address: Address) -> socket.socket:
    try:
        found = socket.getaddrinfo(address.host or "0.0.0.0", address.port, type=socket.SOCK_STREAM)  # noqa: S104
        family, _, _, _, place = min(found, key=lambda each: each[0] != socket.AF_INET)
        sock = socket.create_server(place[:2], family=family, backlog=BACKLOG)
    except socket.gaierror as error:
        raise CannotListen(f"cannot listen on {address}: {error.strerror}") from None
    except OSError as error:
        known = os.strerror(error.errno) if error.errno is not None else str(error)
        raise CannotListen(f"cannot listen on {address}: {known}") from None
    except UnicodeError as error:
        raise CannotListen(f"cannot listen on {address}: {error}") from None
    sock.setblocking(False)
    return sock
