"""A release of Apache Kafka that the server may be like: what it advertises, and what it does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from kcoord.core.behaviour import Behaviour
from kcoord.releases.behaviours import BEHAVIOURS
from kcoord.releases.ranges import ADVERTISED, NAMES
from wire.schema import Versions

METADATA_VERSIONS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "3.3": (1, 7),
        "3.4": (1, 8),
        "3.5": (1, 11),
        "3.6": (1, 14),
        "3.7": (1, 19),
        "3.8": (1, 20),
        "3.9": (1, 21),
        "4.0": (7, 25),
        "4.1": (7, 27),
        "4.2": (7, 29),
        "4.3": (7, 30),
        "4.4": (7, 33),
    }
)
"""The lowest and highest metadata.version (KIP-778) that brokers without ZooKeeper tell; the highest is in force."""
FALLBACK_TELLS_SINCE: Final = "2.4"
"""KIP-511: from this release on the answer to an unknown version of ApiVersions has the known ones in it."""


@dataclass(frozen=True, slots=True)
class Release:
    """`ranges` are the versions that it advertises, by key, of the APIs that are served here."""

    name: str
    ranges: Mapping[int, Versions]
    behaviour: Behaviour
    metadata_version: tuple[int, int] | None
    fallback_tells: bool

    @property
    def has_old_coordinator(self) -> bool:
        """Whether it is of before 4.0."""
        return not self.name.startswith("4.")


RELEASES: Final[Mapping[str, Release]] = MappingProxyType(
    {
        name: Release(
            name=name,
            ranges=ADVERTISED[name],
            behaviour=BEHAVIOURS[name],
            metadata_version=METADATA_VERSIONS.get(name),
            fallback_tells=NAMES.index(name) >= NAMES.index(FALLBACK_TELLS_SINCE),
        )
        for name in NAMES
    }
)
"""All releases, by name, the oldest first."""


def release_name(text: str) -> str:
    """Return the name of the release that is meant: "2.8", or by "3" the newest 3.x, or by "3.9.1" 3.9.

    Raises ValueError, with what is wrong, for one that is not known.
    """
    match = re.fullmatch(r"([0-9]{1,3})(\.[0-9]{1,3})?(\.[0-9]{1,3}){0,2}", text)
    if match is not None:
        major, minor = match[1], match[2]
        named = [name for name in NAMES if (name == major + minor if minor else name.startswith(f"{major}."))]
        if named:
            return named[-1]
    raise ValueError(f"it must be a release of Apache Kafka that is known: {', '.join(NAMES)}")
