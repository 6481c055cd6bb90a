"""Masks: single APIs of which fewer versions are offered than there are, or none."""

import re
from dataclasses import dataclass

from kcoord.releases.ranges import ADVERTISED, KEYS, NAMES
from wire.messages import REQUESTS
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
        lowest, highest = self.versions.lowest, self.versions.highest
        return f"{self.api}={lowest}" if lowest == highest else f"{self.api}={lowest}-{highest}"


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


def served_versions(api: str, release: str | None) -> Versions | None:
    """Return the versions of an API that are served without a mask, as far as a release has them; None for none."""
    key = KEYS[api]
    ranges = [ADVERTISED[name][key] for name in NAMES if key in ADVERTISED[name] and release in (None, name)]
    if not ranges:
        return None
    whole = f"{min(each.lowest for each in ranges)}-{max(each.highest for each in ranges)}"
    return cut(REQUESTS[key].VERSIONS, Versions.parse(whole))


def why_not(mask: Mask, release: str | None) -> str:
    """Return why a mask cannot be, in the words that follow it, or "".

    It can only leave versions that are served, in the release that is imitated if there is one; but it may begin with
    older ones, so that 0-6 means what there is up to 6. Any API may be taken away, also those that clients cannot do
    without: how they fail then is to be seen.
    """
    if mask.versions is None:
        return ""
    served = served_versions(mask.api, release)
    if served is None:
        return f"Kafka {release} has no {mask.api}"
    if mask.versions.highest > served.highest or cut(mask.versions, served) is None:
        of_release = "" if release is None else f" of Kafka {release}"
        return f"versions {served.lowest}-{served.highest} of {mask.api}{of_release} are served"
    return ""


def cut(one: Versions, other: Versions) -> Versions | None:
    """Return the versions that are in both, or None."""
    lowest, highest = max(one.lowest, other.lowest), min(one.highest, other.highest)
    return Versions.parse(f"{lowest}-{highest}") if lowest <= highest else None
