"""Where a server listens and where it is known: addresses and listeners, as settings write them."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from kcoord.log.topic_config import JAVA_BLANKS

WILDCARD_HOSTS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on
"""Hosts that stand for every address of the machine: fit to listen on, not to connect to."""

_HOST_AND_PORT = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+(?:%[0-9A-Za-z._-]+)?)\]|(?P<host>[0-9A-Za-z._-]*)):(?P<port>[0-9]{1,5})"
)
"""Kafka, too, takes no other letters, so no name in need of IDNA (Apache Kafka `Utils.HOST_PORT_PATTERN`)."""
_LOOKS_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")
"""Names that resolvers take for an IPv4 address, among them spellings such as 127.1 and 0."""
_LONGEST_HOST, _LONGEST_LABEL = 253, 63
"""In characters (RFC 1035)."""

_LISTENER = re.compile(r"(?P<name>[A-Za-z0-9_]{1,100})://(?P<address>.+)")
_SECURE_NAMES = frozenset({"SSL", "SASL_PLAINTEXT", "SASL_SSL"})


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port as a person writes them; the text form puts IPv6 in brackets."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `HOST:PORT` or `[IPv6]:PORT`; the host may be empty. Raises ValueError."""
        match = _HOST_AND_PORT.fullmatch(text.strip(JAVA_BLANKS))
        if match is None or int(match["port"]) > 65535:
            raise ValueError("it must be HOST:PORT, or [IPV6]:PORT, with a port of at most 65535")
        host = _host(match["host"]) if match["v6"] is None else _numeric(match["v6"], IPv6Address)
        return cls(host, int(match["port"]))

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for every address of the machine, so that nobody can connect to it."""
        return self.host in WILDCARD_HOSTS

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Listener:
    """One address to listen on, or to be known by; `name` pairs the two (KIP-103)."""

    name: str
    address: Address

    def __str__(self) -> str:
        return f"{self.name}://{self.address}"


def _host(name: str) -> str:
    """Check a host name or an IPv4 address; none at all is fine. Raises ValueError.

    What is refused here would be refused by the resolver, in its own words and too late, or not resolved as meant.
    """
    if _LOOKS_NUMERIC.fullmatch(name) is not None:
        return _numeric(name, IPv4Address)
    labels = name.removesuffix(".").split(".")
    if name and (len(name) > _LONGEST_HOST or not all(0 < len(label) <= _LONGEST_LABEL for label in labels)):
        raise ValueError(
            f"a host has at most {_LONGEST_HOST} characters, and 1 to {_LONGEST_LABEL} of them between two dots"
        )
    return name


def _numeric(text: str, kind: type[IPv4Address | IPv6Address]) -> str:
    """Return an address in its usual spelling. Raises ValueError."""
    try:
        return str(kind(text))
    except ValueError:
        raise ValueError(f"{text} is no IP address, but looks like one") from None


def listeners(text: str) -> tuple[Listener, ...]:
    """Read Kafka's `NAME://HOST:PORT,...`; a bare `HOST:PORT` is the listener PLAINTEXT. Raises ValueError."""
    if not text:
        raise ValueError("there must be at least one")
    found: dict[str, Listener] = {}
    for part in text.split(","):
        match = _LISTENER.fullmatch(part.strip(JAVA_BLANKS))
        name = "PLAINTEXT" if match is None else match["name"].upper()
        if name in _SECURE_NAMES:
            raise ValueError(f"only plaintext connections are served, so no listener can be called {name}")
        if name in found:
            raise ValueError(f"each listener needs a name of its own, {name} comes twice")
        found[name] = Listener(name, Address.parse(part if match is None else match["address"]))
    return tuple(found.values())


def advertised_listeners(text: str) -> tuple[Listener, ...]:
    """Read the same, or nothing at all. Raises ValueError."""
    return listeners(text) if text else ()
