"""A story in words: what happens, line by line, and what it came to."""

from collections.abc import Iterator
from dataclasses import dataclass

from kcoord.core import notes
from kcoord.demo.picture import Ink
from kcoord.demo.scene import Deed, Scene
from kcoord.demo.stories import Kind
from kcoord.timeline import Event, Generation, Timeline
from kcoord.timeline import Kind as Rebalance
from kcoord.timeline.events import Noted, TopicPartition
from kcoord.timeline.generations import longest_pause
from kcoord.timeline.sentences import cause, sentence

_DEEDS = {
    Kind.START: "{who} starts",
    Kind.STOP: "{who} is closed",
    Kind.KILL: "{who} is killed (SIGKILL), without a word to the server",
    Kind.STALL: "{who} does not poll any more, as if busy with its records; its heartbeats go on",
    Kind.GO_ON: "{who} polls again",
    Kind.CLOCK: "the server's clock is moved forward by {seconds:g} s, so that nobody has to wait",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of what happens; `at` is in seconds as in the timeline."""

    at: float
    text: str
    ink: Ink = Ink.PLAIN

    def __str__(self) -> str:
        return f"{self.at:8.2f} s  {self.text}"


def entries_of(scene: Scene) -> list[Entry]:
    """Return what happened until now. What is added later comes behind."""
    return [entry for each in scene.happened for entry in _entries(scene, each)]


def _entries(scene: Scene, what: Event | Deed) -> Iterator[Entry]:
    if isinstance(what, Deed):
        yield Entry(what.at, _DEEDS[what.kind].format(who=what.who, seconds=what.seconds), Ink.NAME)
    elif isinstance(what, Noted):
        text = _noted(scene, what)
        if text:
            ink = Ink.GENERATION if isinstance(what.note, notes.GroupStabilized) else Ink.PLAIN
            yield Entry(what.at, text, ink)


def _noted(scene: Scene, event: Noted) -> str:
    note, names = event.note, scene.names
    if isinstance(note, notes.RebalanceStarted):
        waits = f"; it waits for {names.all_of(note.waiting_for)}" if note.waiting_for else ""
        return f"rebalance: {cause(note.reason, names)}{waits}"
    if isinstance(note, notes.GroupStabilized):
        one = next((each for each in scene.generations if each.number == note.generation), None)
        return f"generation {note.generation}: {_shares(scene, one)}"
    if isinstance(note, notes.GroupEmptied):
        return f"generation {note.generation}: nobody is left"
    if isinstance(note, notes.StaticMemberReplaced):
        return f"{note.instance} is back, in its own place, under a new member id"
    if isinstance(note, notes.MemberLeft):
        return f"{names.label(note.member)} leaves the group{_why_it_left(scene, event.at, names.label(note.member))}"
    if isinstance(note, notes.MemberExpired):
        return sentence(event, names)
    return ""


def _why_it_left(scene: Scene, at: float, who: str) -> str:
    """Explain why a member leaves that nobody closed: its client says so by itself (KIP-62)."""
    before = [each for each in scene.deeds if each.who == who and each.at <= at]
    if before and before[-1].kind is Kind.STALL:
        return ": its client does so by itself, when max.poll.interval.ms is over without a poll"
    return ""


def _shares(scene: Scene, one: Generation | None) -> str:
    if one is None or one.assignment is None:
        return "the assignment cannot be read"
    held = sorted((scene.names.label(member), _numbers(mine)) for member, mine in one.assignment.items())
    return ", ".join(f"{name} has {numbers}" for name, numbers in held)


def _numbers(partitions: frozenset[TopicPartition]) -> str:
    return " ".join(str(number) for _, number in sorted(partitions)) or "nothing"


_KINDS = {
    Rebalance.EAGER: "Eager: all gave up everything before they joined again, in {numbers}.",
    Rebalance.COOPERATIVE: "Cooperative: members kept what they did not have to hand over, in {numbers}.",
}


def ending(scene: Scene, timeline: Timeline) -> list[str]:
    """Return what the story came to, in a few plain sentences: causes, moves, who stood still, what was kept."""
    moved = sum(each.seconds for each in scene.jumps)
    clock = f" ({moved:g} s of them the clock was moved by)" if moved else ""
    with_members = [one for one in scene.generations if one.members]
    lines = [f"In {scene.until:.1f} s{clock} the group went through {_count(len(with_members), 'generation')}:"]
    lines += [f"  {one.number}  {_generation(scene, one)}" for one in with_members]
    lines += _kinds(scene)
    lines += _returns(scene)
    lines.append(_stood_still(scene))
    lines += _kept(scene)
    pause = longest_pause(scene.generations)
    if pause is not None and pause.seconds > 0:
        lines.append(f"Longest unread: nobody read {pause.topic}-{pause.partition} for {pause.seconds:.1f} s.")
    found = [f"{each.kind}: {each.sentence}" for each in timeline.findings]
    lines.append(f"Findings: {'; '.join(found) if found else 'none'}.")
    return lines


def _generation(scene: Scene, one: Generation) -> str:
    why = cause(one.cause, scene.names)
    if one.follows_up:
        why += " (its second step: what was given up is handed out)"
    parts = [why]
    if one.waited_for and not one.initial:
        longest = max(one.waited_for, key=lambda each: each.seconds)
        if longest.seconds >= _WORTH_TELLING:
            parts.append(f"waited {longest.seconds:.1f} s for {scene.names.label(longest.member)} ({longest.outcome})")
    changed = sum(1 for move in one.moves if move.source is not None)
    if changed:
        parts.append(f"{_count(changed, 'partition')} moved")
    return "; ".join(parts)


_WORTH_TELLING = 0.1
"""Seconds."""


def _returns(scene: Scene) -> Iterator[str]:
    """Tell of static members that came back and took their place without a rebalance."""
    for event in scene.events:
        if isinstance(event, Noted) and isinstance(event.note, notes.StaticMemberReplaced):
            gone = [each.at for each in scene.deeds if each.who == event.note.instance and each.at < event.at]
            away = [each.at for each in scene.deeds if each.kind is Kind.STOP and each.at in gone]
            since = f" after {event.at - away[-1]:.1f} s" if away else ""
            rebalanced = any(
                one.began >= event.at and one.began - event.at < _WORTH_TELLING for one in scene.generations
            )
            yield f"{event.note.instance} came back{since}, {'with' if rebalanced else 'without'} a rebalance."


def _stood_still(scene: Scene) -> str:
    total: dict[str, float] = {}
    for one in scene.generations:
        for member, seconds in one.stood_still.items():
            name = scene.names.label(member)
            total[name] = total.get(name, 0.0) + seconds
    if not total:
        return "Stood still: nobody."
    return f"Stood still: {', '.join(f'{name} {total[name]:.2f} s' for name in sorted(total))}."


def _kinds(scene: Scene) -> Iterator[str]:
    for kind, says in _KINDS.items():
        numbers = [str(one.number) for one in scene.generations if one.kind is kind]
        if numbers:
            word = "generation" if len(numbers) == 1 else "generations"
            yield says.format(numbers=f"{word} {', '.join(numbers)}")


def _kept(scene: Scene) -> Iterator[str]:
    kept = [f"{sum(one.kept.values())} in generation {one.number}" for one in scene.generations if one.kept]
    if kept:
        yield f"Partitions that were read without a pause: {', '.join(kept)}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def head(timeline: Timeline) -> str:
    """Return the first lines of a timeline: how the group stands, and its last rebalance."""
    return timeline.text().partition("\n\n")[0]
