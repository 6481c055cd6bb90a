"""Shows a story: live where there is a terminal, else line by line; and what it came to."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, ConsoleRenderable
from rich.live import Live
from rich.text import Text

from kcoord.demo.picture import ASCII, UNICODE, Ink, Line, Marks, picture
from kcoord.demo.scene import Scene
from kcoord.demo.stories import GROUP, PARTITIONS, TOPIC, Story
from kcoord.demo.words import Entry, ending, entries_of, head
from kcoord.timeline import Timeline

_STYLES: Final = {
    Ink.PLAIN: "",
    Ink.FAINT: "bright_black",
    Ink.NAME: "bold",
    Ink.GENERATION: "bold",
    Ink.READING: "green",
    Ink.MORE: "green",
    Ink.STILL: "bright_red",
    Ink.JOINING: "cyan",
    Ink.IDLE: "bright_black",
    Ink.STALLED: "yellow",
    Ink.AWAY: "red",
    Ink.LEFT: "bold cyan",
    Ink.EXPIRED: "bold magenta",
    Ink.CRASHED: "bold red",
    Ink.JUMP: "bold blue",
}
_PARTITIONS: Final = ("bright_cyan", "bright_yellow", "bright_magenta", "bright_green", "bright_blue", "bright_white")
_INDENT: Final = 12
"""Characters before the text of an entry: its continued lines stand below that."""
_SHOW_CURSOR: Final = b"\x1b[?25h"
_HIDE_CURSOR: Final = b"\x1b[?25l"
_FEWEST: Final = 20
"""Columns below which nothing is laid out for: a narrower terminal breaks the lines."""


class Lines:
    """Where no line can be changed: what happens is printed as it comes. Also what is printed in the end anywhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.told = 0

    def begin(self, story: Story) -> None:
        """Print what the story is about."""
        for line in title(story):
            self.print(wrapped(line, self.width, 2))
        self.print(Text(""))

    def look(self, scene: Scene) -> None:
        """Print what is new."""
        entries = entries_of(scene)
        for entry in entries[self.told :]:
            self.print(as_text(entry, self.width))
        self.told = len(entries)

    def end(self, story: Story, scene: Scene, timeline: Timeline, *, whole: bool) -> None:
        """Print the rest, the picture, what it came to, and the timeline: its first lines, or all of it."""
        self.look(scene)
        self.print(Text(""))
        self.print(drawn(picture(scene, self.width, marks_for(self.console))))
        self.print(Text(""))
        for line in ending(scene, timeline):
            self.print(wrapped(Text(line), self.width, 5 if line.startswith("  ") else 2))
        self.print(Text(""))
        if whole:
            self.print(Text(timeline.text()))
            return
        for line in head(timeline).splitlines():
            self.print(wrapped(Text(line), self.width, 2))
        told = Text(f"(kcoord demo {story.name} --timeline prints all of it.)", _STYLES[Ink.FAINT])
        self.print(wrapped(told, self.width, 2))

    @property
    def width(self) -> int:
        """Columns that there are."""
        return max(self.console.width, _FEWEST)

    def print(self, what: ConsoleRenderable) -> None:
        """Print it as it is: lines that are too long are left to the terminal."""
        self.console.print(what, soft_wrap=True)


class Screen(Lines):
    """A terminal: the picture grows in its place, and what happened last stands below it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._story: Story | None = None

    def begin(self, story: Story) -> None:
        """Say that consumers are being started."""
        super().begin(story)
        self._story = story
        self._live.start()
        self._live.update(Text("starting the consumers ...", _STYLES[Ink.FAINT]), refresh=True)

    def look(self, scene: Scene) -> None:
        """Draw the picture as it is now, and as much below it as there is room for."""
        if not self._live.is_started or self._story is None:
            super().look(scene)
            return
        shown = drawn(picture(scene, self.width, marks_for(self.console), self._story.seconds))
        lines = [
            line for entry in entries_of(scene) for line in as_text(entry, self.width).split("\n", allow_blank=True)
        ]
        above = shown.plain.count("\n") + 2
        room = max(self.console.height - above - 1, 1)
        below = Text("\n").join(lines[-room:])
        self._live.update(Text("\n\n").join([shown, below]), refresh=True)

    def end(self, story: Story, scene: Scene, timeline: Timeline, *, whole: bool) -> None:
        """Leave the place, and print all that happened."""
        self.close()
        super().end(story, scene, timeline, whole=whole)

    @contextmanager
    def cursor_given_back(self) -> Iterator[None]:
        """Show the cursor meanwhile. May be called amid anything that is being drawn, as by a signal."""
        # Not by the console: what it has still to write may be half of something.
        terminal = self.console.file.fileno()
        hidden = self._live.is_started
        if hidden:
            os.write(terminal, _SHOW_CURSOR)
        yield
        if hidden:
            os.write(terminal, _HIDE_CURSOR)

    def close(self) -> None:
        """Give the terminal back as it was."""
        self._live.stop()


def title(story: Story) -> list[Text]:
    """What a story is, and who acts in it, in lines."""
    members = ", ".join(story.members)
    cast = f"Group {GROUP} on topic {TOPIC} with {PARTITIONS} partitions; consumers {members}."
    return [Text(f"kcoord demo {story.name}", "bold"), Text(story.says), Text(cast, _STYLES[Ink.FAINT])]


def drawn(lines: Sequence[Line]) -> Text:
    """Colour a picture."""
    text = Text()
    for number, line in enumerate(lines):
        if number:
            text.append("\n")
        row = Text()
        for cell in line:
            row.append(cell.text, _style(cell.ink, cell.text))
        row.rstrip()
        text.append_text(row)
    return text


def _style(ink: Ink, text: str) -> str:
    if ink is not Ink.PARTITION:
        return _STYLES[ink]
    return f"bold {_PARTITIONS[int(text, 36) % len(_PARTITIONS)]}" if text.isalnum() else "bold"


def as_text(entry: Entry, width: int) -> Text:
    """Write an entry, its further lines below the first one's words."""
    return wrapped(Text(str(entry), _STYLES[entry.ink]), width, _INDENT)


def wrapped(text: Text, width: int, indent: int) -> Text:
    """Break a line between words, and indent what follows."""
    words = text.plain.split(" ")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= width or not lines[-1].strip():
            lines[-1] += f" {word}"
        else:
            lines.append(" " * indent + word)
    return Text("\n".join(line.rstrip() for line in lines), text.style)


def marks_for(console: Console) -> Marks:
    """Return the characters that a terminal can show."""
    try:
        "".join(getattr(UNICODE, name) for name in UNICODE.__slots__).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
