"""SCRAM by the example of RFC 7677, and against brokers that do not know the password."""

import base64
import hashlib
import hmac

import pytest

from kcoord.check.scram import Scram, ScramError

NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = f"c=biws,r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
VERIFIER = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.fixture
def scram():
    return Scram("sha256", "user", "pencil", nonce=NONCE)


def test_the_example_of_the_rfc(scram):
    assert scram.first() == f"n,,n=user,r={NONCE}".encode()
    assert scram.final(CHALLENGE.encode()) == PROOF.encode()
    scram.verify(VERIFIER.encode())


def test_with_the_longer_hash():
    """The broker's side, worked out by the formulas of RFC 5802."""
    scram = Scram("sha512", "us,er=", "pässword")
    bare = scram.first().decode().removeprefix("n,,")
    name, nonce = bare.split(",")
    assert name == "n=us=2Cer=3D"
    challenge = f"{nonce}more,s={base64.b64encode(b'salt').decode()},i=5000"
    final, _, proof = scram.final(challenge.encode()).decode().rpartition(",p=")
    salted = hashlib.pbkdf2_hmac("sha512", "pässword".encode(), b"salt", 5000)
    everything = f"{bare},{challenge},{final}".encode()
    client_key = hmac.digest(salted, b"Client Key", "sha512")
    signature = hmac.digest(hashlib.sha512(client_key).digest(), everything, "sha512")
    assert bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True)) == client_key
    verifier = hmac.digest(hmac.digest(salted, b"Server Key", "sha512"), everything, "sha512")
    scram.verify(b"v=" + base64.b64encode(verifier))


def test_nonces_are_made_up():
    assert Scram("sha256", "u", "p").first() != Scram("sha256", "u", "p").first()


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (b"\xff", "is no text"),
        (b"", "has no r="),
        (f"r={NONCE}x,i=4096".encode(), "has no s="),
        (f"r={NONCE},s=AAAA,i=4096".encode(), "nonce does not go on"),
        (b"r=other,s=AAAA,i=4096", "nonce does not go on"),
        (f"r={NONCE}x,s=AAAA,i=4095".encode(), "too few or too many"),
        (f"r={NONCE}x,s=AAAA,i=1000001".encode(), "too few or too many"),
        (f"r={NONCE}x,s=AAAA,i=9999999999".encode(), "iterations is none"),
        (f"r={NONCE}x,s=AAAA,i=-1".encode(), "iterations is none"),
        (f"r={NONCE}x,s=A!AA,i=4096".encode(), "no base64"),
    ],
)
def test_challenges_that_make_no_sense(scram, challenge, why):
    with pytest.raises(ScramError, match=why):
        scram.final(challenge)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"e=other-error", "says other-error"),
        (b"v=AAAA", "does not prove"),
        (b"", "does not prove"),
        (b"v=!", "base64"),
    ],
)
def test_a_broker_that_does_not_know_the_password(scram, message, why):
    scram.final(CHALLENGE.encode())
    with pytest.raises(ScramError, match=why):
        scram.verify(message)


def test_nothing_is_verified_before_there_is_a_proof(scram):
    with pytest.raises(ScramError, match="does not prove"):
        scram.verify(b"v=")
