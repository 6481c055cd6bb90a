"""TLS as clients speak it, and in a sentence what is wrong with it."""

import os
import ssl
from pathlib import Path
from typing import Final

import trio

from kcoord.check.outcome import CannotRun

_ALERT: Final = "_ALERT_"
"""What the names of alerts have in them that OpenSSL gives: SSLV3_ALERT_BAD_CERTIFICATE."""
_ABOUT_OURS: Final = ("CERTIFICATE", "UNKNOWN_CA")
"""What those have in them that are about the certificate of whom they are sent to (RFC 8446, 6.2)."""


def tls_context(*, ca: Path | None, cert: Path | None, key: Path | None, insecure: bool) -> ssl.SSLContext:
    """Return how TLS is spoken, with PEM files. Raises CannotRun for a file that is none."""
    if key is not None and cert is None:
        raise CannotRun("--key is of no use without --cert")
    for flag, file in (("--ca", ca), ("--cert", cert), ("--key", key)):
        if file is not None:
            _must_be_readable(flag, file)
    try:
        context = ssl.create_default_context(cafile=ca)
    except ssl.SSLError:
        raise CannotRun(f"--ca {ca} has no certificates (PEM)") from None
    if cert is not None:
        _show(context, cert, key)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _must_be_readable(flag: str, file: Path) -> None:
    # OpenSSL does not say which file it could not read.
    try:
        with file.open("rb") as stream:
            stream.read(1)
    except OSError as error:
        raise CannotRun(f"{flag} {file} cannot be read: {error.strerror}") from None


def _show(context: ssl.SSLContext, cert: Path, key: Path | None) -> None:
    """Have a certificate shown to the broker. Raises CannotRun if it, or its key, is not in these files."""
    try:
        # Where OpenSSL finds no terminal it reads a password from standard input, which may never end.
        context.load_cert_chain(cert, key, password=None if os.isatty(0) else _nobody_to_ask)
    except OSError as error:  # a wrong password is no SSLError
        holder = key or cert
        if b"ENCRYPTED" in holder.read_bytes():
            raise CannotRun(
                f"the key in {holder} is encrypted: its password is asked for at a terminal, and must be right there"
            ) from None
        if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
            raise CannotRun(f"the key in {holder} is not that of the certificate in {cert}") from None
        if key is None:
            raise CannotRun(f"--cert {cert} needs a certificate and, without --key, its key (PEM)") from None
        raise CannotRun(f"there is no certificate in {cert}, or no key in {key} (PEM)") from None


def _nobody_to_ask() -> str:
    return ""


async def shake_hands(stream: "trio.SSLStream[trio.SocketStream]") -> None:
    """Begin to speak TLS. Raises CannotRun if the other side does not, or one of both does not trust the other."""
    try:
        await stream.do_handshake()
    except trio.BrokenResourceError as error:
        cause = error.__cause__
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise CannotRun(f"the broker's certificate is not accepted: {cause.verify_message.rstrip('.')}") from None
        raise CannotRun(refusal(error) or "the broker does not speak TLS, or not with us") from None


def refusal(error: BaseException) -> str:
    """Return what a broken connection was told by TLS, as a sentence; empty if it was told nothing.

    With TLS 1.3 a client has finished its handshake before the broker has looked at its certificate, so this may come
    in the place of any answer.
    """
    cause = error.__cause__
    if not isinstance(cause, ssl.SSLError) or _ALERT not in (name := cause.reason or ""):
        return ""
    alert = name.partition(_ALERT)[2]
    told = f"the broker ends TLS with the alert {alert.replace('_', ' ').lower()!r}"
    if not any(word in alert for word in _ABOUT_OURS):
        return told
    return f"{told}: it wants a certificate that it accepts, which --cert shows"
