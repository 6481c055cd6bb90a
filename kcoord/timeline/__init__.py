"""What happened to a group, in order, and what it means: a reader of notes and of requests that are told of.

Nothing here knows a clock or a connection: times come in with what is recorded.
"""

from kcoord.timeline.events import Event
from kcoord.timeline.findings import Finding
from kcoord.timeline.generations import Generation, Kind, Move, Pause
from kcoord.timeline.phases import Waited
from kcoord.timeline.recorder import Recorder
from kcoord.timeline.timeline import Timeline

__all__ = ["Event", "Finding", "Generation", "Kind", "Move", "Pause", "Recorder", "Timeline", "Waited"]
