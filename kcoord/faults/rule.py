"""What a fault is: the requests that it is for, and what becomes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any, Final, Literal

from kcoord.clock import MOST_SECONDS
from kcoord.core.states import GroupState
from kcoord.faults.places import PLACES
from kcoord.shown import as_given, is_unicode, shown
from wire.errors import ErrorCode
from wire.messages import REQUESTS

APIS: Final = {name: cls for cls in REQUESTS.values() if (name := cls.__name__.removesuffix("Request")) in PLACES}
"""The requests that a fault can be for, by Kafka's names."""
GROUP_APIS: Final = frozenset(
    {
        "DeleteGroups", "DescribeGroups", "Heartbeat", "JoinGroup", "LeaveGroup", "OffsetCommit", "OffsetDelete",
        "OffsetFetch", "SyncGroup",
    }
)  # fmt: skip
"""Those that name a group."""
MEMBER_APIS: Final = frozenset({"Heartbeat", "JoinGroup", "LeaveGroup", "OffsetCommit", "SyncGroup"})
"""Those that name a member of it."""
GENERATION_APIS: Final = frozenset({"Heartbeat", "OffsetCommit", "SyncGroup"})
TOPIC_APIS: Final = frozenset(
    {
        "CreatePartitions", "CreateTopics", "DeleteRecords", "DeleteTopics", "Fetch", "ListOffsets", "Metadata",
        "OffsetCommit", "OffsetDelete", "OffsetFetch", "OffsetForLeaderEpoch", "Produce",
    }
)  # fmt: skip
"""Those that have an answer for each topic or partition."""
STATES: Final = frozenset(state.value for state in GroupState)
_LONGEST_NAME: Final = 80
_LEAST: Final = -(2**31)
_MOST: Final = 2**31 - 1


class BadFault(ValueError):
    """A fault that cannot be; the text is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A fault. What is None is no condition, and no action; at least one action is needed.

    The conditions must all hold. `topic` and `partition` choose entries of a request, and so do `group` and `member`
    where a request names several: an `error` is then given for these alone, and the rest is done as usual.

    Raises BadFault.
    """

    api: str | None = None
    """Kafka's name of a request, as "Heartbeat"."""
    group: str | None = None
    member: str | None = None
    """A member id; "" for requests that have none."""
    instance_id: str | None = None
    client_id: str | None = None
    generation: int | None = None
    state: str | None = None
    """The state of the group when the request comes, by Kafka's name: "Stable"; Dead if there is none."""
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    """The node id of the broker that is asked."""
    nth: int | None = None
    """Of the requests for which all else holds, the first that it is for, from 1; without `times` the only one."""
    times: int | None = None
    """For how many requests it is, at most."""
    probability: float = 1.0
    """Of a request for which all else holds."""
    seed: int = 0
    """Of the random numbers that `probability` uses: the same requests meet the same fate."""
    seconds: float | None = None
    """How long it lasts, on the server's clock."""

    error: str | int | None = None
    """An error of Kafka's by its name or number: it is answered, in its place, and the request is not handled."""
    delay: float | None = None
    """Seconds, on the server's clock, after which the request is handled."""
    late: float | None = None
    """Seconds, on the server's clock, for which the answer is kept back once the request was handled."""
    hold: Literal["request", "answer"] | None = None
    """What is kept back until it is released: the request, which is then handled, or the answer."""
    drop: Literal["before", "after"] | None = None
    """The connection is closed, before or after the request is handled."""
    truncate: int | None = None
    """Bytes of the answer that are sent, its size in front included, before the connection is closed.

    An answer that is no longer is sent as it is."""

    def __post_init__(self) -> None:
        for check in (_check_types, _check_api, _check_numbers, _check_actions):
            sentence = check(self)
            if sentence:
                raise BadFault(sentence)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "FaultRule":
        """Make a fault of what was given by name. Raises BadFault, also for what no fault has."""
        if not isinstance(given, Mapping):
            raise BadFault(f"a fault is given by the names of its parts, not as {shown(given)}")
        known = {each.name for each in fields(cls)}
        unknown = sorted(each if isinstance(each, str) else shown(each) for each in given.keys() - known)
        if unknown:
            raise BadFault(f"a fault has no {as_given(', '.join(unknown))}; it has {', '.join(sorted(known))}")
        return cls(**given)

    @property
    def code(self) -> ErrorCode | None:
        """The error that is answered."""
        return None if self.error is None else error_code(self.error)

    @property
    def first(self) -> int:
        """The first of the matching requests that it is for."""
        return 1 if self.nth is None else self.nth

    @property
    def most(self) -> float:
        """For how many requests it is."""
        if self.times is not None:
            return self.times
        return inf if self.nth is None else 1

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{' and '.join(_actions(self))}: {', '.join(_conditions(self))}"


def error_code(error: str | int) -> ErrorCode:
    """Return an error by its name or number. Raises BadFault."""
    if isinstance(error, str):
        try:
            return ErrorCode[error.upper()]
        except KeyError:
            raise BadFault(
                f"Kafka has no error {error if error.isidentifier() and len(error) < _LONGEST_NAME else shown(error)}"
            ) from None
    try:
        return ErrorCode(error)
    except ValueError:
        raise BadFault(f"Kafka has no error {shown(error)}") from None


_TEXTS = ("api", "group", "member", "instance_id", "client_id", "state", "topic", "hold", "drop")
_INTEGERS = ("generation", "partition", "broker", "nth", "times", "seed", "truncate")
_NUMBERS = ("probability", "seconds", "delay", "late")
_NEVER_NONE = ("seed", "probability")


def _check_types(rule: FaultRule) -> str:
    for names, kinds, what in (
        (_TEXTS, (str,), "a text"),
        (_INTEGERS, (int,), "a whole number"),
        (_NUMBERS, (int, float), "a number"),
        (("error",), (str, int), "an error's name or number"),
    ):
        for name in names:
            value = getattr(rule, name)
            if value is None and name not in _NEVER_NONE:
                continue
            if isinstance(value, bool) or not isinstance(value, kinds):
                return f"{name} must be {what}, not {shown(value)}"
            if isinstance(value, str) and not is_unicode(value):
                return f"{name} has half a surrogate pair, which is no character: {shown(value)}"
    return ""


def _check_api(rule: FaultRule) -> str:
    if rule.api is not None and rule.api not in APIS:
        return f"Kafka has no request {shown(rule.api)} that is served here; there are {', '.join(sorted(APIS))}"
    if rule.state is not None and rule.state not in STATES:
        return f"a group has no state {shown(rule.state)}; it has {', '.join(sorted(STATES))}"
    for names, apis in (
        (("group", "state"), GROUP_APIS | {"FindCoordinator"}),
        (("member", "instance_id"), MEMBER_APIS),
        (("generation",), GENERATION_APIS),
        (("topic", "partition"), TOPIC_APIS),
    ):
        for name in names:
            if getattr(rule, name) is not None and rule.api is not None and rule.api not in apis:
                return f"{rule.api} names no {name.removesuffix('_id')}, so a fault for it cannot be for one"
    return ""


def _check_numbers(rule: FaultRule) -> str:
    for name, lowest, highest in (
        ("nth", 1, _MOST),
        ("times", 1, _MOST),
        ("partition", 0, _MOST),
        ("truncate", 0, _MOST),
        ("seconds", 0, MOST_SECONDS),
        ("delay", 0, MOST_SECONDS),
        ("late", 0, MOST_SECONDS),
        ("broker", 0, _MOST),
        ("generation", _LEAST, _MOST),
        ("seed", -(2**63), 2**63 - 1),
    ):
        value = getattr(rule, name)
        if value is not None and not lowest <= value < inf:
            return f"{name} must be a number from {lowest}, not {shown(value)}"
        if value is not None and value > highest:
            return f"{name} must be a number from {lowest} to {highest}, not {shown(value)}"
    if rule.seconds == 0:
        return "seconds must be above 0: a fault that lasts for 0 s is for no request"
    if not 0 < rule.probability <= 1:
        return f"probability must be above 0 and at most 1, not {shown(rule.probability)}"
    return ""


def _check_actions(rule: FaultRule) -> str:
    if rule.error is not None:
        code = error_code(rule.error)
        if rule.api is not None and rule.api not in PLACES:
            return f"{rule.api} has no place for an error"
        if code is ErrorCode.NONE:
            return "NONE is no error"
    elif all(value is None for value in (rule.delay, rule.late, rule.hold, rule.drop, rule.truncate)):
        return "a fault needs something to do: error, delay, late, hold, drop or truncate"
    for name, values in (("hold", ("request", "answer")), ("drop", ("before", "after"))):
        value = getattr(rule, name)
        if value is not None and value not in values:
            return f"{name} must be {' or '.join(values)}, not {shown(value)}"
    if rule.drop is not None and (rule.error is not None or rule.truncate is not None):
        return "drop sends no answer, so that there is none to put an error in or to truncate"
    if rule.drop == "before" and (rule.late is not None or rule.hold == "answer"):
        return "a request that is dropped before it is handled has no answer to keep back"
    return ""


def _actions(rule: FaultRule) -> list[str]:
    code = rule.code
    parts = [
        "the request is held" if rule.hold == "request" else "",
        f"it is handled {rule.delay:g} s late" if rule.delay is not None else "",
        f"{code.name} is answered" if code is not None else "",
        "the answer is held" if rule.hold == "answer" else "",
        f"the answer is sent {rule.late:g} s late" if rule.late is not None else "",
        f"the connection is dropped {rule.drop} the request is handled" if rule.drop is not None else "",
        f"no more than {rule.truncate} bytes of the answer are sent" if rule.truncate is not None else "",
    ]
    return [part for part in parts if part]


def _conditions(rule: FaultRule) -> list[str]:
    parts = [rule.api or "any request"]
    for name in ("group", "member", "instance_id", "client_id", "generation", "state", "topic", "partition", "broker"):
        value = getattr(rule, name)
        if value is not None:
            parts.append(f"{name.replace('_', ' ')} {value!r}" if isinstance(value, str) else f"{name} {value}")
    if rule.nth is not None:
        parts.append(f"number {rule.nth}" + ("" if rule.times is None else " and after"))
    if rule.times is not None:
        parts.append("once at most" if rule.times == 1 else f"{rule.times} times at most")
    if rule.probability < 1:
        parts.append(f"with probability {rule.probability:g}")
    if rule.seconds is not None:
        parts.append(f"for {rule.seconds:g} s")
    return parts
