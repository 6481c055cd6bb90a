"""What a test, or an operator, may do to a running server: all of it begins here."""

from kcoord.control.brokers import BrokersControl
from kcoord.control.clock import ClockControl
from kcoord.control.faults import FaultsControl
from kcoord.control.groups import GroupsControl
from kcoord.control.happened import Happenings
from kcoord.control.presence import Presence
from kcoord.control.timeline import TimelineControl
from kcoord.control.topics import TopicsControl
from kcoord.serve import Running


class Control:
    """The control of one server. It lives in the server's trio loop; what happened before it was made, it never learns.

    Methods take and return plain data, and raise `kcoord.control.errors.ControlError`: NotFound, Impossible, TimedOut,
    Unavailable. Those that are not `async` take no time.
    """

    def __init__(self, running: Running) -> None:
        self._running = running
        broker = running.broker
        self._happenings = Happenings(broker)
        self._presence = Presence(broker, lambda: running.present_connections)
        self.clock = ClockControl(broker, self._presence)
        self.groups = GroupsControl(broker, self._happenings)
        self.topics = TopicsControl(broker)
        self.faults = FaultsControl(broker)
        self.brokers = BrokersControl(running)
        self.timeline = TimelineControl(broker)
        self.groups.story = self.timeline.story

    @property
    def bootstrap(self) -> str:
        """What clients on this machine are given as `bootstrap.servers`."""
        return self._running.bootstrap

    async def reset(self) -> None:
        """Let nothing be left of what was before, but the configured topics, empty, and the time on the clock.

        Connections end, so a client of before that still runs comes again like a new one.
        """
        self.faults.clear()
        self.clock.resume()
        await self._running.drop_connections("the server was reset")
        for shard in self._running.broker.shards:
            # What is still to be loaded cannot be deleted.
            await shard.load_at_once()
        await self.groups.delete_all("the server was reset")
        await self.topics.reset()
        await self.brokers.reset()
        self._presence.forget()
        self._happenings.forget()
        self.timeline.forget()
