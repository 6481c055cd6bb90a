"""A control somewhere else, with the methods of `kcoord.control.Control`: each asks over HTTP and waits for the answer.

Those that are `async` there are so here, and never wait but in this thread: `done` runs them.
"""

from collections.abc import Coroutine, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from kcoord.control import GroupView, Impossible, TopicView, given
from kcoord.control.brokers import BrokerView
from kcoord.control.faults import FaultView
from kcoord.control.groups import USUAL_TIMEOUT, Offset, new_offsets
from kcoord.control.topics import NO_SETTINGS
from kcoord.control.wishes import Wish
from kcoord.core.outcome import Now
from kcoord.faults import BadFault, FaultRule
from kcoord.timeline.findings import Finding
from kcoord.web.bodies import ClockView
from kcoord.web.client import PATIENCE, ControlClient
from kcoord.web.shapes import read

T = TypeVar("T")


def done(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run what never waits for a loop."""
    try:
        coroutine.send(None)
    except StopIteration as result:
        found: T = result.value
        return found
    coroutine.close()
    raise RuntimeError("this waits for a loop, and there is none")


class RemoteControl:
    """The control of a server that runs somewhere else. Methods raise `kcoord.control.ControlError`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self.clock = RemoteClock(client)
        self.groups = RemoteGroups(client)
        self.topics = RemoteTopics(client)
        self.faults = RemoteFaults(client)
        self.brokers = RemoteBrokers(client)
        self.timeline = RemoteTimelines(client)

    @property
    def bootstrap(self) -> str:
        """What clients are given as `bootstrap.servers`."""
        return str(self._client.get()["bootstrap"])

    async def reset(self) -> None:
        """Let nothing be left of what was before."""
        self._client.post("reset")


class RemoteClock:
    """See `kcoord.control.clock.ClockControl`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def now(self) -> Now:
        """Return the time."""
        return _now(self._client.get("clock"))

    @property
    def is_frozen(self) -> bool:
        """Whether time stands still."""
        return read(ClockView, self._client.get("clock")).frozen

    async def advance(self, seconds: float, *, heartbeats: bool = True) -> Now:
        """Move time forward."""
        body = {"seconds": given.move(seconds), "heartbeats": given.flag("heartbeats", heartbeats)}
        return _now(self._client.post("clock", "advance", **body))

    def freeze(self) -> Now:
        """Let time stand still."""
        return _now(self._client.post("clock", "freeze"))

    def resume(self) -> Now:
        """Let time go on."""
        return _now(self._client.post("clock", "resume"))


class RemoteGroups:
    """See `kcoord.control.groups.GroupsControl`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def list(self) -> tuple[GroupView, ...]:
        """Return all groups."""
        return read(tuple[GroupView, ...], self._client.get("groups"))

    def get(self, group_id: str) -> GroupView:
        """Return a group."""
        return read(GroupView, self._client.get("groups", given.group(group_id)))

    async def wait(
        self,
        group_id: str,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        synced: bool = False,
        timeout: float = USUAL_TIMEOUT,  # noqa: ASYNC109 - as in Control
    ) -> GroupView:
        """Wait until a group is what is asked for."""
        wish = Wish(state=state, members=members, generation=generation, synced=synced, timeout=timeout)
        return self._post(group_id, "wait", patience=PATIENCE + timeout, **asdict(wish))

    async def rebalance(self, group_id: str, reason: str = "") -> GroupView:
        """Let every member join again."""
        return self._post(group_id, "rebalance", reason=given.text("reason", reason))

    async def expire(self, group_id: str, member: str) -> GroupView:
        """Put a member out as if its session had ended."""
        return self._post(group_id, "expire", member=given.named("a member", member))

    async def fence(self, group_id: str, instance_id: str) -> GroupView:
        """Give a static member's place to an impostor."""
        return self._post(group_id, "fence", instance_id=given.named("an instance id", instance_id))

    async def evict(self, group_id: str, member: str, reason: str = "evicted by an operator") -> GroupView:
        """Let a member leave."""
        given.named("a member", member)
        return self._post(group_id, "evict", member=member, reason=given.text("reason", reason))

    async def set_offsets(self, group_id: str, offsets: Mapping[tuple[str, int], Offset]) -> GroupView:
        """Let these be the committed offsets."""
        wanted = new_offsets(offsets)
        listed = [
            {"topic": each.topic, "partition": each.partition, "offset": each.offset, "metadata": each.metadata}
            for each in wanted
        ]
        answer = self._client.ask("PUT", "groups", given.group(group_id), "offsets", body={"offsets": listed})
        return read(GroupView, answer)

    async def delete(self, group_id: str) -> None:
        """Let a group be no more."""
        self._client.delete("groups", given.group(group_id))

    def _post(self, group_id: str, what: str, *, patience: float = PATIENCE, **body: Any) -> GroupView:
        return read(GroupView, self._client.post("groups", given.group(group_id), what, patience=patience, **body))


class RemoteTopics:
    """See `kcoord.control.topics.TopicsControl`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def list(self) -> tuple[TopicView, ...]:
        """Return all topics but internal ones."""
        return read(tuple[TopicView, ...], self._client.get("topics"))

    def get(self, name: str) -> TopicView:
        """Return one topic."""
        return read(TopicView, self._client.get("topics", given.named("a topic's name", name)))

    def create(self, name: str, partitions: int = 1, settings: Mapping[str, str] = NO_SETTINGS) -> TopicView:
        """Create a topic."""
        body = {
            "name": given.named("a topic's name", name),
            "partitions": given.partitions(name, partitions),
            "settings": given.settings(settings),
        }
        return read(TopicView, self._client.ask("POST", "topics", body=body))

    async def delete(self, name: str) -> None:
        """Delete a topic."""
        self._client.delete("topics", given.named("a topic's name", name))


class RemoteFaults:
    """See `kcoord.control.faults.FaultsControl`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def add(self, rule: FaultRule | Mapping[str, Any]) -> FaultView:
        """Put a fault in force."""
        try:
            made = rule if isinstance(rule, FaultRule) else FaultRule.of(rule)
        except BadFault as error:
            raise Impossible(str(error)) from None
        given = {each.name: getattr(made, each.name) for each in fields(FaultRule)}
        return read(FaultView, self._client.ask("POST", "faults", body=given))

    def get(self, number: int) -> FaultView:
        """Return the fault of that number."""
        return read(FaultView, self._client.get("faults", _fault(number)))

    def list(self) -> tuple[FaultView, ...]:
        """Return all that are in force."""
        return read(tuple[FaultView, ...], self._client.get("faults"))

    def remove(self, number: int) -> FaultView:
        """Take a fault away."""
        return read(FaultView, self._client.delete("faults", _fault(number)))

    def release(self, number: int) -> int:
        """Let go what a fault holds."""
        return int(self._client.post("faults", _fault(number), "release")["released"])

    def clear(self) -> None:
        """Take all faults away."""
        self._client.delete("faults")


class RemoteBrokers:
    """See `kcoord.control.brokers.BrokersControl`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def list(self) -> tuple[BrokerView, ...]:
        """Return all brokers."""
        return read(tuple[BrokerView, ...], self._client.get("brokers"))

    def get(self, node_id: int) -> BrokerView:
        """Return a broker."""
        return read(BrokerView, self._client.get("brokers", _broker(node_id)))

    async def stop(self, node_id: int, *, elect: bool = True) -> BrokerView:
        """Stop a broker."""
        return read(
            BrokerView, self._client.post("brokers", _broker(node_id), "stop", elect=given.flag("elect", elect))
        )

    async def start(self, node_id: int) -> BrokerView:
        """Start a broker again."""
        return read(BrokerView, self._client.post("brokers", _broker(node_id), "start"))

    async def move(self, group_id: str, to: int | None = None, *, loading: float = 0.0) -> BrokerView:
        """Let another broker coordinate a group."""
        given.seconds("loading", loading)
        wanted = None if to is None else _broker(to)
        return read(BrokerView, self._client.post("groups", given.group(group_id), "move", to=wanted, loading=loading))

    async def loading(self, group_id: str, seconds: float) -> None:
        """Let a group's coordinator load for so long."""
        self._client.post("groups", given.group(group_id), "load", seconds=given.seconds("loading", seconds))

    async def reset(self) -> None:
        """Let every broker run, and lead what it led at first."""
        self._client.post("brokers", "reset")


class RemoteTimelines:
    """See `kcoord.control.timeline.TimelineControl`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def groups(self) -> list[str]:
        """Return the groups of which something is known."""
        return list(self._client.get("timeline")["groups"])

    def of(self, group_id: str) -> "RemoteTimeline":
        """Return what happened to a group until now."""
        return RemoteTimeline(
            group_id,
            self._client.get("timeline", given.group(group_id)),
            self._client.get("timeline", group_id, text=True),
        )


class RemoteTimeline:
    """What happened to a group, as it was told: as text, and as plain data."""

    def __init__(self, group: str, told: dict[str, Any], text: str) -> None:
        self.group = group
        self._told = told
        self._text = text.removesuffix("\n")

    @property
    def state(self) -> str:
        """The group's state after the last event."""
        return str(self._told["state"])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What should not be, in the order of time."""
        return tuple(
            Finding(**{**each, "members": tuple(each["members"]), "partitions": tuple(map(_place, each["partitions"]))})
            for each in self._told["findings"]
        )

    def plain(self) -> dict[str, Any]:
        """Return it as what JSON has."""
        return self._told

    def text(self, *, most_events: int | None = None) -> str:
        """Return it as a story, which is told as a whole, however many events are asked for. Raises Impossible."""
        given.most_events(most_events)
        return self._text

    def __str__(self) -> str:
        return self._text


def _now(told: Any) -> Now:
    view = read(ClockView, told)
    return Now(view.mono, view.wall_ms)


def _place(text: str) -> tuple[str, int]:
    """Read a partition, as "topic-0"."""
    topic, _, index = text.rpartition("-")
    return topic, int(index)


def _fault(number: object) -> int:
    return given.number("a fault's number", number)


def _broker(node_id: object) -> int:
    return given.number("a broker's id", node_id)
