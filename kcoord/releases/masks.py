"""Masks: single APIs of which fewer versions are offered than there are, or none."""

import re
from dataclasses import dataclass

from kcoord.releases.ranges import KEYS
from wire.schema import Versions

NONE = "none"
_MASK = re.compile(r"(\w+) *= *(?:([0-9]{1,4})(?:-([0-9]{1,4}))?|none)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mask:
    """What is left of an API, by Kafka's name; `versions` None takes it away."""

    api: str
    versions: Versions | None

    @property
    def key(self) -> int:
        """The API's key."""
        return KEYS[self.api]

    def __str__(self) -> str:
        if self.versions is None:
            return f"{self.api}={NONE}"
        return f"{self.api}={self.versions.lowest}-{self.versions.highest}"


def masks(text: str) -> tuple[Mask, ...]:
    """Read masks: "OffsetCommit=0-6,JoinGroup=4,OffsetDelete=none". Raises ValueError, with what is wrong."""
    found: dict[str, Mask] = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        match = _MASK.fullmatch(each)
        if match is None:
            raise ValueError("it must be of the form OffsetCommit=0-6,OffsetDelete=none")
        api, lowest, highest = match.groups()
        if api not in KEYS:
            raise ValueError(f"{api} is no API that is served: there are {', '.join(KEYS)}")
        if api in found:
            raise ValueError(f"{api} is there twice")
        found[api] = Mask(api, None if lowest is None else _versions(api, int(lowest), int(highest or lowest)))
    return tuple(found.values())


def _versions(api: str, lowest: int, highest: int) -> Versions:
    if lowest > highest:
        raise ValueError(f"of {api} there can be no versions from {lowest} to {highest}")
    return Versions.parse(f"{lowest}-{highest}")


def cut(one: Versions, other: Versions) -> Versions | None:
    """Return the versions that are in both, or None."""
    lowest, highest = max(one.lowest, other.lowest), min(one.highest, other.highest)
    return Versions.parse(f"{lowest}-{highest}") if lowest <= highest else None
