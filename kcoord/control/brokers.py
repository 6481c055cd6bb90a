"""The logical brokers of a server: stopped and started, and what they lead moved about."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import inf

from kcoord.broker import Broker
from kcoord.control import given
from kcoord.control.errors import Impossible, NotFound
from kcoord.log.catalog import Topic
from kcoord.net.site import Site
from kcoord.nodes import NOBODY
from kcoord.notices import BrokerStarted, BrokerStopped, CoordinatorLoads, CoordinatorMoved
from kcoord.serve import CannotListen, Running
from kcoord.shard import Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """A broker as it stands."""

    node_id: int
    addresses: tuple[str, ...]
    """Where it listens, or did when it ran."""
    running: bool
    connections: int
    leads: int
    """Partitions of topics that it leads."""
    coordinates: int
    """Partitions of __consumer_offsets that it leads."""
    groups: tuple[str, ...]
    """The groups that it coordinates."""


class BrokersControl:
    """The brokers of a server. What one leads goes to another as in Kafka: from memory to memory, by way of the log."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._broker: Broker = running.broker
        self._nodes = running.broker.nodes
        self._groups_before: dict[int, tuple[str, ...]] = {}
        """The groups of partitions that nobody leads, as they were when the last leader went."""

    def list(self) -> tuple[BrokerView, ...]:
        """Return all brokers, by their ids."""
        return tuple(map(self._view, self._running.sites))

    def get(self, node_id: int) -> BrokerView:
        """Return a broker. Raises NotFound."""
        return self._view(self._site(node_id))

    async def stop(self, node_id: int, *, elect: bool = True) -> BrokerView:
        """Stop a broker: who waits is answered, its connections end, and its addresses refuse new ones.

        What it led is led by the next of its replicas that runs; by nobody where there is none, or without `elect`, as
        in the moment before a controller notices. Raises NotFound; Impossible if it does not run.
        """
        site = self._site(node_id)
        elect = given.flag("elect", elect)
        async with site.changing:
            if not site.node.running:
                raise Impossible(f"broker {node_id} does not run")
            led = list(self._led_by(node_id))
            site.node.running = False
            for topic, index in led:
                replicas = self._nodes.in_sync(self._nodes.replicas(topic, index)) if elect else []
                self._hand_over(topic, index, replicas[0] if replicas else NOBODY, f"broker {node_id} stops")
            self._broker.tell(BrokerStopped(node_id=node_id))
            await self._running.stop_broker(site, "the broker was stopped")
            await self._broker.rest()
            return self._view(site)

    async def start(self, node_id: int) -> BrokerView:
        """Start a broker again, at its addresses; it leads what nobody does, if it is one of the replicas.

        One that is about to stop is started when it has stopped. Raises NotFound; Impossible if it runs, or somebody
        else has its address by now.
        """
        site = self._site(node_id)
        async with site.changing:
            if site.node.running:
                raise Impossible(f"broker {node_id} runs already")
            await self._start(site)
            await self._broker.rest()
            return self._view(site)

    async def move(self, group_id: str, to: int | None = None, *, loading: float = 0.0) -> BrokerView:
        """Let another broker coordinate a group, and all groups of its partition; return that broker.

        By default that is the next one in the order of the replicas that runs. `loading` are the seconds for which it
        loads, on the server's clock; without any it serves when this returns. Raises NotFound; Impossible.
        """
        shard = self._broker.shard_for(given.group(group_id))
        loading = given.seconds("loading", loading)
        topic = self._broker.offsets_topic
        leader = self._nodes.leader(topic, shard.partition)
        replicas = self._nodes.replicas(topic, shard.partition)
        if to is None:
            others = [each for each in self._nodes.in_sync(replicas) if each != leader]
            if not others:
                raise Impossible(f"no other broker runs that could coordinate group {group_id}")
            after = [each for each in others if replicas.index(each) > _place(replicas, leader)]
            to = (after or others)[0]
        site = self._site(to)
        if not site.node.running:
            raise Impossible(f"broker {to} does not run")
        if to not in replicas:
            having = ", ".join(map(str, replicas))
            raise Impossible(f"broker {to} has no replica of the partition of group {group_id}: {having} have one")
        if to == leader:
            raise Impossible(f"broker {to} coordinates group {group_id} already")
        self._hand_over(topic, shard.partition, to, "as was asked for", loading=loading)
        await self._broker.rest()
        return self._view(site)

    async def loading(self, group_id: str, seconds: float) -> None:
        """Let a group's coordinator load for so long, on the server's clock: COORDINATOR_LOAD_IN_PROGRESS.

        Who waits for it is told to look for it again. This returns when it has begun, or is over with 0 seconds.
        Raises Impossible.
        """
        shard = self._broker.shard_for(given.group(group_id))
        seconds = given.seconds("loading", seconds)
        told = CoordinatorLoads(partition=shard.partition, seconds=seconds, groups=tuple(_groups(shard)))
        self._broker.tell(told)
        shard.reload(seconds)
        await self._broker.rest()

    async def reset(self) -> None:
        """Let every broker run, and lead what it led at first. Raises Impossible."""
        # Others may be stopped while one is started; and of what nobody leads nobody else can be made the leader.
        while stopped := [site for site in self._running.sites if not site.node.running]:
            async with stopped[0].changing:
                if not stopped[0].node.running:
                    await self._start(stopped[0])
        self._nodes.elect_anew()
        await self._broker.rest()

    async def _start(self, site: Site) -> None:
        try:
            await self._running.start_broker(site, partial(self._lead_again, site.node.id))
        except CannotListen as error:
            raise Impossible(f"broker {site.node.id} cannot be started: {error}") from None

    def _lead_again(self, node_id: int) -> None:
        self._broker.tell(BrokerStarted(node_id=node_id))
        for topic, index in tuple(self._led_by(NOBODY)):
            if node_id in self._nodes.replicas(topic, index):
                self._hand_over(topic, index, node_id, f"broker {node_id} is back")

    def _hand_over(self, topic: Topic, index: int, to: int, why: str, *, loading: float = 0.0) -> None:
        source = self._nodes.leader(topic, index)
        self._nodes.lead(topic, index, to)
        topic.partitions[index].lead_anew()
        if topic is self._broker.offsets_topic:
            shard = self._broker.shards[index]
            groups = tuple(_groups(shard)) or self._groups_before.pop(index, ())
            if to == NOBODY:
                self._groups_before[index] = groups
            self._broker.tell(CoordinatorMoved(partition=index, source=source, target=to, groups=groups, why=why))
            # While nobody leads it, nobody has the groups in memory: no session ends, and the next coordinator begins
            # them anew.
            shard.reload(inf if to == NOBODY else loading, anew=True)

    def _led_by(self, node_id: int) -> Iterator[tuple[Topic, int]]:
        # While others do not run either, nobody is looked for whom nobody has led yet.
        for topic in tuple(self._broker.catalog):
            for partition in tuple(topic.partitions):
                if self._nodes.leader(topic, partition.index) == node_id:
                    yield topic, partition.index

    def _site(self, node_id: int) -> Site:
        given.number("a broker's id", node_id)
        for site in self._running.sites:
            if site.node.id == node_id:
                return site
        known = ", ".join(str(site.node.id) for site in self._running.sites)
        raise NotFound(f"there is no broker {node_id}: there are {known}")

    def _view(self, site: Site) -> BrokerView:
        led = list(self._led_by(site.node.id))
        offsets = self._broker.offsets_topic
        mine = [self._broker.shards[index] for topic, index in led if topic is offsets]
        return BrokerView(
            node_id=site.node.id,
            addresses=tuple(map(str, site.addresses)),
            running=site.node.running,
            connections=len(site.connections),
            leads=len(led) - len(mine),
            coordinates=len(mine),
            groups=tuple(sorted(group for shard in mine for group in _groups(shard))),
        )


def _groups(shard: Shard) -> list[str]:
    return [] if shard.tables is None else list(shard.tables.groups)


def _place(replicas: tuple[int, ...], node_id: int) -> int:
    return replicas.index(node_id) if node_id in replicas else -1
