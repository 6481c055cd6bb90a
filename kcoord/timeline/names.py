"""What members are called in a story: short, and never two of them alike."""

from collections.abc import Iterable, Mapping

from kcoord.core import notes
from kcoord.timeline.events import Answered, Asked, Beats, Event, Noted

_LONGEST = 80
"""Characters of an id that are shown: clients may choose ids of thirty thousand."""
_END = 4
"""Characters of a member id's end that tell it from another of the same client id: they are random."""


class Names:
    """The members that events speak of, by member id, and what each is called.

    A static member is called by its instance id, another by its client id. Where several member ids have the same, the
    last characters of the id follow. What is no member id is called as it is.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._stems: dict[str, str] = {}
        for event in events:
            self._learn(event)
        together: dict[str, list[str]] = {}
        for member, stem in self._stems.items():
            together.setdefault(stem, []).append(member)
        self._labels: dict[str, str] = {}
        for stem, members in together.items():
            ends = [f"{stem}…{member[-_END:]}" for member in members]
            if len(members) == 1:
                self._labels[members[0]] = stem
            else:
                alike = len(set(ends)) < len(ends)
                self._labels.update(zip(members, members if alike else ends, strict=True))

    def label(self, member: str) -> str:
        """Return what a member is called."""
        return self._labels.get(member) or printable(member)

    def all_of(self, members: Iterable[str]) -> str:
        """Return them with commas."""
        return ", ".join(self.label(each) for each in members)

    def within(self, sentence: str) -> str:
        """Return a sentence with each member id in it put into words."""
        for member in sorted(self._labels, key=len, reverse=True):
            if member in sentence:
                sentence = sentence.replace(member, self._labels[member])
        return sentence

    @property
    def labels(self) -> Mapping[str, str]:
        """What each member id is called."""
        return dict(self._labels)

    def _learn(self, event: Event) -> None:
        if isinstance(event, Noted):
            note = event.note
            if isinstance(note, (notes.MemberJoined, notes.MemberExpired, notes.StaticMemberReplaced)):
                self._called(note.member, note.instance or note.client_id)
            elif isinstance(note, notes.MemberIdHandedOut):
                self._called(note.member, note.client_id)
        elif isinstance(event, Asked):
            self._called(event.member, event.instance or event.client_id)
        elif isinstance(event, Answered):
            self._called(event.member, event.asked.instance or event.asked.client_id)
        elif isinstance(event, Beats):
            self._called(event.member, event.instance or event.client_id)

    def _called(self, member: str, stem: str) -> None:
        if member and stem:
            self._stems.setdefault(member, printable(stem))


def counted(count: int, things: str) -> str:
    """Return "1 member", "2 members": a number and a noun, which is given as for several."""
    return f"{count} {things.removesuffix('s') if count == 1 else things}"


def printable(text: str, most: int = _LONGEST) -> str:
    """Return a text that a client chose without what could move a terminal's cursor, and not too long."""
    shown = text if len(text) <= most else f"{text[:most]}…"
    return shown if shown.isprintable() else repr(shown)[1:-1]
