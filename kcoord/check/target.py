"""The broker that is judged: what it offers, how it is set up, and the topics that are made there for a run.

Nothing is asked of it but an address. What a run made is removed afterwards, and nothing else is touched.
"""

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from kcoord.check.failure import first_of
from kcoord.check.first_answer import FIRST_ANSWER, first_answer
from kcoord.check.limits import Limits
from kcoord.check.member import Member
from kcoord.check.names import INITIAL_DELAY, Names
from kcoord.check.outcome import Broken, CannotRun, NotApplicable
from kcoord.check.probe import Client, Closed, Offers, error_name, offered
from kcoord.check.world import Opener
from wire.errors import BadLength, ErrorCode, WireError
from wire.messages import (
    ApiVersionsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
)
from wire.schema import Message, Versions

CLIENT: Final = "kcoord-check"
PREFIX: Final = "kcoord-check"
"""What the names of all topics and groups that are made begin with."""
SLOW: Final = 0.15
"""Seconds that an answer may take: half of how long one is waited for that must not come (`probe.PARKED`)."""
UNTIL_GONE: Final = 15.0
"""Seconds after which a broker is gone that does not take a new connection, or answers nothing there."""
REFUSING: Final = 5.0
"""Seconds after which it is gone if all that comes of a connection is that nobody listens."""
SOON: Final = 30.0
"""Seconds in which a broker must be ready to coordinate, and have made topics."""
BROKER: Final = 4
"""The type of a resource with settings that is a broker (Apache Kafka ConfigResource.Type)."""
_INITIAL_DELAY: Final = "group.initial.rebalance.delay.ms"
ASSUMED: Final = {
    _INITIAL_DELAY: "3000",
    "group.min.session.timeout.ms": "6000",
    "group.max.session.timeout.ms": "1800000",
    "group.max.size": "2147483647",
    "offset.metadata.max.bytes": "4096",
    "connections.max.idle.ms": "600000",
}
"""Settings that many rules count on, at Kafka's defaults."""
_NOT_YET: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""What is said of a group whose coordinator is not there, or not ready."""
ANSWERS: Final = (OSError, Closed, WireError, TimeoutError, NotApplicable, ValueError, Broken)
"""What may go wrong when a broker is asked something: no connection, no answer, one that makes no sense or is to
another question."""


@dataclass
class Target:
    """A broker that can be asked. `shared` are the shared topics that were made, and what they are called."""

    opener: Opener
    run_id: str
    offers: Offers
    node_id: int = -1
    settings: Mapping[str, str | None] | None = None
    """Its settings by name; None if they cannot be read, and `unreadable` says why."""
    unreadable: str = ""
    shared: dict[str, str] = field(default_factory=dict)
    lacking: str = ""
    """Why one of the shared topics was not made."""
    notes: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    """Groups that were made to learn about the broker, or were about to be."""
    topics: list[str] = field(default_factory=list)
    """Shared topics that were made, or were about to be."""
    measured: float | None = None
    """How many seconds its new groups wait for members, if it does not tell and it could be measured."""

    @property
    def prefix(self) -> str:
        """What the names of this run begin with."""
        return f"{PREFIX}-{self.run_id}-"

    def names(self, rule_settings: Iterable[str] = ()) -> Names:
        """Return the names for one run of one rule, which counts on these settings."""
        limits = Limits.of(self.settings or {}, rule_settings)
        return Names(self.prefix, self.shared, self.lacking, initial_delay=self.initial_delay, limits=limits)

    @property
    def initial_delay(self) -> float:
        """How many seconds a new group waits for members, at Kafka's default if that is neither told nor measured."""
        told = None if self.settings is None else self.settings.get(_INITIAL_DELAY)
        if told is not None and told.isdecimal():
            return int(told) / 1000
        return INITIAL_DELAY if self.measured is None else self.measured

    def without(self, rule_settings: Mapping[str, str]) -> str:
        """Return why rules that need these settings do not apply; empty if they do.

        What is not told of `ASSUMED` is taken to be at Kafka's default, as it is for rules that name no settings.
        """
        told = {} if self.settings is None else self.settings
        needed = {name: wanted for name, wanted in rule_settings.items() if name in told or ASSUMED.get(name) != wanted}
        if not needed:
            return ""
        if self.settings is None:
            return f"{', '.join(needed)}: {self.unreadable}"
        for name, wanted in needed.items():
            if name not in self.settings:
                return f"the broker does not tell its {name}"
            if self.settings[name] != wanted:
                return f"{name} is {self.settings[name]} there, and would have to be {wanted}"
        return ""


async def reach(opener: Opener, settings: Iterable[str], patience: float = FIRST_ANSWER) -> Target:
    """Connect to a broker, and learn what it offers and how these settings of it are. Nothing is made there.

    `patience` are the seconds in which it must take the connection, and then answer for the first time.

    Raises:
        CannotRun: It cannot be reached, speaks another protocol, is not ready within 30 s, or is one of several.

    """
    try:
        with trio.fail_after(patience):
            client = Client(await opener(), CLIENT)
    except trio.TooSlowError as error:
        raise CannotRun(f"the broker cannot be reached: nobody answers within {patience:g} s") from error
    except OSError as error:
        raise CannotRun(f"the broker cannot be reached: {reason(error)}") from error
    try:
        target = Target(opener, f"{random.getrandbits(32):08x}", await _offers(client, patience))
        client.offers = target.offers
        await _be_the_only_one(client, target)
        await _wait_for_a_coordinator(client, target)
        await _wait_for_all_coordinators(client, target)
        await _read_settings(client, target, {*ASSUMED, *settings})
    except ANSWERS as error:
        raise CannotRun(f"the broker is of no use: {reason(error)}") from error
    else:
        return target
    finally:
        await trio.aclose_forcefully(client.stream)


async def ask(client: Client, request: Message, version: int | None = None) -> Any:
    """Send a request and wait for the answer, for 30 s at most. Raises what `ANSWERS` lists."""
    return await (await client.send(request, version)).answer(SOON)


async def _offers(client: Client, patience: float) -> Offers:
    # Version 0 is what every broker knows, also one that is older than the newer layouts.
    answer = await first_answer(client, ApiVersionsRequest(), patience)
    if answer.error_code != ErrorCode.NONE:
        raise ValueError(f"it answers ApiVersions 0 with {error_name(answer.error_code)}")
    return {one.api_key: Versions(one.min_version, one.max_version) for one in answer.api_keys}


async def _be_the_only_one(client: Client, target: Target) -> None:
    """See to it that every group and every partition is at this broker."""
    version = min(offered(target.offers, MetadataRequest).highest, 12)
    request = MetadataRequest(topics=[], allow_auto_topic_creation=version < 4)
    start = trio.current_time()
    answer = await ask(client, request, version)
    if (took := trio.current_time() - start) > SLOW:
        target.notes.append(f"Metadata took {took:.1f} s; rules about time, and about who waits, need a quicker broker")
    with trio.move_on_after(SOON):
        # One that has just started may be asked before it is in its cluster.
        while not answer.brokers:
            await trio.sleep(0.1)
            answer = await ask(client, request, version)
    if not answer.brokers:
        raise CannotRun(f"the broker is not ready: within {SOON:g} s, Metadata names no broker in its cluster")
    if len(answer.brokers) != 1:
        raise CannotRun(
            f"this broker is one of {len(answer.brokers)} in its cluster, where groups and partitions may be at any of"
            " them; the rules are for a cluster of one broker"
        )
    target.node_id = answer.brokers[0].node_id


async def _wait_for_a_coordinator(client: Client, target: Target) -> None:
    """Wait until groups are coordinated: a broker that never was asked for it has to make its topic of offsets."""
    version = min(offered(target.offers, FindCoordinatorRequest).highest, 3)
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    with trio.move_on_after(SOON):
        while error is not ErrorCode.NONE:
            answer = await ask(client, FindCoordinatorRequest(key=f"{target.prefix}first"), version)
            error = ErrorCode(answer.error_code)
            if error is not ErrorCode.NONE:
                await trio.sleep(0.1)
    if error is not ErrorCode.NONE:
        raise CannotRun(f"the broker coordinates no groups: FindCoordinator is answered with {error.name}")


async def _wait_for_all_coordinators(client: Client, target: Target) -> None:
    """Wait until a group may have any id: a broker reads each partition of its topic of offsets by itself.

    A partition that it cannot read stays out of use, and so do the groups there; a note tells of that.
    """
    if target.offers.get(DescribeGroupsRequest.API_KEY) is None:
        return
    # By Java's hash, two digits that vary are enough to have a group in each of 50 partitions.
    request = DescribeGroupsRequest(groups=[f"{target.prefix}{number:02}" for number in range(100)])
    refused: list[ErrorCode] = []
    with trio.move_on_after(SOON):
        while True:
            answer = await ask(client, request, client.newest(DescribeGroupsRequest, 5))
            refused = [ErrorCode(one.error_code) for one in answer.groups if one.error_code in _NOT_YET]
            if not refused:
                return
            await trio.sleep(0.1)
    reasons = ", ".join(sorted({error.name for error in refused}))
    target.notes.append(f"{len(refused)} of {len(request.groups)} groups are not coordinated by the broker: {reasons}")


async def _read_settings(client: Client, target: Target, names: set[str]) -> None:
    resource = DescribeConfigsResource(
        resource_type=BROKER, resource_name=str(target.node_id), configuration_keys=sorted(names)
    )
    try:
        answer = await ask(client, DescribeConfigsRequest(resources=[resource]))
        result = only_one(answer.results, "DescribeConfigs", "resources")
        if result.error_code != ErrorCode.NONE:
            target.unreadable = f"settings cannot be read: {error_name(result.error_code)}"
            return
        target.settings = {one.name: one.value for one in result.configs}
    except NotApplicable as error:
        target.unreadable = f"settings cannot be read: {error}"
        return
    for name, usual in ASSUMED.items():
        value = target.settings.get(name, usual)
        if value != usual:
            target.notes.append(f"{name} is {value} at this broker; most rules count on {usual}")


async def measure_the_initial_delay(target: Target) -> None:
    """Find out how long a new group waits for members, where the broker does not tell: Kafka's default, or less.

    Rules for which several join one after the other would stumble otherwise, and be called broken, all for one reason.
    If JoinGroup does not get on at all, its own rules tell.
    """
    if target.settings is not None and target.settings.get(_INITIAL_DELAY) is not None:
        return
    group = f"{target.prefix}delay"
    target.groups.append(group)
    with suppress(*ANSWERS, AssertionError):
        client = Client(await target.opener(), CLIENT, offers=target.offers, patience=INITIAL_DELAY + 1)
        try:
            member = Member(client, group)
            call = await member.start_join()
            start = trio.current_time()
            await call.answer()
            waited = trio.current_time() - start
            await member.finish_join()
            await client.leave(group, member.id)
        finally:
            await trio.aclose_forcefully(client.stream)
        if waited < INITIAL_DELAY - 0.1:
            target.measured = round(waited, 1)
            target.notes.append(
                f"a new group waits for members for {target.measured:g} s at this broker, which does not tell its"
                f" {_INITIAL_DELAY}; many rules need {INITIAL_DELAY:g} s, Kafka's default"
            )


async def why_gone(target: Target) -> str:
    """Return why a broker is of no use any more, in a part of a sentence; empty if it answers within 15 s.

    A connection of its own is tried again and again: a broker may take only so many. That none is accepted means that
    no process listens there, so 5 s of that are enough.
    """
    why = ""
    refused = True
    start = trio.current_time()
    with trio.move_on_after(UNTIL_GONE):
        while True:
            try:
                client = Client(await target.opener(), CLIENT)
                try:
                    await ask(client, ApiVersionsRequest(), 0)
                finally:
                    await trio.aclose_forcefully(client.stream)
            except (*ANSWERS, CannotRun) as error:
                why = reason(error, anew=False)
                refused = refused and isinstance(error, OSError) and not isinstance(error, TimeoutError)
                if refused and trio.current_time() - start > REFUSING:
                    return why
            else:
                return ""
            await trio.sleep(0.5)
    return why or f"it answers nothing within {UNTIL_GONE:g} s"


def only_one(found: Sequence[Any], api: str, what: str) -> Any:
    """Return the one thing that an answer must have. Raises ValueError."""
    if len(found) != 1:
        raise ValueError(f"{api} tells of {len(found)} {what}, where one was asked for")
    return found[0]


def reason(error: Exception, *, anew: bool = True) -> str:
    """Return what an exception of `ANSWERS` means; `anew` if the broker has not answered anything before."""
    if isinstance(error, OSError):
        # trio hides what the system says of each address below an error of its own.
        cause = first_of(error.__cause__ or error)
        if isinstance(cause, OSError) and cause.strerror:
            # Numbers below 0 are those of the resolver.
            return os.strerror(cause.errno) if cause.errno and cause.errno > 0 else cause.strerror
    if isinstance(error, Closed) and anew:
        # Where only SASL is lacking, Apache Kafka answers ApiVersions, and closes at the next request.
        lacking = "TLS or SASL" if error.instead_of.startswith("ApiVersions") else "SASL"
        return f"{error}; does it want {lacking}?"
    if isinstance(error, BadLength):
        return f"{error}; does it speak Kafka's protocol here, and without TLS?"
    return str(error) or type(error).__name__
