"""One partition of the offsets topic: a coordinator, its rows in the store, and one order for both.

A request goes into the coordinator at once, in the task of its connection. What comes out leaves in the
order in which it was produced: an outcome that nothing has to be written for and that nothing is ahead of
leaves at once (that is every heartbeat), any other waits for the shard's own task. That task writes whatever
has gathered in a single append, puts it into the log that clients can fetch, and only then lets the answers go.

A write that fails is not undone. The memory is dropped, everybody who waits is told to come again, and the
partition is loaded from the store, which knows what is true.
"""

import traceback
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any, Protocol

import trio

from kcoord.core.coordinator import Coordinator
from kcoord.core.operators import Answer, Operation, Problem
from kcoord.core.outcome import Context, Now, Outcome, Record
from kcoord.core.settings import GroupSettings
from kcoord.core.states import IllegalMove
from kcoord.core.tables import Tables
from kcoord.errors_in_place import error_response, group_error, refusal
from kcoord.log.partition import Partition
from kcoord.notices import (
    BugFound,
    LoadFailed,
    PartitionLost,
    RecordsSkipped,
    ShardLoaded,
    WriteFailed,
)
from kcoord.offsets_log import OffsetsLog
from kcoord.store.base import Fenced, Row, Store, StoreError
from wire.errors import ErrorCode, WireError
from wire.payloads import decode_key, decode_value, encode_key, encode_value

LATE = 0.05
"""Seconds by which a timer must be late for its process to have been held up (a stopped container, much to do)."""
LISTEN_FIRST = 0.1
"""Seconds for which sockets are read then, before sessions end: the heartbeats may long be there."""
RETRY_FIRST = 0.1
RETRY_MOST = 5.0
"""Seconds between attempts to load a partition: the first pause, doubled each time, and the longest."""
ROWS_A_TURN = 500
"""Rows that are replayed before other tasks get a turn."""


class Time(Protocol):
    """What a shard needs of the clock (`kcoord.clock.Clock`)."""

    def now(self) -> Now:
        """Return the time."""
        ...

    def deadline(self, mono: float) -> float:
        """Return when `mono` is on trio's clock."""
        ...

    def on_advance(self, look_again: Callable[[], None]) -> Callable[[], None]:
        """Call `look_again` whenever the clock was moved forward; what is returned ends that."""
        ...


class Tell(Protocol):
    """Takes what happened, in order; with `moments`, one for each, if they are not now (`Broker.tell_all`)."""

    def __call__(self, notes: Iterable[object], moments: Iterable[Now] | None = None) -> None:
        """Take them. Must neither wait nor raise."""
        ...


class Slot:
    """The place for one answer. It is the token that the coordinator keeps while a request waits."""

    __slots__ = ("_event", "request", "response", "version")

    def __init__(self, request: Any, version: int) -> None:
        self.request = request
        self.version = version
        self.response: Any = None
        self._event: trio.Event | None = None

    def answer(self, response: Any) -> None:
        """Put the answer in; there is only ever one."""
        assert self.response is None
        self.response = response
        if self._event is not None:
            self._event.set()

    def fail(self, code: ErrorCode) -> None:
        """Let the answer be an error."""
        self.answer(error_response(self.request, self.version, code))

    async def wait(self) -> Any:
        """Return the answer, once it is there. One task may wait; it may also give up, the slot stays good."""
        if self.response is None:
            self._event = trio.Event()
            await self._event.wait()
        return self.response


class OperatorSlot(Slot):
    """The place for the answer to an operation."""

    __slots__ = ()

    def fail(self, code: ErrorCode) -> None:
        """Let the answer be that the operation was not carried out."""
        self.answer(Answer(Problem.UNAVAILABLE, f"nothing was done: the coordinator failed with {code.name}"))


@dataclass(frozen=True, slots=True)
class Turn:
    """An outcome with its records as the store takes them.

    They are put into bytes in the turn that made them, where what cannot be is the bug of that turn.
    """

    outcome: Outcome
    rows: list[Row]

    @classmethod
    def of(cls, outcome: Outcome) -> "Turn":
        """Raises wire.errors.Unsendable for a record that has no bytes."""
        rows = [
            (encode_key(record.key), None if record.value is None else encode_value(record.value))
            for record in outcome.records
        ]
        return cls(outcome, rows)


class Elsewhere:
    """Stands for all shards that a broker does not lead: whoever asks is told to look for the coordinator again."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings

    def begin(self, context: Context, request: Any) -> Slot:
        """Refuse a request: NOT_COORDINATOR, or what comes before that."""
        slot = Slot(request, context.version)
        slot.answer(refusal(request, context.version, ErrorCode.NOT_COORDINATOR, self._settings))
        return slot

    async def submit(self, context: Context, request: Any) -> Any:
        """Refuse a request."""
        return self.begin(context, request).response


class Status(Enum):
    """Whether there is a coordinator to ask, and if not, why."""

    SERVING = "serving"
    LOADING = "loading"
    FAILED = "could not be loaded, is tried again"
    LOST = "taken over by another server"
    STOPPED = "the server stops"


class Shard:
    """Serves the groups of one partition. `run` must be running; `begin` and `submit` are called by other tasks.

    `tell` is given what happened, in order, after it is durable: notes of the coordinator and notices of the
    shard. `log` is the partition's log for those who fetch it.
    """

    def __init__(
        self,
        partition: int,
        settings: GroupSettings,
        store: Store,
        time: Time,
        new_id: Callable[[], str],
        tell: Tell,
        log: Partition,
        *,
        commit_timeout_ms: int,
    ) -> None:
        self.partition = partition
        self.status = Status.LOADING
        self._settings = settings
        self._store = store
        self._time = time
        self._new_id = new_id
        self._tell = tell
        self._log = OffsetsLog(log)
        self._commit_timeout = commit_timeout_ms / 1000
        self._coordinator = Coordinator(settings, new_id)
        self._epoch = 0
        self._queue: list[Turn] = []
        self._deleted_topics: set[str] = set()
        self._writing = False
        self._waiting: set[Slot] = set()
        self._nap = trio.CancelScope()
        self._nap_until = inf
        self._moved_at = -inf
        self._loads_until = -inf
        self._at_rest: trio.Event | None = None

    def begin(self, context: Context, request: Any) -> Slot:
        """Hand in a request; the slot may hold its answer already. Never raises, whatever a client asks."""
        slot = Slot(request, context.version)
        self._forget_topics()
        if self.status is not Status.SERVING:
            loading = self.status is Status.LOADING
            code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NOT_COORDINATOR
            slot.answer(refusal(request, context.version, code, self._settings))
            return slot
        try:
            turn = Turn.of(self._coordinator.handle(slot, context, request, self._time.now()))
        except Exception as bug:  # noqa: BLE001 - a rule of Kafka's, see below
            # Kafka answers -1 for whatever a handler throws (`KafkaApis.handleError`), and the memory of a
            # coordinator that broke its own rules cannot be trusted with another request.
            slot.fail(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._drop_memory(bug, type(request).__name__)
            return slot
        self._settle(turn)
        if slot.response is None:
            self._waiting.add(slot)
        return slot

    async def submit(self, context: Context, request: Any) -> Any:
        """Hand in a request and wait for its answer: a heartbeat's is there at once, a JoinGroup's may take minutes.

        Who gives up waiting is not missed: the group learns of a lost connection by the session only (Kafka
        does not either).
        """
        slot = self.begin(context, request)
        return slot.response if slot.response is not None else await slot.wait()

    def begin_operation(self, operation: Operation, now: Now | None = None) -> Slot:
        """Hand in an operation, at the time `now` if it is not to be the present; the slot gets an `Answer`."""
        slot = OperatorSlot(operation, 0)
        self._forget_topics()
        if self.status is not Status.SERVING:
            sentence = f"the coordinator of partition {self.partition} does not serve: {self.status.value}"
            slot.answer(Answer(Problem.UNAVAILABLE, sentence))
            return slot
        try:
            turn = Turn.of(self._coordinator.operate(slot, operation, now or self._time.now()))
        except Exception as bug:  # noqa: BLE001 - as in `begin`
            slot.fail(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._drop_memory(bug, type(operation).__name__)
            return slot
        self._settle(turn)
        if slot.response is None:
            self._waiting.add(slot)
        return slot

    async def operate(self, operation: Operation) -> Answer:
        """Do to a group what an operator or a test wishes, and return once that is durable."""
        answer = await self.begin_operation(operation).wait()
        assert isinstance(answer, Answer)
        return answer

    @property
    def tables(self) -> Tables | None:
        """The groups as they are, to look at and not to change; None while there is no coordinator."""
        return self._coordinator.tables if self.status is Status.SERVING else None

    @property
    def loads_until(self) -> float:
        """The moment, in seconds on the server's clock, before which loading is not to be over; inf if nobody loads."""
        return self._loads_until if self.status is Status.LOADING else inf

    async def rest(self) -> None:
        """Wait until everything that is due by now has happened and is written.

        That is loading as well, if it was to last no longer than until now. Returns at once if nobody serves or loads.
        """
        while not self._is_at_rest:
            if self._at_rest is None:
                self._at_rest = trio.Event()
            await self._at_rest.wait()

    @property
    def _is_at_rest(self) -> bool:
        if self.status is not Status.SERVING:
            return self._time.now().mono < self.loads_until
        due = self._due() <= self._time.now().mono
        return not (due or self._queue or self._writing or self._deleted_topics)

    def topic_deleted(self, name: str) -> None:
        """Let go of what was committed for a topic, which is no more.

        That is done in the shard's own turn, as there may be much of it, but before any request that comes from now on:
        a topic of the same name is another one.
        """
        if self.status not in (Status.LOST, Status.STOPPED):
            self._deleted_topics.add(name)
            self._nap.cancel()

    def _forget_topics(self) -> None:
        """Do so for all topics that were deleted meanwhile. Never raises."""
        if not self._deleted_topics or self.status is not Status.SERVING:
            return
        names, self._deleted_topics = self._deleted_topics, set()
        try:
            turn = Turn.of(self._coordinator.topics_deleted(names, self._time.now()))
        except Exception as bug:  # noqa: BLE001 - as in `begin`
            self._drop_memory(bug, "deleted topics")
        else:
            self._settle(turn)

    def stop(self) -> None:
        """Serve no longer, as when the server goes away: who waits, and who comes from now on, gets NOT_COORDINATOR.

        What was decided before is still made durable and answered, as long as `run` runs.
        """
        if self.status is Status.SERVING:
            self._settle(Turn.of(self._coordinator.unload(self._time.now())))
        self.status = Status.STOPPED

    def reload(self, seconds: float = 0.0, *, anew: bool = False) -> None:
        """Let another broker lead the partition: who waits gets NOT_COORDINATOR, and all is loaded from the store.

        Loading takes `seconds` at least, on the server's clock; meanwhile requests get COORDINATOR_LOAD_IN_PROGRESS.
        While nobody serves, loading may take longer by it; `anew` lets it take `seconds`, whatever it was to take.
        """
        if self.status is Status.SERVING:
            self._settle(Turn.of(self._coordinator.unload(self._time.now())))
            self.status = Status.LOADING
        until = self._time.now().mono + seconds
        self._loads_until = until if anew else max(self._loads_until, until)
        self._nap.cancel()

    async def load_at_once(self) -> None:
        """Let loading take no longer than it has to, and return when it is over; at once if nobody loads.

        That holds against who wishes meanwhile that it takes longer (`reload`).
        """
        while self.status is Status.LOADING:
            self._loads_until = -inf
            self._nap.cancel()
            await trio.lowlevel.checkpoint()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load the partition, then write and keep time until cancelled. Started once loading was tried."""
        forget = self._time.on_advance(self._time_moved)
        try:
            await self._load(task_status)
            while True:
                if self.status is Status.LOST:
                    self._rested()
                    await trio.sleep_forever()
                elif self._queue:
                    await self._write()
                elif self.status not in (Status.SERVING, Status.STOPPED):
                    await self._take_time()
                    await self._load()
                elif self._deleted_topics and self.status is Status.SERVING:
                    self._forget_topics()
                    await trio.lowlevel.checkpoint()
                elif self._time.deadline(self._due()) <= trio.current_time():
                    await self._keep_time()
                else:
                    await self._sleep()
        finally:
            forget()

    # What leaves, and when.

    def _settle(self, turn: Turn) -> None:
        if turn.rows or self._queue or self._writing:
            self._queue.append(turn)
            self._nap.cancel()
        else:
            self._release(turn.outcome)
        due = self._due()
        if due < self._nap_until:
            self._nap_until = due
            self._nap.deadline = self._time.deadline(due)

    def _release(self, outcome: Outcome) -> None:
        for reply in outcome.replies:
            self._answer(reply.token, reply.response)
        if outcome.notes:
            self._tell(outcome.notes, outcome.moments)

    def _answer(self, token: object, response: Any) -> None:
        assert isinstance(token, Slot)
        # Only after a bug is there an answer already: then everybody got one, also who was just being
        # written for.
        if token.response is None:
            token.answer(response)
        self._waiting.discard(token)

    def _fail(self, token: object, code: ErrorCode) -> None:
        assert isinstance(token, Slot)
        if token.response is None:
            token.fail(code)
        self._waiting.discard(token)

    # Writing.

    async def _write(self) -> None:
        """Make durable what has gathered, in one append, and let the answers go."""
        batch, self._queue = self._queue, []
        rows = [row for turn in batch for row in turn.rows]
        self._writing = True
        try:
            if rows:
                with trio.fail_after(self._commit_timeout):
                    await self._store.append(self.partition, self._epoch, rows)
        except trio.TooSlowError:
            late = f"no answer within {self._commit_timeout:g} s"
            self._write_failed(StoreError(late, ErrorCode.REQUEST_TIMED_OUT), batch)
        except StoreError as error:
            self._write_failed(error, batch)
        else:
            await self._log.add(rows, self._time.now().wall_ms)
            for turn in batch:
                self._release(turn.outcome)
        finally:
            self._writing = False

    def _write_failed(self, error: StoreError, batch: list[Turn]) -> None:
        """Stop: what was decided since rests on records that are not there."""
        code = group_error(error.code)
        failed = [reply.token for turn in (*batch, *self._queue) for reply in turn.outcome.replies]
        self._queue = []
        for token in failed:
            self._fail(token, code)
        if self.status is Status.SERVING:
            self._release(self._coordinator.unload(self._time.now()))
        if self.status is not Status.STOPPED:
            self.status = Status.LOST if isinstance(error, Fenced) else Status.LOADING
        self._tell([WriteFailed(partition=self.partition, why=str(error), error=code.name, requests=len(failed))])
        if self.status is Status.LOST:
            self._tell([PartitionLost(partition=self.partition, why=str(error))])

    def _drop_memory(self, bug: Exception, request: str) -> None:
        """Stop for a bug. The coordinator is not asked who waits with it: it no longer knows for sure."""
        self.status = Status.LOADING
        self._queue = []
        for slot in tuple(self._waiting):
            self._fail(slot, ErrorCode.NOT_COORDINATOR)
        self._nap.cancel()
        trace = "".join(traceback.format_exception(bug))
        self._tell([BugFound(partition=self.partition, request=request, traceback=trace)])

    # Loading.

    async def _load(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read the partition until that works, or nobody wants it any more.

        Requests meanwhile: 14 at the first attempt, 16 after a failed one.
        """
        pause = RETRY_FIRST
        while True:
            failed = False
            try:
                await self._load_once()
            except (StoreError, WireError, IllegalMove) as error:
                failed = True
                if self.status is not Status.STOPPED:
                    self.status = Status.FAILED
                    self._rested()
                self._tell([LoadFailed(partition=self.partition, why=str(error), retry_in=pause)])
            if task_status is not trio.TASK_STATUS_IGNORED:
                task_status.started()
                task_status = trio.TASK_STATUS_IGNORED
            if self.status in (Status.SERVING, Status.STOPPED):
                return
            if failed:
                await trio.sleep(pause)
                pause = min(2 * pause, RETRY_MOST)
            else:
                await self._take_time()

    async def _take_time(self) -> None:
        """Wait for as long as loading is to take."""
        while self.status is not Status.STOPPED and self._time.now().mono < self._loads_until:
            self._rested()
            self._nap_until = self._loads_until
            with trio.CancelScope(deadline=self._time.deadline(self._loads_until)) as self._nap:
                await trio.sleep_forever()

    async def _load_once(self) -> None:
        """Take the partition, replay its rows, start the sessions. Raises StoreError, WireError.

        Nobody serves after it if loading is to take longer, as was wished meanwhile (`reload`).
        """
        self._epoch = await self._store.acquire(self.partition)
        coordinator = Coordinator(self._settings, self._new_id)
        log = await self._log.catch_up(self._time.now().wall_ms)
        rows = skipped = 0
        async with aclosing(self._store.load(self.partition)) as stored:
            async for key_bytes, value_bytes in stored:
                rows += 1
                await log.take(key_bytes, value_bytes)
                key = decode_key(key_bytes)
                if key is None:
                    skipped += 1
                else:
                    coordinator.apply(Record(key, decode_value(key, value_bytes)))
                if rows % ROWS_A_TURN == 0:
                    await trio.lowlevel.checkpoint()
        await log.finish()
        if self.status is Status.STOPPED or self._time.now().mono < self._loads_until:
            return
        self._coordinator = coordinator
        self._nap_until = inf
        self.status = Status.SERVING
        self._tell([ShardLoaded(partition=self.partition, epoch=self._epoch, rows=rows)])
        if skipped:
            self._tell([RecordsSkipped(partition=self.partition, rows=skipped)])
        self._settle(Turn.of(coordinator.loaded(self._time.now())))

    # Time.

    def _due(self) -> float:
        deadline = self._coordinator.next_deadline()
        return inf if deadline is None else deadline

    def _time_moved(self) -> None:
        """Let the nap end if the clock was moved past its end. That is no lateness: nobody slept."""
        self._moved_at = self._time.now().mono
        self._nap.deadline = max(self._time.deadline(self._nap_until), trio.current_time())

    async def _keep_time(self) -> None:
        """Let everything happen that is due.

        What the clock was moved past happens at its own moment. Anything else happens now, however late: if the
        process stood still, heartbeats that came in time may lie unread in the sockets, and they count first.
        """
        due = self._due()
        moved = due <= self._moved_at
        if not moved and self._time.now().mono - due > LATE:
            await trio.sleep(LISTEN_FIRST)
            if self.status is not Status.SERVING:
                return
        try:
            now = self._time.now()
            if moved:
                turn = Turn.of(self._coordinator.advance(now.back_at(self._moved_at)))
            else:
                # Two clocks apart by an offset may round differently; what trio calls due is due.
                turn = Turn.of(self._coordinator.advance(Now(max(now.mono, due), now.wall_ms), late=True))
        except Exception as bug:  # noqa: BLE001 - as in `begin`
            self._drop_memory(bug, "a timer")
        else:
            self._settle(turn)
        await trio.lowlevel.checkpoint()

    def _rested(self) -> None:
        if self._at_rest is not None:
            self._at_rest.set()
            self._at_rest = None

    async def _sleep(self) -> None:
        """Sleep until something is due or somebody wakes the task; both move this nap."""
        self._nap_until = self._due()
        self._rested()
        with trio.CancelScope(deadline=self._time.deadline(self._nap_until)) as self._nap:
            await trio.sleep_forever()
