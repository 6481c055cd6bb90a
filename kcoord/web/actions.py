"""Everything that can be asked of a control over HTTP: the table of which routes and their description are made."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any

from kcoord import __version__
from kcoord.control import Control, GroupView, Impossible, TopicView
from kcoord.control.brokers import BrokerView
from kcoord.control.clock import ClockControl
from kcoord.control.faults import FaultView
from kcoord.faults import FaultRule
from kcoord.web.bodies import (
    Advance,
    ClockView,
    Evict,
    Expire,
    Fence,
    GroupsTold,
    Load,
    Move,
    NewTopic,
    Nothing,
    OffsetsToSet,
    Rebalance,
    Released,
    ServerView,
    Stop,
    Wait,
)

OPENAPI = "/openapi.json"
MOST_DIGITS = 10
"""Of a number in a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, read: the parts of its path and its query, and its body."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    def number(self, name: str) -> int:
        """Return a part of the path that is a number. Raises Impossible."""
        text = self.path[name]
        if not text.isdecimal() or not text.isascii() or len(text) > MOST_DIGITS:
            raise Impossible(f"{name} is {text!r}: it must be a whole number from 0")
        return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One method of one path."""

    method: str
    path: str
    says: str
    """What it does, in a sentence."""
    do: Callable[[Control, Asked], Awaitable[Any]]
    answer: Any = None
    """The shape of the answer; None: there is nothing to tell."""
    body: type = Nothing
    status: HTTPStatus = HTTPStatus.OK
    refusals: tuple[HTTPStatus, ...] = ()
    """Those that it may answer with beside those that all may."""
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the query may have, with the values that are allowed."""
    waits: bool = False
    """Whether it ends, and changes nothing, if the client goes away meanwhile."""


_NOT_FOUND = HTTPStatus.NOT_FOUND
_OF_A_GROUP = (_NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE)


async def _server(control: Control, _: Asked) -> ServerView:
    return ServerView(version=__version__, bootstrap=control.bootstrap, openapi=OPENAPI)


def _clock_view(clock: ClockControl) -> ClockView:
    now = clock.now()
    return ClockView(mono=now.mono, wall_ms=now.wall_ms, frozen=clock.is_frozen)


async def _clock(control: Control, _: Asked) -> ClockView:
    return _clock_view(control.clock)


async def _advance(control: Control, asked: Asked) -> ClockView:
    await control.clock.advance(asked.body.seconds, heartbeats=asked.body.heartbeats)
    return _clock_view(control.clock)


async def _freeze(control: Control, _: Asked) -> ClockView:
    control.clock.freeze()
    return _clock_view(control.clock)


async def _resume(control: Control, _: Asked) -> ClockView:
    control.clock.resume()
    return _clock_view(control.clock)


async def _groups(control: Control, _: Asked) -> tuple[GroupView, ...]:
    return control.groups.list()


async def _group(control: Control, asked: Asked) -> GroupView:
    return control.groups.get(asked.path["group"])


async def _delete_group(control: Control, asked: Asked) -> None:
    await control.groups.delete(asked.path["group"])


async def _wait(control: Control, asked: Asked) -> GroupView:
    wish = asked.body
    return await control.groups.wait(
        asked.path["group"],
        state=wish.state,
        members=wish.members,
        generation=wish.generation,
        synced=wish.synced,
        timeout=wish.timeout,
    )


async def _rebalance(control: Control, asked: Asked) -> GroupView:
    return await control.groups.rebalance(asked.path["group"], asked.body.reason)


async def _expire(control: Control, asked: Asked) -> GroupView:
    return await control.groups.expire(asked.path["group"], asked.body.member)


async def _fence(control: Control, asked: Asked) -> GroupView:
    return await control.groups.fence(asked.path["group"], asked.body.instance_id)


async def _evict(control: Control, asked: Asked) -> GroupView:
    return await control.groups.evict(asked.path["group"], asked.body.member, asked.body.reason)


async def _set_offsets(control: Control, asked: Asked) -> GroupView:
    wanted: dict[tuple[str, int], int | tuple[int, str] | None] = {}
    for each in asked.body.offsets:
        place = (each.topic, each.partition)
        if place in wanted:
            raise Impossible(f"offsets names {each.topic}-{each.partition} twice")
        wanted[place] = None if each.offset is None else (each.offset, each.metadata)
    return await control.groups.set_offsets(asked.path["group"], wanted)


async def _topics(control: Control, _: Asked) -> tuple[TopicView, ...]:
    return control.topics.list()


async def _topic(control: Control, asked: Asked) -> TopicView:
    return control.topics.get(asked.path["topic"])


async def _create_topic(control: Control, asked: Asked) -> TopicView:
    return control.topics.create(asked.body.name, asked.body.partitions, asked.body.settings)


async def _delete_topic(control: Control, asked: Asked) -> None:
    await control.topics.delete(asked.path["topic"])


async def _faults(control: Control, _: Asked) -> tuple[FaultView, ...]:
    return control.faults.list()


async def _add_fault(control: Control, asked: Asked) -> FaultView:
    return control.faults.add(asked.body)


async def _clear_faults(control: Control, _: Asked) -> None:
    control.faults.clear()


async def _fault(control: Control, asked: Asked) -> FaultView:
    return control.faults.get(asked.number("fault"))


async def _remove_fault(control: Control, asked: Asked) -> FaultView:
    return control.faults.remove(asked.number("fault"))


async def _release(control: Control, asked: Asked) -> Released:
    return Released(released=control.faults.release(asked.number("fault")))


async def _brokers(control: Control, _: Asked) -> tuple[BrokerView, ...]:
    return control.brokers.list()


async def _broker(control: Control, asked: Asked) -> BrokerView:
    return control.brokers.get(asked.number("broker"))


async def _stop(control: Control, asked: Asked) -> BrokerView:
    return await control.brokers.stop(asked.number("broker"), elect=asked.body.elect)


async def _start(control: Control, asked: Asked) -> BrokerView:
    return await control.brokers.start(asked.number("broker"))


async def _reset_brokers(control: Control, _: Asked) -> None:
    await control.brokers.reset()


async def _move(control: Control, asked: Asked) -> BrokerView:
    return await control.brokers.move(asked.path["group"], asked.body.to, loading=asked.body.loading)


async def _load(control: Control, asked: Asked) -> None:
    await control.brokers.loading(asked.path["group"], asked.body.seconds)


async def _timelines(control: Control, _: Asked) -> GroupsTold:
    return GroupsTold(groups=tuple(control.timeline.groups()))


async def _timeline(control: Control, asked: Asked) -> Any:
    timeline = control.timeline.of(asked.path["group"])
    return timeline.text() if asked.query["format"] == "text" else timeline.plain()


async def _findings(control: Control, asked: Asked) -> Any:
    return control.timeline.of(asked.path["group"]).plain()["findings"]


async def _reset(control: Control, _: Asked) -> None:
    await control.reset()


TIMELINE = "Timeline"
FINDINGS = "Findings"
"""Shapes that are described by hand: see `kcoord.web.openapi`."""

_get, _post, _put, _delete = (partial(Action, method=method) for method in ("GET", "POST", "PUT", "DELETE"))

ACTIONS: tuple[Action, ...] = (
    _get(path="/", says="Tell which server this is.", do=_server, answer=ServerView),
    _get(path="/clock", says="Tell the time as the server sees it.", do=_clock, answer=ClockView),
    _post(
        path="/clock/advance",
        says="Move time forward; the answer comes when everything that was due has happened.",
        do=_advance,
        body=Advance,
        answer=ClockView,
    ),
    _post(path="/clock/freeze", says="Let time stand still but for advances.", do=_freeze, answer=ClockView),
    _post(path="/clock/resume", says="Let time go on from where it stands.", do=_resume, answer=ClockView),
    _get(path="/groups", says="List all groups as they stand.", do=_groups, answer=tuple[GroupView, ...]),
    _get(path="/groups/{group}", says="Show a group.", do=_group, answer=GroupView, refusals=_OF_A_GROUP),
    _delete(
        path="/groups/{group}",
        says="Let a group be no more, whoever is in it.",
        do=_delete_group,
        status=HTTPStatus.NO_CONTENT,
        refusals=_OF_A_GROUP,
    ),
    _post(
        path="/groups/{group}/wait",
        says="Wait until a group is what is asked for; it need not exist yet.",
        do=_wait,
        body=Wait,
        answer=GroupView,
        refusals=(HTTPStatus.REQUEST_TIMEOUT,),
        waits=True,
    ),
    _post(
        path="/groups/{group}/rebalance",
        says="Let every member join again; nobody is added.",
        do=_rebalance,
        body=Rebalance,
        answer=GroupView,
        refusals=_OF_A_GROUP,
    ),
    _post(
        path="/groups/{group}/expire",
        says="Put a member out as if its session had ended.",
        do=_expire,
        body=Expire,
        answer=GroupView,
        refusals=_OF_A_GROUP,
    ),
    _post(
        path="/groups/{group}/fence",
        says="Let a static member meet FENCED_INSTANCE_ID (82), as if its place had been taken.",
        do=_fence,
        body=Fence,
        answer=GroupView,
        refusals=_OF_A_GROUP,
    ),
    _post(
        path="/groups/{group}/evict",
        says="Let a member leave, as an operator's LeaveGroup does.",
        do=_evict,
        body=Evict,
        answer=GroupView,
        refusals=_OF_A_GROUP,
    ),
    _put(
        path="/groups/{group}/offsets",
        says="Let these be the committed offsets, whoever is in the group; a group that there is not comes into being.",
        do=_set_offsets,
        body=OffsetsToSet,
        answer=GroupView,
        refusals=_OF_A_GROUP,
    ),
    _post(
        path="/groups/{group}/move",
        says="Let another broker coordinate a group, and all groups of its partition; tell of that broker.",
        do=_move,
        body=Move,
        answer=BrokerView,
        refusals=(_NOT_FOUND,),
    ),
    _post(
        path="/groups/{group}/load",
        says="Let a group's coordinator load: COORDINATOR_LOAD_IN_PROGRESS (14).",
        do=_load,
        body=Load,
        status=HTTPStatus.NO_CONTENT,
    ),
    _get(path="/topics", says="List all topics but internal ones.", do=_topics, answer=tuple[TopicView, ...]),
    _post(
        path="/topics",
        says="Create a topic.",
        do=_create_topic,
        body=NewTopic,
        answer=TopicView,
        status=HTTPStatus.CREATED,
    ),
    _get(path="/topics/{topic}", says="Show a topic.", do=_topic, answer=TopicView, refusals=(_NOT_FOUND,)),
    _delete(
        path="/topics/{topic}",
        says="Delete a topic, its records, and what groups committed for it.",
        do=_delete_topic,
        status=HTTPStatus.NO_CONTENT,
        refusals=(_NOT_FOUND,),
    ),
    _get(path="/faults", says="List the faults that are in force.", do=_faults, answer=tuple[FaultView, ...]),
    _post(
        path="/faults",
        says="Put a fault in force until it is removed.",
        do=_add_fault,
        body=FaultRule,
        answer=FaultView,
        status=HTTPStatus.CREATED,
    ),
    _delete(path="/faults", says="Take all faults away.", do=_clear_faults, status=HTTPStatus.NO_CONTENT),
    _get(path="/faults/{fault}", says="Show a fault.", do=_fault, answer=FaultView, refusals=(_NOT_FOUND,)),
    _delete(
        path="/faults/{fault}",
        says="Take a fault away, and tell how it stood; what it holds goes on.",
        do=_remove_fault,
        answer=FaultView,
        refusals=(_NOT_FOUND,),
    ),
    _post(
        path="/faults/{fault}/release",
        says="Let go what a fault holds.",
        do=_release,
        answer=Released,
        refusals=(_NOT_FOUND,),
    ),
    _get(path="/brokers", says="List all brokers.", do=_brokers, answer=tuple[BrokerView, ...]),
    _get(path="/brokers/{broker}", says="Show a broker.", do=_broker, answer=BrokerView, refusals=(_NOT_FOUND,)),
    _post(
        path="/brokers/{broker}/stop",
        says="Stop a broker: its connections end, and its addresses refuse new ones.",
        do=_stop,
        body=Stop,
        answer=BrokerView,
        refusals=(_NOT_FOUND,),
    ),
    _post(
        path="/brokers/{broker}/start",
        says="Start a broker again, at its addresses.",
        do=_start,
        answer=BrokerView,
        refusals=(_NOT_FOUND,),
    ),
    _post(
        path="/brokers/reset",
        says="Let every broker run, and lead what it led at first.",
        do=_reset_brokers,
        status=HTTPStatus.NO_CONTENT,
    ),
    _get(path="/timeline", says="List the groups of which something is known.", do=_timelines, answer=GroupsTold),
    _get(
        path="/timeline/{group}",
        says="Tell what happened to a group: as JSON, or as a story (`Accept: text/plain`, or the query's format).",
        do=_timeline,
        answer=TIMELINE,
        refusals=(_NOT_FOUND,),
        query={"format": ("json", "text")},
    ),
    _get(
        path="/timeline/{group}/findings",
        says="Tell what happened to a group that should not have.",
        do=_findings,
        answer=FINDINGS,
        refusals=(_NOT_FOUND,),
    ),
    _post(
        path="/reset",
        says="Let nothing be left of what was before, but the configured topics, empty, and the time on the clock.",
        do=_reset,
        status=HTTPStatus.NO_CONTENT,
    ),
)
"""All of them, but the description itself."""
