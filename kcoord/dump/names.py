"""Which API a person means, by a name or a number."""

from typing import Final

from kcoord.dump.api_names import API_NAMES, api_name
from kcoord.dump.frames import BadInput
from wire.messages import REQUESTS

_LAST_KEY: Final = 2**15 - 1
"""Keys have 16 bits, and a sign."""
_KEYS: Final = {name.lower(): key for key, name in enumerate(API_NAMES)}


def api_key(text: str) -> int:
    """Return the key of an API that a person names, or gives as a number. Raises BadInput."""
    wanted = text.strip()
    if wanted.isdecimal() and len(wanted) < 6 and int(wanted) <= _LAST_KEY:
        return int(wanted)
    try:
        return _KEYS[wanted.lower()]
    except KeyError:
        raise BadInput(f"no API is called {wanted!r}; it is a number, or a name such as JoinGroup") from None


def keys_of(text: str | None) -> frozenset[int] | None:
    """Read the value of `--only`: names or numbers with commas between; None means all. Raises BadInput."""
    return None if text is None else frozenset(api_key(each) for each in text.split(","))


def kind_of_answer(text: str) -> tuple[int, int]:
    """Read the value of `--response`: KEY:VERSION. Raises BadInput."""
    name, colon, version = text.partition(":")
    if not colon or not version.isdecimal() or len(version) > 5:
        raise BadInput(f"--response is {text!r}: it must be KEY:VERSION, such as JoinGroup:9 or 11:9")
    key = api_key(name)
    if key not in REQUESTS:
        raise BadInput(f"--response is {text!r}: the messages of {api_name(key)} are not described here")
    versions = REQUESTS[key].RESPONSE.VERSIONS
    if int(version) not in versions:
        raise BadInput(
            f"--response is {text!r}: {api_name(key)} is described in versions {versions.lowest} to {versions.highest}"
        )
    return key, int(version)
