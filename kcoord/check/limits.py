"""What a broker's settings forbid that Kafka's defaults allow: a rule that meets it has nothing to say there.

Most rules count on the defaults of a few settings. That a group with `group.max.size=2` refuses its third member is no
fault of the broker's, and of no rule's but those that are about this setting and name it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from wire.codec import decode
from wire.errors import ErrorCode, WireError
from wire.messages import JoinGroupRequest, OffsetCommitRequest
from wire.schema import Message

_SIZE: Final = "group.max.size"
_SHORTEST: Final = "group.min.session.timeout.ms"
_LONGEST: Final = "group.max.session.timeout.ms"
_METADATA: Final = "offset.metadata.max.bytes"
_DEFAULTS: Final = {_SIZE: 2**31 - 1, _SHORTEST: 6_000, _LONGEST: 1_800_000, _METADATA: 4_096}


@dataclass(frozen=True)
class Limits:
    """The settings of a broker that are not at Kafka's defaults, as far as they limit what a group may do."""

    settings: Mapping[str, int]

    @classmethod
    def of(cls, settings: Mapping[str, str | None], named: Iterable[str]) -> "Limits":
        """Take them from what a broker tells; those that a rule has `named` are no limits to it."""
        told = {name: settings.get(name) for name in _DEFAULTS.keys() - set(named)}
        return cls(
            {
                name: int(value)
                for name, value in told.items()
                if value is not None and value.isdecimal() and int(value) != _DEFAULTS[name]
            }
        )

    def why_refused(self, request: Any, response: Any) -> str:
        """Return which of them explains an answer that Kafka, at its defaults, would not give; empty if none does."""
        if isinstance(request, JoinGroupRequest):
            return self._why_no_member(request, response.error_code)
        if isinstance(request, OffsetCommitRequest) and _METADATA in self.settings:
            return self._why_no_commit(request, response)
        return ""

    def why_refused_as_sent(self, cls: type[Message], version: int, body: bytes, response: Any) -> str:
        """Do the same for a request of which there are only the bytes; nothing explains what is no request."""
        if not self.settings:
            return ""
        try:
            return self.why_refused(decode(cls, version, body), response)
        except WireError:
            return ""

    def _why_no_member(self, request: JoinGroupRequest, error: int) -> str:
        if error == ErrorCode.GROUP_MAX_SIZE_REACHED:
            return self._told(_SIZE, "too few for the members of this rule")
        if error == ErrorCode.INVALID_SESSION_TIMEOUT:
            timeout = request.session_timeout_ms
            if _DEFAULTS[_SHORTEST] <= timeout < self.settings.get(_SHORTEST, 0):
                return self._told(_SHORTEST, f"and the rule has a session of {timeout} ms")
            if self.settings.get(_LONGEST, timeout) < timeout <= _DEFAULTS[_LONGEST]:
                return self._told(_LONGEST, f"and the rule has a session of {timeout} ms")
        return ""

    def _why_no_commit(self, request: OffsetCommitRequest, response: Any) -> str:
        codes = {one.error_code for topic in response.topics for one in topic.partitions}
        texts = [one.committed_metadata or "" for topic in request.topics for one in topic.partitions]
        if ErrorCode.OFFSET_METADATA_TOO_LARGE in codes and max(map(len, texts)) <= _DEFAULTS[_METADATA]:
            return self._told(_METADATA, "too few for what the rule commits")
        return ""

    def _told(self, name: str, why: str) -> str:
        return f"{name} is {self.settings[name]} there, {why}" if name in self.settings else ""


NONE: Final = Limits({})
"""Those of a broker at Kafka's defaults."""
