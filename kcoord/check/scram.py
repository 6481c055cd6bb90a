"""The client's side of SCRAM (RFC 5802, RFC 7677), without channel binding. Bytes in, bytes out.

Names and passwords are taken as they are, in UTF-8: Apache Kafka (ScramFormatter) does not normalise them either.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

FEWEST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 1_000_000
"""What a broker may ask for. Kafka's own are 4096 to 16384; more than this would only keep us busy."""
_HEADER: Final = "n,,"
"""No channel binding, no other identity to act for."""


class ScramError(Exception):
    """What the broker says is not as it must be; the text is one sentence."""


class Scram:
    """One exchange: `first`, `final`, `verify`, in this order. `algorithm` is sha256 or sha512."""

    def __init__(self, algorithm: str, username: str, password: str, *, nonce: str | None = None) -> None:
        self._algorithm = algorithm
        self._password = password.encode()
        self._nonce = secrets.token_urlsafe(24) if nonce is None else nonce
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}"
        self._expected = b""

    def first(self) -> bytes:
        """Return the first message."""
        return (_HEADER + self._bare).encode()

    def final(self, challenge: bytes) -> bytes:
        """Return the proof that answers the broker's first message. Raises ScramError."""
        fields = _fields(challenge, "r", "s", "i")
        nonce, iterations = fields["r"], fields["i"]
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("the broker's nonce does not go on from ours")
        if not (iterations.isascii() and iterations.isdecimal() and len(iterations) < 10):
            raise ScramError("the broker's number of iterations is none")
        if not FEWEST_ITERATIONS <= int(iterations) <= MOST_ITERATIONS:
            raise ScramError(f"the broker wants {iterations} iterations, which is too few or too many")
        salted = hashlib.pbkdf2_hmac(self._algorithm, self._password, _base64(fields["s"]), int(iterations))
        without_proof = f"c={base64.b64encode(_HEADER.encode()).decode()},r={nonce}"
        everything = f"{self._bare},{challenge.decode()},{without_proof}".encode()
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._algorithm, client_key).digest(), everything)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._expected = self._hmac(self._hmac(salted, b"Server Key"), everything)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def verify(self, message: bytes) -> None:
        """Check that the broker knows the password, too. Raises ScramError."""
        fields = _fields(message)
        if "e" in fields:
            raise ScramError(f"the broker says {fields['e']}")
        if not self._expected or not hmac.compare_digest(_base64(fields.get("v", "")), self._expected):
            raise ScramError("the broker does not prove that it knows the password")

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._algorithm)


def _fields(message: bytes, *needed: str) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise ScramError("the broker's message is no text") from None
    fields = {part[:1]: part[2:] for part in parts if part[1:2] == "="}
    for name in needed:
        if name not in fields:
            raise ScramError(f"the broker's message has no {name}=")
    return fields


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ScramError("the broker's message has bytes that are no base64") from None
