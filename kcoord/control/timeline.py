"""What happened to groups, recorded from the moment on at which the control was made."""

from typing import Any
from uuid import UUID

from kcoord.broker import Broker
from kcoord.control import given
from kcoord.control.errors import NotFound
from kcoord.timeline import Recorder, Timeline


class CheckedTimeline(Timeline):
    """A timeline in the hands of whoever asks for it: what it is given is looked at, as what a control is given."""

    def text(self, *, most_events: int | None = None) -> str:
        """Tell it as a story: see `kcoord.timeline.Timeline.text`. Raises Impossible."""
        return super().text(most_events=given.most_events(most_events))


class TimelineControl:
    """The timelines of a server's groups."""

    def __init__(self, broker: Broker) -> None:
        def name_of(topic_id: UUID) -> str | None:
            topic = broker.catalog.by_id(topic_id)
            return None if topic is None else topic.name

        self._recorder = Recorder(broker.moment, name_of)
        broker.on_note(self._recorder.note)
        broker.on_request(self._recorder.request)

    def groups(self) -> list[str]:
        """Return the groups of which something is known, also those that are no more; the oldest first."""
        return self._recorder.groups()

    def of(self, group_id: str) -> Timeline:
        """Return what happened to a group until now. Raises NotFound if nothing did; Impossible."""
        timeline = self._recorder.of(given.group(group_id))
        if timeline is None:
            raise NotFound(f"nothing is known of a group {group_id}")
        return CheckedTimeline(timeline.group, timeline.events, timeline.until)

    def story(self, group_id: str) -> tuple[str, dict[str, Any] | None]:
        """Return what happened to a group as text, whatever is known of it, and as plain data if anything is."""
        timeline = self._recorder.of(group_id)
        if timeline is None:
            return f"Nothing happened to a group {group_id}.", None
        return timeline.text(), timeline.plain()

    def forget(self) -> None:
        """Forget everything that happened."""
        self._recorder.forget()
