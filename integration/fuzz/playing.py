"""A sequence, played against two brokers in lock-step: each request is sent to both, and each answer compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import trio

from integration.fuzz.actors import GROUP, SECOND_GROUP, UNKNOWN_GROUP, Actors, Client, Stage
from integration.fuzz.known import BEHIND, Asking, never_answered, other_choice, unseen
from integration.fuzz.masking import Names, shown
from integration.fuzz.operations import ACTORS, Busy, Kind, Operation, Sequence, Timing, Twist
from integration.fuzz.requests import MAKERS, NEXT, SHORT_MS, Asked, Wish
from integration.fuzz.schedule import Schedule
from integration.fuzz.side import Broker, Sent, Side
from integration.fuzz.tally import Tally, errors
from wire import messages as m
from wire.errors import ErrorCode

VARYING = re.compile(r"<[^>]*>|[0-9]+|b'[^']*'")
SUITED = {
    Kind.SYNC: {Stage.JOINED},
    Kind.HEARTBEAT: {Stage.JOINED, Stage.SYNCED},
    Kind.COMMIT: {Stage.JOINED, Stage.SYNCED},
    Kind.LEAVE: {Stage.JOINED, Stage.SYNCED},
}
"""Who asks for what, if it is to be something that is often granted."""
ASSIGNING = {Twist.NOTHING, Twist.PARTIAL, Twist.EXTRA, Twist.DUPLICATE}
CHOICE = "leader"
"""Why a play is cut that may go on when it is begun again."""
OPERATOR = ("operator", 0)
ASIDE = ACTORS
"""The number that counts connections which are no actor's."""
HOLDING = (Kind.JOIN, Kind.SYNC)
OPERATORS = {Kind.FETCH, Kind.DESCRIBE, Kind.LIST, Kind.OFFSET_DELETE, Kind.DELETE_GROUPS, Kind.FIND}
"""What is always asked on the operator's connection."""
READING = (m.DescribeGroupsRequest, m.ListGroupsRequest, m.OffsetFetchRequest)
"""What Kafka answers out of what is written, which a group is a moment after a member id was handed out."""
ANSWERED = 30.0
"""Seconds in which every request must be answered that brokers have no reason to hold."""
BURST, SHORT_BURST = 7, 5
"""Requests between two waits in a sequence in which timers fire; the second if new groups wait for more members."""
PATIENT = 10
"""For how many slow answers' time one broker is waited for, when the other one has answered."""
LATE = 4
"""How many slow answers' time a timer may be late: what fires has to wait for its turn as requests do."""
ROOM = 0.4
"""Seconds that there must be between two moments at which timers may fire, for requests to be made."""


@dataclass(frozen=True)
class Pace:
    """How patient a play is: with what may still come, with one broker when the other has answered (s).

    It has more patience with a broker that has no reason to hold a request: see `ANSWERED`.
    """

    settle: float = 0.04
    patience: float = 1.0
    margin: float = 0.25
    written: float = 0.06
    stretch: int = 1
    """By how much the short timeouts are longer, in which as much is to be done."""


@dataclass(frozen=True)
class Difference:
    """Where two brokers parted: at which request, and what each answered."""

    step: int
    what: str
    first: str
    second: str

    @property
    def sort(self) -> str:
        """What it has in common with others of its kind: everything but ids, versions and numbers."""
        return "; ".join(VARYING.sub("", text) for text in (self.what.split()[0], self.first, self.second))


class Parted(Exception):
    """The brokers differ."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference)
        self.difference = difference


class Cut(Exception):
    """The play cannot go on: the brokers went different ways, and were free to."""


@dataclass
class Played:
    """What came of a play."""

    sequence: Sequence
    difference: Difference | None = None
    cut: str = ""
    begun: int = 0
    """How many of its operations were begun."""
    slowest: float = 0.0
    """How long (s) the slowest answer took that nothing held up."""
    stalled: bool = False
    """Whether that was so long that a timer may have fired before a request which was to come first, or after it."""
    transcript: list[tuple[str, Any]] = field(default_factory=list)
    """What was done, line by line: a text, and a message that belongs to it or None."""

    def note(self, text: str, message: Any = None) -> None:
        """Add a line to the transcript."""
        self.transcript.append((text, message))


@dataclass(eq=False)
class Pair:
    """A request that both brokers were sent."""

    step: int
    client: Client | None
    line: Any
    asked: Asked
    sent: tuple[Sent, Sent]
    later: list[Asked] = field(default_factory=list)

    @property
    def name(self) -> str:
        return type(self.asked.request).__name__.removesuffix("Request")


@dataclass
class Play:
    """One play of one sequence."""

    sequence: Sequence
    sides: tuple[Side, Side]
    pace: Pace
    schedule: Schedule
    tally: Tally
    played: Played
    actors: Actors = field(init=False)
    waiting: list[Pair] = field(default_factory=list)
    epochs: dict[int, int] = field(default_factory=dict)
    step: int = 0
    burst: int = 0
    joined_at: float = -1.0
    left_at: float = -1.0
    begun: set[str] = field(default_factory=set)
    """Groups that may be there although nothing of them was written: see `known.UNSEEN`."""

    def __post_init__(self) -> None:
        self.actors = Actors.of(self.sequence)

    async def run(self) -> None:
        """Do it all. Raises Parted, Cut."""
        if self.sequence.empty:
            await self.clear()
        for number, operation in enumerate(self.sequence.operations):
            self.played.note(f"# {number}: {operation}")
            self.played.begun += 1
            self.tally.operations[operation.kind.name] += 1
            self.tally.twists.update(twist.name for twist in operation.twists)
            await self.do(operation)
        self.played.note("# the end")
        await self.close()

    # --- operations ---

    async def do(self, operation: Operation) -> None:
        client = self.actors.clients[operation.actor]
        if operation.kind is Kind.WAIT:
            await self.wait()
        elif operation.kind is Kind.PAUSE:
            await self.pause()
        elif operation.kind in {Kind.ROUND, Kind.MOST}:
            for one in self.round():
                if operation.kind is Kind.ROUND or one is not client:
                    await self.advance(one)
        elif operation.kind is Kind.RESTART:
            await self.restart(self.restarted(operation, client), operation.age)
        elif operation.kind is Kind.ADVANCE:
            await self.advance(client)
        elif operation.kind is Kind.DROP:
            if not self.has_pipelined(client):
                self.renew(client, drop=True)
        else:
            await self.perform(operation, client)

    def round(self) -> list[Client]:
        """Everybody who is on the way into the group, or the first two."""
        inside = [one for one in self.actors.clients if one.id or one.stage is not Stage.OUTSIDE]
        return inside or self.actors.clients[:2]

    async def advance(self, client: Client) -> None:
        """Let a client do what comes next; one that is handed a member id comes again with it."""
        for _ in range(2):
            if self.is_busy(client):
                return
            handed_out = client.handed_out
            kind = NEXT[client.stage]
            asked = MAKERS[kind](self.wish(Operation(kind, client.number), client))
            await self.ask(client, self.line(client), asked)
            if client.handed_out == handed_out:
                return

    def restarted(self, operation: Operation, client: Client) -> Client:
        """Return who is restarted: for even numbers a static one who has an assignment, a leader if there is one."""
        suited = [one for one in self.actors.clients if one.actor.static and one.stage is Stage.SYNCED]
        suited = [one for one in suited if one.leader == one.id] or suited
        return client if operation.number % 2 or not suited else suited[client.number % len(suited)]

    async def restart(self, client: Client, age: int) -> None:
        """Let a client begin anew, as one that knows nothing, and joins as one of that age."""
        if self.has_pipelined(client):
            return
        self.renew(client, drop=True)
        client.lose(entirely=True)
        joining = Operation(Kind.JOIN, client.number, age=age)
        await self.ask(client, self.line(client), MAKERS[Kind.JOIN](self.wish(joining, client)))
        if client.id and client.stage is Stage.OUTSIDE:
            await self.advance(client)

    async def perform(self, operation: Operation, client: Client) -> None:
        """Send one request that is as it is, or several that are each wrong in two ways."""
        client = self.suited(operation, client)
        if operation.by_twos:
            for one in operation.pairs():
                await self.ask(client, self.aside(), MAKERS[one.kind](self.wish(one, client)))
            return
        line = self.line(client)
        if operation.kind in OPERATORS:
            line = OPERATOR
        elif self.is_busy(client):
            if operation.busy is Busy.ASIDE:
                if operation.kind in HOLDING:
                    return
                line = OPERATOR
            elif operation.busy is Busy.PIPELINE:
                # Behind two held requests two could come free at once, and who is first is left to the brokers.
                if any(self.behind(pair) for pair in self.waiting if pair.line != line):
                    return
            elif self.has_pipelined(client):
                return
            else:
                self.renew(client, drop=operation.busy is Busy.REPLACE)
                line = self.line(client)
        await self.ask(client, line, MAKERS[operation.kind](self.wish(operation, client)))

    def wish(self, operation: Operation, client: Client) -> Wish:
        """Return what a request is made of."""
        return Wish(operation, client, self.actors, self.sequence.timing, self.pace.stretch)

    def suited(self, operation: Operation, client: Client) -> Client:
        """Return who does it: for even numbers the next one, from the one that was drawn on, whose turn it may be."""
        clients = self.actors.clients
        others = clients[client.number :] + clients[: client.number]
        if operation.by_twos:
            # Most is looked at where the member is one of the group, whatever it waits for.
            return next((one for one in others if one.id and one.generation >= 0), client)
        if operation.number % 2 or operation.kind not in SUITED:
            return client
        suited = [one for one in others if one.stage in SUITED[operation.kind] and not self.is_busy(one)]
        if operation.kind is Kind.SYNC and set(operation.twists) & ASSIGNING:
            suited = [one for one in suited if one.leader == one.id] or suited
        return suited[0] if suited else client

    def aside(self) -> Any:
        """Return the name of a connection on which nobody learns from answers, and which nothing is awaited on."""
        line = ("aside", self.epochs.get(ASIDE, 0))
        if any(pair.line == line for pair in self.waiting):
            self.epochs[ASIDE] = self.epochs.get(ASIDE, 0) + 1
            line = ("aside", self.epochs[ASIDE])
        return line

    def line(self, client: Client) -> Any:
        """Return the name of a client's connection."""
        return client.number, self.epochs.get(client.number, 0)

    def is_busy(self, client: Client) -> bool:
        """Whether it waits for an answer on its connection."""
        return any(pair.line == self.line(client) for pair in self.waiting)

    def has_pipelined(self, client: Client) -> bool:
        """Whether requests wait behind a held one on its connection: see `known.BEHIND`."""
        return any(self.behind(pair) for pair in self.waiting if pair.line == self.line(client))

    def behind(self, pair: Pair) -> bool:
        """Whether a request waits behind another one on its connection."""
        return any(other is not pair and other.line == pair.line and other.step < pair.step for other in self.waiting)

    def renew(self, client: Client, *, drop: bool) -> None:
        """Give a client a new connection."""
        line = self.line(client)
        self.epochs[client.number] = self.epochs.get(client.number, 0) + 1
        if drop:
            self.drop(line)

    def drop(self, line: Any) -> None:
        """Close a connection of both brokers, and await nothing on it any more."""
        for side in self.sides:
            side.drop(line)
        self.waiting = [pair for pair in self.waiting if pair.line != line]

    # --- requests ---

    async def ask(self, client: Client | None, line: Any, asked: Asked) -> Pair:
        """Send a request to both, wait until they have come to rest, and compare what they answered."""
        if self.burst >= self.schedule.burst:
            await self.wait()
        # Where nobody is left but an id that was handed out, a timer of 0 ms makes the group empty.
        await trio.sleep_until(self.left_at + self.pace.written + self.slowness)
        if isinstance(asked.request, READING):
            await trio.sleep_until(self.joined_at + self.pace.written + self.slowness)
        self.schedule.widen(self.pace.margin + LATE * self.slowness)
        while not self.schedule.is_clear(trio.current_time(), min(self.quiet, ROOM / 2)):
            await self.wait()
        start = trio.current_time()
        self.step += 1
        self.burst += 1
        client_id = f"{'op' if client is None else f'a{client.number}'}-{self.step}"
        self.played.note(f"{self.step:3} {client_id} v{asked.version} ", asked.request)
        one, two = [await side.send(line, asked.request, asked.version, client_id) for side in self.sides]
        pair = Pair(self.step, client, line, asked, (one, two))
        for other in self.waiting:
            other.later.append(asked)
        self.waiting.append(pair)
        await self.settle(pair)
        if isinstance(asked.request, m.JoinGroupRequest):
            self.joined_at = trio.current_time()
        if isinstance(asked.request, m.LeaveGroupRequest):
            self.left_at = trio.current_time()
        self.schedule.note(start, trio.current_time())
        return pair

    async def wait(self) -> None:
        """Wait until all timers that may fire soon have fired."""
        self.burst = 0
        self.schedule.widen(self.pace.margin + LATE * self.slowness)
        now = trio.current_time()
        gap = self.schedule.next_gap(now)
        if gap > now:
            self.played.note(f"    ... {gap - now:.1f} s ...")
            await trio.sleep_until(gap)
            await self.settle(None)

    async def pause(self) -> None:
        """Let half of a timeout pass, unless a timer may fire meanwhile: then wait as long as for all."""
        now = trio.current_time()
        later = now + self.schedule.half
        if not self.schedule.is_clear(now, later - now):
            await self.wait()
        elif later > now:
            self.burst = 0
            self.played.note(f"    ... {later - now:.1f} s ...")
            await trio.sleep_until(later)

    @property
    def quiet(self) -> float:
        """How long (s) nothing may come until nothing more is awaited."""
        return self.pace.settle + 3 * self.slowness

    @property
    def slowness(self) -> float:
        return max(side.broker.slowness for side in self.sides)

    async def settle(self, newest: Pair | None) -> None:
        """Wait until both have answered the same requests, and nothing more comes. Raises Parted, Cut."""
        start = trio.current_time()
        while True:
            changed = self.renewed()
            halves = [pair for pair in self.waiting if pair.sent[0].done != pair.sent[1].done]
            held = [pair for pair in self.waiting if not pair.sent[0].done and not pair.sent[1].done]
            now = trio.current_time()
            if not halves and not held:
                break
            quiet = self.quiet
            last = max(start, *(side.last_answer for side in self.sides))
            if now - last >= quiet:
                if halves:
                    self.excuse(halves, now - last)
                if newest in held and not self.may_be_held(newest):
                    if now - start > ANSWERED:
                        self.part(newest, "(nothing)", "(nothing)")
                elif not any(pair in self.waiting for pair in halves):
                    break
            step = quiet if now - last < quiet else quiet / 2
            with trio.move_on_after(step):
                await changed.wait()
        done = [pair for pair in self.waiting if pair.sent[0].done]
        for pair in done:
            self.waiting.remove(pair)
            self.compare(pair, prompt=pair is newest)
        if newest is not None and newest in self.waiting:
            self.tally.held[newest.name] += 1

    def renewed(self) -> trio.Event:
        """Return an event that is set as soon as an answer comes."""
        changed = trio.Event()
        for side in self.sides:
            side.changed = changed
        return changed

    def may_be_held(self, pair: Pair) -> bool:
        """Whether a request may have no answer for as long as nothing else is asked."""
        return isinstance(pair.asked.request, (m.JoinGroupRequest, m.SyncGroupRequest)) or self.behind(pair)

    def excuse(self, halves: list[Pair], quiet: float) -> None:
        """Take what only one broker answers, if that is known, or else lose patience with the other one."""
        for pair in halves:
            if pair not in self.waiting:
                continue  # it was behind one that was taken
            answers = [side.masked(sent) for side, sent in zip(self.sides, pair.sent, strict=True)]
            if not pair.sent[0].done and (reason := never_answered(Asking(pair.asked, pair.later), answers[1])):
                self.tally.known[reason] += 1
                self.played.note(f"    known of {pair.step}: {reason}")
                if any(other.line == pair.line and other is not pair for other in self.waiting):
                    self.tally.known[BEHIND] += 1
                    raise Cut("behind")
                self.drop(pair.line)
            elif quiet > (self.pace.patience + PATIENT * self.slowness if self.may_be_held(pair) else ANSWERED):
                texts = [
                    shown(answer) if sent.done else "(held)" for answer, sent in zip(answers, pair.sent, strict=True)
                ]
                self.part(pair, texts[0], texts[1])

    def compare(self, pair: Pair, *, prompt: bool) -> None:
        """Compare the answers to a request, and learn from them. Raises Parted, Cut."""
        first, second = (side.masked(sent) for side, sent in zip(self.sides, pair.sent, strict=True))
        if prompt and not isinstance(pair.asked.request, (m.JoinGroupRequest, m.SyncGroupRequest)):
            for side, sent in zip(self.sides, pair.sent, strict=True):
                side.broker.took(sent.answered_at - sent.sent_at)
                self.played.slowest = max(self.played.slowest, sent.answered_at - sent.sent_at)
        self.tally.answer(pair.name, pair.asked.version, first)
        if first != second:
            if reason := other_choice(first, second, set(self.actors.leaders.values())):
                self.tally.known[reason] += 1
                raise Cut(CHOICE)
            if reason := unseen(first, second, self.begun):
                self.tally.known[reason] += 1
                self.played.note(f"    known of {pair.step}: {reason}")
            else:
                self.part(pair, shown(first), shown(second))
        self.played.note(f"    both answer {pair.step}: ", first)
        if isinstance(first, str):
            self.drop(pair.line)
            return
        if isinstance(first, m.OffsetCommitResponse) and errors(first) == {ErrorCode.OFFSET_METADATA_TOO_LARGE}:
            self.begun.add(pair.asked.request.group_id)
        if isinstance(first, m.JoinGroupResponse) and not first.error_code:
            self.actors.leaders[pair.asked.request.group_id] = first.leader
            self.actors.used.add(first.member_id)
        if pair.client is not None and pair.line in {OPERATOR, self.line(pair.client)}:
            pair.client.learn(first, own=pair.asked.own)

    def part(self, pair: Pair, first: str, second: str) -> None:
        for side, text in zip(self.sides, (first, second), strict=True):
            self.played.note(f"    {side.broker.name} answers {pair.step}: {text}")
        raise Parted(Difference(pair.step, f"{pair.name} {pair.asked.version}", first, second))

    async def clear(self) -> None:
        """Take down the group of the empty id, which others may have left."""
        request = m.DeleteGroupsRequest(groups_names=[UNKNOWN_GROUP])
        sent = [await side.send(OPERATOR, request, 2, "clear") for side in self.sides]
        with trio.fail_after(ANSWERED):
            while True:
                changed = self.renewed()
                if all(one.done for one in sent):
                    break
                await changed.wait()

    # --- the end ---

    async def close(self) -> None:
        """Look at what has become of the groups, and take them down."""
        groups = [GROUP, SECOND_GROUP, UNKNOWN_GROUP]
        here, there = await self.operator(m.DescribeGroupsRequest(groups=groups), 6)
        wanted = [m.OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
        await self.operator(m.OffsetFetchRequest(groups=wanted), 9)
        # An id that one broker alone has shown (see `known.UNSEEN`) means nothing to the other one.
        ids = {one.member_id for group in there.groups for one in group.members}
        for group in here.groups:
            leaving = [m.MemberIdentity(member_id=one.member_id) for one in group.members if one.member_id in ids]
            if leaving:
                await self.operator(m.LeaveGroupRequest(group_id=group.group_id, members=leaving), 5)
        await self.operator(m.DeleteGroupsRequest(groups_names=groups), 2)

    async def operator(self, request: Any, version: int) -> list[Any]:
        """Ask as an operator; return the answer of each broker."""
        pair = await self.ask(None, OPERATOR, Asked(request, version, own=False))
        return [side.masked(sent) for side, sent in zip(self.sides, pair.sent, strict=True)]


async def play(
    sequence: Sequence,
    brokers: tuple[Broker, Broker],
    prefix: str,
    *,
    tally: Tally,
    pace: Pace | None = None,
    delay: float = 0.0,
) -> Played:
    """Play a sequence, in groups whose ids begin with `prefix`. `delay` is the initial rebalance delay (s).

    The groups of the two sides have different ids, so that both may be the same broker.
    """
    pace = pace or Pace()
    played = Played(sequence)
    timeouts = [SHORT_MS[sequence.timing] / 1000 * pace.stretch] if sequence.timing is not Timing.NONE else []
    timeouts += [delay] if delay else []
    event = trio.Event()
    burst = (SHORT_BURST if delay else BURST) if timeouts else math.inf
    try:
        async with trio.open_nursery() as nursery:
            sides = [
                Side(broker, Names(groups(f"{prefix}-{at}", sequence), broker.topic_ids), nursery, event)
                for at, broker in enumerate(brokers)
            ]
            schedule = Schedule(timeouts, pace.margin, ROOM * pace.stretch, burst)
            one = Play(sequence, (sides[0], sides[1]), pace, schedule, tally, played)
            try:
                await one.run()
            except Parted as parted:
                played.difference = parted.difference
            except Cut as cut:
                played.cut = str(cut)
            nursery.cancel_scope.cancel()
            played.stalled = bool(timeouts) and played.slowest > schedule.margin
    finally:
        tally.sequences[played.cut or ("parted" if played.difference else "alike")] += 1
    return played


def groups(prefix: str, sequence: Sequence) -> dict[str, str]:
    """Name the groups of a play."""
    return {GROUP: f"{prefix}-g", SECOND_GROUP: f"{prefix}-h", UNKNOWN_GROUP: "" if sequence.empty else f"{prefix}-n"}


def texts(played: Played) -> Iterator[str]:
    """Write a play for people."""
    yield from played.sequence.lines()
    for text, message in played.transcript:
        yield text if message is None else text + shown(message)
