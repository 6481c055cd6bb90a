"""Runs a story: a server in this process, its consumers in processes of their own, and somebody who is shown it."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from types import TracebackType
from typing import Final, Protocol, Self

from kcoord.control import Control, NotFound
from kcoord.demo.members import Member
from kcoord.demo.scene import Deed, Scene
from kcoord.demo.stories import GROUP, PARTITIONS, TOPIC, Act, Back, Kind, MoveClock, Pause, Settled, Step, Story
from kcoord.testing import CannotListen, Kcoord, ServerGone, Timeline
from kcoord.timeline.events import Answered

FRAME: Final = 0.1
"""Seconds between two looks at the group."""
PATIENCE: Final = 60.0
"""Seconds in which consumers have to be ready, and in which each step of a story has to come true."""


class Interrupted(Exception):
    """Whoever watches wants no more."""


class StoryStopped(Exception):
    """A story cannot go on; the text is one sentence. `timeline` is how far it came, if it began."""

    def __init__(self, sentence: str, timeline: Timeline | None = None) -> None:
        super().__init__(sentence)
        self.timeline = timeline


class Audience(Protocol):
    """Who is shown a story."""

    def begin(self, story: Story) -> None:
        """It is about to begin: processes are being started."""
        ...

    def look(self, scene: Scene) -> None:
        """Now it stands like this; called all the time."""
        ...


class Stage:
    """One story, on a server of its own. Nothing is left when the `with` statement is over.

    `stopped` says whether it is to end at once. `speed` divides the pauses of the story.
    """

    def __init__(self, story: Story, audience: Audience, stopped: Callable[[], bool], speed: float = 1.0) -> None:
        self._story = story
        self._audience = audience
        self._stopped = stopped
        self._speed = speed
        self._exit = ExitStack()
        self._waiting: dict[str, deque[Member]] = {}
        """Processes that have not been told to join."""
        self._members: dict[str, Member] = {}
        self._deeds: list[tuple[float, Kind, str, float]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._exit.close()

    def run(self) -> tuple[Scene, Timeline]:
        """Act the story out; return how it stands in the end. Raises StoryStopped; Interrupted."""
        self._audience.begin(self._story)
        for name in self._story.starts:
            try:
                member = Member(name)
            except OSError as error:
                raise StoryStopped(f"a consumer could not be started: {error.strerror}") from None
            self._exit.callback(member.close)
            self._waiting.setdefault(name, deque()).append(member)
        try:
            self._until(lambda: all(each.is_ready for every in self._waiting.values() for each in every))
        except TimeoutError:
            raise StoryStopped(f"the consumers were not ready within {PATIENCE:g} s") from None
        # Only now, so that the timeline begins with the story. Consumers are closed first: what they would say of a
        # server that is gone is no part of the story.
        with self._serving() as kcoord, self._consumers_end():
            for step in self._story.steps:
                self._play(step, kcoord)
            scene, timeline = self._look(kcoord)
            if timeline is None:
                raise StoryStopped("nothing happened to the group")
            return scene, timeline

    @contextmanager
    def _serving(self) -> Iterator[Kcoord]:
        kcoord = Kcoord({TOPIC: PARTITIONS}, settings=self._story.settings)
        try:
            kcoord.start()
        except (CannotListen, ServerGone) as error:
            raise StoryStopped(f"the server could not be started: {error}") from None
        with closing(kcoord):
            yield kcoord

    @contextmanager
    def _consumers_end(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._exit.close()

    def _play(self, step: Step, kcoord: Kcoord) -> None:
        if isinstance(step, Pause):
            end = time.monotonic() + step.seconds / self._speed
            self._watch(kcoord, lambda _: time.monotonic() >= end, "the pause did not end")
        elif isinstance(step, Settled):
            shared = f"the group did not settle with {', '.join(step.members)}"
            self._watch(kcoord, lambda scene: settled(scene, step.members), shared)
        elif isinstance(step, Back):
            self._watch(kcoord, lambda scene: is_back(scene, step.who), f"consumer {step.who} did not come back")
        elif isinstance(step, MoveClock):
            # Whose connection is open counts as heard of while the clock is moved.
            self._watch_the_end(kcoord, *self._members)
            self._note(kcoord, Kind.CLOCK, "", step.seconds)
            kcoord.clock.advance(step.seconds)
        else:
            if step.kind is Kind.START:
                # Who was told to end is still there while its last poll lasts, and would be fenced by itself.
                self._watch_the_end(kcoord, step.who)
            self._note(kcoord, step.kind, step.who, 0)
            self._act(step, kcoord.bootstrap)

    def _act(self, act: Act, bootstrap: str) -> None:
        if act.kind is Kind.START:
            self._members[act.who] = self._waiting[act.who].popleft()
            self._members[act.who].join(self._story, bootstrap)
            return
        member = self._members[act.who]
        doing = {Kind.STOP: member.stop, Kind.KILL: member.kill, Kind.STALL: member.stall, Kind.GO_ON: member.go_on}
        doing[act.kind]()

    def _note(self, kcoord: Kcoord, kind: Kind, who: str, seconds: float) -> None:
        self._deeds.append((kcoord.clock.now().mono, kind, who, seconds))

    def _watch_the_end(self, kcoord: Kcoord, *names: str) -> None:
        """Show how it stands until those of these members have ended that were told to."""
        leaving = [self._members[name] for name in names if name in self._members and self._members[name].leaving]
        if leaving:
            told = f"consumer {', '.join(each.name for each in leaving)} did not end"
            self._watch(kcoord, lambda _: all(each.is_gone for each in leaving), told)

    def _watch(self, kcoord: Kcoord, until: Callable[[Scene], bool], otherwise: str) -> None:
        """Show how it stands until something is so. Raises StoryStopped if it takes too long, or a consumer ended."""
        timeline: Timeline | None = None

        def is_so() -> bool:
            nonlocal timeline
            scene, timeline = self._look(kcoord)
            self._audience.look(scene)
            for name, member in self._members.items():
                if failure := member.failure:
                    raise StoryStopped(f"consumer {name} ended: {failure}", timeline)
            return until(scene)

        try:
            self._until(is_so)
        except TimeoutError:
            raise StoryStopped(f"{otherwise} within {PATIENCE:g} s", timeline) from None

    def _until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            if self._stopped():
                raise Interrupted
            for member in (each for every in self._waiting.values() for each in every):
                if failure := member.failure:
                    raise StoryStopped(f"a consumer could not be started: {failure}")
            if time.monotonic() >= deadline:
                raise TimeoutError
            time.sleep(FRAME)

    def _look(self, kcoord: Kcoord) -> tuple[Scene, Timeline | None]:
        now, timeline = kcoord.run(_now_and_timeline)
        # The timeline counts from its own beginning, the clock from somewhere.
        if timeline is not None:
            self._start = now - timeline.until
        start = self._start if timeline is not None else (self._deeds[0][0] if self._deeds else now)
        deeds = [
            Deed(at=max(at - start, 0.0), kind=kind, who=who, seconds=moved) for at, kind, who, moved in self._deeds
        ]
        return Scene(timeline, deeds, self._story.members, now - start), timeline


def _now_and_timeline(control: Control) -> tuple[float, Timeline | None]:
    try:
        timeline = control.timeline.of(GROUP)
    except NotFound:
        timeline = None
    return control.clock.now().mono, timeline


def settled(scene: Scene, members: Sequence[str]) -> bool:
    """Whether these members, and nobody else, share all partitions, and nothing is on its way.

    Who they are counts: where one is to go and another one to come, there are as many before.
    """
    last = scene.generations[-1] if scene.generations else None
    if last is None or last.stable is None or last.assignment is None:
        return False
    if sorted(map(scene.names.label, last.members)) != sorted(members):
        return False
    return sum(map(len, last.assignment.values())) == PARTITIONS


def is_back(scene: Scene, who: str) -> bool:
    """Whether a member has been given its partitions since it was started last."""
    started = max(deed.at for deed in scene.deeds if deed.kind is Kind.START and deed.who == who)
    return any(
        isinstance(event, Answered)
        and event.asked.api == "SyncGroup"
        and event.assigned is not None
        and not event.errors
        and event.asked.at >= started
        and scene.names.label(event.asked.member) == who
        for event in scene.events
    )
