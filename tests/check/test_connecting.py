"""Connections as clients have them: by TLS, and by SASL."""

import contextlib
import os
import shutil
import socket
import ssl
import subprocess

import pytest
import trio
from trio.testing import memory_stream_pair

from kcoord.check.connecting import Endpoint, Sasl, address_of, authenticate
from kcoord.check.outcome import CannotRun
from kcoord.check.probe import Client
from kcoord.check.target import reach
from kcoord.check.tls import tls_context
from wire.codec import decode
from wire.errors import ErrorCode
from wire.frame import FrameBuffer
from wire.header import read_request_header, response_frame
from wire.messages import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeResponse

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


@pytest.mark.parametrize(
    ("text", "address"),
    [("host:9092", ("host", 9092)), ("[::1]:1", ("::1", 1)), ("10.0.0.1:65535", ("10.0.0.1", 65535))],
)
def test_addresses(text, address):
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["host", "host:", ":1", "::1:1", "host:x", "host:-1", "host:0", "h:65536", "h:\u0661"])
def test_what_is_no_address(text):
    with pytest.raises(CannotRun):
        address_of(text)


# --- SASL ---


async def broker(stream, *answers, asked):
    """Answer one request after the other with these, and close."""
    frames = FrameBuffer(1 << 20)
    for message in answers:
        while (frame := frames.next()) is None:
            frames.feed(await stream.receive_some())
        header, at = read_request_header(frame)
        if header.api_key == SaslAuthenticateRequest.API_KEY:
            asked.append(decode(SaslAuthenticateRequest, header.api_version, frame, at).auth_bytes)
        if callable(message):
            message = message(asked[-1])
        if isinstance(message, bytes):
            await stream.send_all(message)
        else:
            await stream.send_all(response_frame(header.correlation_id, message, header.api_version))
    await stream.aclose()


async def run(sasl, *answers):
    near, far = memory_stream_pair()
    asked = []
    async with trio.open_nursery() as nursery:

        async def serve():
            await broker(far, *answers, asked=asked)

        nursery.start_soon(serve)
        try:
            await authenticate(near, sasl)
        finally:
            nursery.cancel_scope.cancel()
    return asked


HANDSHAKE = SaslHandshakeResponse(mechanisms=["PLAIN", "SCRAM-SHA-256"])
PLAIN = Sasl("PLAIN", "böb", "secret")
SCRAM = Sasl("SCRAM-SHA-256", "bob", "secret")


async def test_plain():
    assert await run(PLAIN, HANDSHAKE, SaslAuthenticateResponse()) == ["\0böb\0secret".encode()]
    assert "secret" not in repr(PLAIN)


def challenge(first):
    nonce = first.decode().split("r=")[1]
    return SaslAuthenticateResponse(auth_bytes=f"r={nonce}x,s=AAAA,i=4096".encode())


@pytest.mark.parametrize(
    ("sasl", "answers", "why"),
    [
        (
            PLAIN,
            [SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=["GSSAPI"])],
            "the broker does not take PLAIN; it offers GSSAPI",
        ),
        (
            PLAIN,
            [HANDSHAKE, SaslAuthenticateResponse(error_code=58, error_message="who are you?")],
            "the broker does not let 'böb' in: who are you?",
        ),
        (
            PLAIN,
            [HANDSHAKE, SaslAuthenticateResponse(error_code=58, error_message=None)],
            "the broker does not let 'böb' in: SASL_AUTHENTICATION_FAILED",
        ),
        (
            PLAIN,
            [SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)],
            "the broker does not authenticate here: connect without --sasl-mechanism",
        ),
        (PLAIN, [SaslHandshakeResponse(error_code=-1)], "the broker answers SaslHandshake with UNKNOWN_SERVER_ERROR"),
        (PLAIN, [HANDSHAKE], "the broker closes connections that authenticate; does it want SASL here?"),
        (PLAIN, [b"\x15\x03\x03\0\2\2\x50"], "the broker is of no use: it speaks TLS here: connect with --tls"),
        (PLAIN, [b"HTTP/1.1 400"], "the broker is of no use: it says b'HTTP/1.1 400', which is no answer of Kafka's"),
        (
            SCRAM,
            [HANDSHAKE, SaslAuthenticateResponse(auth_bytes=b"r=other,s=AAAA,i=4096")],
            "authentication failed: the broker's nonce does not go on from ours",
        ),
        (
            SCRAM,
            [HANDSHAKE, challenge, SaslAuthenticateResponse(auth_bytes=b"v=AAAA")],
            "authentication failed: the broker does not prove that it knows the password",
        ),
    ],
    ids=["mechanism", "message", "no message", "no SASL", "error", "closes", "TLS", "HTTP", "challenge", "proof"],
)
async def test_who_is_not_let_in(sasl, answers, why):
    with pytest.RaisesGroup(pytest.RaisesExc(CannotRun, match=why)):
        await run(sasl, *answers)


# --- TLS ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost, and its key, in one folder."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


def server_context(folder, *, wants_certificate=False, oldest=ssl.TLSVersion.TLSv1_2):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "cert.pem")
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    context.minimum_version = oldest
    if wants_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def hello(folder, host, tls, **server):
    """Connect to a server that says hello by TLS; return what it said."""
    context = server_context(folder, **server)

    async def serve(stream):
        try:
            await trio.SSLStream(stream, context, server_side=True).send_all(b"hello")
            await trio.sleep_forever()
        except trio.BrokenResourceError:
            pass
        finally:
            await trio.aclose_forcefully(stream)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        port = listeners[0].socket.getsockname()[1]
        try:
            stream = await Endpoint(host, port, tls).open()
            said = await stream.receive_some()
            await trio.aclose_forcefully(stream)
            return said
        finally:
            nursery.cancel_scope.cancel()


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def context_of(folder, *, trusted=True, cert=False, insecure=False):
    return tls_context(
        ca=folder / "cert.pem" if trusted else None,
        cert=folder / "cert.pem" if cert else None,
        key=folder / "key.pem" if cert else None,
        insecure=insecure,
    )


def in_real_time(what, *arguments, **options):
    async def run():
        with trio.fail_after(30):
            return await what(*arguments, **options)

    return trio.run(run)


@needs_openssl
def test_tls(certificate):
    assert in_real_time(hello, certificate, "localhost", context_of(certificate)) == b"hello"


@needs_openssl
def test_a_certificate_that_nobody_vouches_for(certificate):
    with pytest.RaisesGroup(pytest.RaisesExc(CannotRun, match="certificate is not accepted: self-signed certificate")):
        in_real_time(hello, certificate, "localhost", context_of(certificate, trusted=False))
    insecure = context_of(certificate, trusted=False, insecure=True)
    assert in_real_time(hello, certificate, "localhost", insecure) == b"hello"


@needs_openssl
def test_a_certificate_of_somebody_else(certificate):
    with pytest.RaisesGroup(pytest.RaisesExc(CannotRun, match="certificate is not accepted: IP address mismatch")):
        in_real_time(hello, certificate, "127.0.0.1", context_of(certificate))


@needs_openssl
def test_a_certificate_of_ours(certificate):
    shown = context_of(certificate, cert=True)
    assert in_real_time(hello, certificate, "localhost", shown, wants_certificate=True) == b"hello"


# trio's side of a server does not send the alert with which a handshake ends; OpenSSL's own does.


def refusing(listener, context):
    """Take one connection, and refuse to speak TLS there; it stays open until the other side has read that."""
    connection, _ = listener.accept()
    connection.settimeout(30)
    with connection:
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection.dup(), server_side=True) as secure:
            secure.recv(1)
        while connection.recv(4096):
            pass


def told_by_who_refuses(folder, tls, **server):
    """Return the sentence about a server that refuses to speak TLS."""
    context = server_context(folder, **server)

    async def connect():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(30)
            port = listener.getsockname()[1]
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.to_thread.run_sync, refusing, listener, context)
                try:
                    await reach(Endpoint("localhost", port, tls).open, ())
                except CannotRun as error:
                    return str(error)

    return in_real_time(connect)


@needs_openssl
@pytest.mark.parametrize(
    ("newest", "why"),
    [
        (ssl.TLSVersion.TLSv1_2, "'handshake failure'"),
        (ssl.TLSVersion.TLSv1_3, "'certificate required': it wants a certificate that it accepts, which --cert shows"),
    ],
    ids=["1.2", "1.3"],
)
def test_a_certificate_of_ours_that_is_wanted_and_not_shown(certificate, newest, why):
    """With TLS 1.3 the handshake is over by then, and the alert comes instead of the first answer."""
    tls = context_of(certificate)
    tls.maximum_version = newest
    assert told_by_who_refuses(certificate, tls, wants_certificate=True) == f"the broker ends TLS with the alert {why}"


@needs_openssl
def test_an_alert_about_something_else(certificate):
    tls = context_of(certificate)
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    told = told_by_who_refuses(certificate, tls, oldest=ssl.TLSVersion.TLSv1_3)
    assert told == "the broker ends TLS with the alert 'protocol version'"


@needs_openssl
def test_files_that_do_not_go_together(certificate, tmp_path):
    cert, key, other = certificate / "cert.pem", certificate / "key.pem", tmp_path / "other.pem"
    with pytest.raises(CannotRun, match="--key is of no use without --cert"):
        tls_context(ca=None, cert=None, key=key, insecure=False)
    with pytest.raises(CannotRun, match=r"--cert .*/cert.pem needs a certificate and, without --key, its key \(PEM\)"):
        tls_context(ca=None, cert=cert, key=None, insecure=False)
    with pytest.raises(CannotRun, match=r"there is no certificate in .*/key.pem, or no key in .*/cert.pem \(PEM\)"):
        tls_context(ca=None, cert=key, key=cert, insecure=False)
    openssl("genrsa", "-out", other, "2048")
    with pytest.raises(CannotRun, match=r"the key in .*/other.pem is not that of the certificate in .*/cert.pem"):
        tls_context(ca=None, cert=cert, key=other, insecure=False)


@needs_openssl
def test_a_key_with_a_password_that_nobody_can_be_asked_for(certificate, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "isatty", lambda _: False)
    locked = tmp_path / "locked.pem"
    openssl("rsa", "-aes256", "-passout", "pass:secret", "-in", certificate / "key.pem", "-out", locked)
    with pytest.raises(CannotRun, match=r"the key in .*/locked.pem is encrypted: its password is asked for at a term"):
        tls_context(ca=None, cert=certificate / "cert.pem", key=locked, insecure=False)


def test_files_that_are_none(tmp_path):
    (tmp_path / "cert.pem").write_text("no certificate")
    with pytest.raises(CannotRun, match=r"--ca .*/cert.pem has no certificates \(PEM\)"):
        tls_context(ca=tmp_path / "cert.pem", cert=None, key=None, insecure=False)
    with pytest.raises(CannotRun, match=r"--cert .*/none.pem cannot be read: No such file or directory"):
        tls_context(ca=None, cert=tmp_path / "none.pem", key=None, insecure=False)


def test_who_speaks_no_tls():
    async def connect():
        async def serve(stream):
            await stream.send_all(b"hello, but in the clear")
            await stream.aclose()

        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, serve, 0)
            context = tls_context(ca=None, cert=None, key=None, insecure=True)
            try:
                await Endpoint("127.0.0.1", listeners[0].socket.getsockname()[1], context).open()
            finally:
                nursery.cancel_scope.cancel()

    with pytest.RaisesGroup(pytest.RaisesExc(CannotRun, match="does not speak TLS")):
        in_real_time(connect)


async def test_who_does_not_get_ready(monkeypatch):
    async def connect(host, port):
        near, _ = memory_stream_pair()
        return near

    monkeypatch.setattr(trio, "open_tcp_stream", connect)
    with pytest.raises(TimeoutError, match="the connection is not ready within 20 s"):
        await Endpoint("h", 1, sasl=PLAIN).open()


async def test_nothing_is_left_open_by_who_is_not_let_in(monkeypatch):
    near, far = memory_stream_pair()

    async def connect(host, port):
        return near

    monkeypatch.setattr(trio, "open_tcp_stream", connect)
    await far.aclose()
    with pytest.raises(CannotRun):
        await Endpoint("h", 1, sasl=PLAIN).open()
    with pytest.raises(trio.ClosedResourceError):
        await Client(near).stream.send_all(b"x")
