"""Where a rule runs: connections to a broker, and the situations that scripts start from."""

import contextlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import trio

from kcoord.check.member import Member, settle
from kcoord.check.names import Names
from kcoord.check.outcome import NotApplicable, fail
from kcoord.check.probe import PATIENCE, Client, Closed, Heard, Offers, offered
from kcoord.check.transcript import Transcript
from wire.errors import WireError
from wire.messages import ListGroupsRequest
from wire.schema import Message

Opener = Callable[[], Awaitable[trio.abc.Stream]]
"""Opens a connection to the broker. Raises OSError."""


class World:
    """A broker, as one run of one rule has it.

    `offers` are the versions that the broker offers; if None, all that are asked for. `exact` is for a broker in this
    process under virtual time: there a timer fires at its moment, and nothing but waiting takes any time.
    `patience` is how long (s) an answer that must come is waited for; `heard` is shared by the worlds of a run.
    `connected` is told how long (s) it took until a connection could be used.
    """

    def __init__(
        self,
        opener: Opener,
        names: Names | None = None,
        *,
        offers: Offers | None = None,
        exact: bool = False,
        patience: float = PATIENCE,
        heard: Heard | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        self.names = Names() if names is None else names
        self.offers = offers
        self.exact = exact
        self.patience = patience
        self.heard = Heard() if heard is None else heard
        self.connected: Callable[[float], None] | None = None
        self._opener = opener
        self._transcript = transcript
        self._closing = contextlib.AsyncExitStack()

    @property
    def t(self) -> str:
        """The name of a topic of 3 partitions."""
        return self.names.t

    @property
    def u(self) -> str:
        """The name of another topic of 3 partitions."""
        return self.names.u

    @property
    def wide(self) -> str:
        """The name of a topic of 1000 partitions, for rules that say `topics=("wide",)`."""
        return self.names.wide

    def group(self, stem: str = "g") -> str:
        """Return a group id that nobody has used; the group is removed in the end."""
        return self.names.group(stem)

    def waiting_group(self) -> str:
        """Return such a group id, for a group that is to wait for more members when its first one joins.

        Raises NotApplicable if the broker does not let it wait long enough.
        """
        group = self.group()
        self.names.let_wait(group)
        return group

    def topic(self, stem: str = "new") -> str:
        """Return a topic's name that nobody has used; if the topic is made, it is removed in the end."""
        return self.names.topic(stem)

    async def take_group(self, group_id: str) -> str:
        """Return a group id that cannot be made up, as "" is; the group is removed when this world is closed.

        It should have no members by then. Raises NotApplicable if there is such a group already: it is somebody's.
        """
        async with await self.client() as client:
            answer = await client.call(ListGroupsRequest())
        if group_id in (one.group_id for one in answer.groups):
            raise NotApplicable(f"there is a group {group_id!r} at this broker, which is somebody's")
        self.names.groups.append(group_id)
        self._closing.push_async_callback(self._give_back, group_id)
        return group_id

    def offered(self, cls: type[Message], versions: Iterable[int] | None = None) -> list[int]:
        """Return those versions of a request that the broker offers, in the order given, by default all of them.

        Raises NotApplicable if it offers none of them.
        """
        theirs = offered(self.offers, cls)
        both = [version for version in (theirs if versions is None else versions) if version in theirs]
        if not both:
            name = cls.__name__.removesuffix("Request")
            raise NotApplicable(f"of {name} only versions {theirs.lowest} to {theirs.highest} are advertised")
        return both

    def unserved(self, cls: type[Message]) -> list[int]:
        """Return versions of a request that the broker does not offer: all below, from -1 on, and two above.

        Raises NotApplicable if it does not offer the request at all.
        """
        offered(self.offers, cls)
        theirs = cls.VERSIONS if self.offers is None else self.offers[cls.API_KEY]
        return [*range(-1, theirs.lowest), theirs.highest + 1, theirs.highest + 2]

    async def client(self, client_id: str | None = "client") -> Client:
        """Open a connection; the world closes it in the end. Raises OSError."""
        began = trio.current_time()
        stream = await self._opener()
        if self.connected is not None:
            self.connected(trio.current_time() - began)
        line = None if self._transcript is None else self._transcript.connection()
        client = Client(stream, client_id, self.names, self.offers, line, patience=self.patience, heard=self.heard)
        self._closing.push_async_callback(client.aclose)
        return client

    async def member(self, group: str, *, client_id: str = "client", **what: Any) -> Member:
        """A member-to-be on a connection of its own."""
        return Member(await self.client(client_id), group, **what)

    async def aclose(self) -> None:
        """Close what is open."""
        await self._closing.aclose()

    async def _give_back(self, group_id: str) -> None:
        """Remove a group now, as the next rule may want to take it. What goes wrong, the cleaning in the end tells."""
        with contextlib.suppress(OSError, Closed, WireError, NotApplicable):
            async with await self.client() as client:
                await client.delete(group_id)

    # --- the situations that scenarios start from ---

    async def completing(
        self, group: str, *instances: str | None, version: int | None = None, **what: Any
    ) -> list[Member]:
        """So many members (static where an instance id is given) in CompletingRebalance, the leader first.

        They come together in the initial rebalance, so the generation is 1. Raises NotApplicable if there are several,
        and a new group does not wait for them at this broker.
        """
        if len(instances) > 1:
            self.names.let_wait(group)
        members = [await self.member(group, instance=instance, **what) for instance in instances]
        for member in members:
            await member.start_join(version=version)
        for member in members:
            await member.finish_join()
        return sorted(members, key=lambda member: not member.leads)

    async def stable(self, group: str, *instances: str | None, version: int | None = None, **what: Any) -> list[Member]:
        """The same, synced: each one's assignment is b"for " and its id."""
        members = await self.completing(group, *instances, version=version, **what)
        await settle(members)
        return members

    async def stable1(self, group: str, **what: Any) -> Member:
        """STABLE1: one dynamic member."""
        return (await self.stable(group, None, **what))[0]

    async def stable2(self, group: str, **what: Any) -> tuple[Member, Member]:
        """STABLE2: dynamic leader and follower."""
        first, second = await self.stable(group, None, None, **what)
        return first, second

    async def static2(self, group: str, **what: Any) -> tuple[Member, Member]:
        """STATIC2: static members, the leader first. Their instance ids are i1 (leader) and i2.

        Raises NotApplicable as `completing` does.
        """
        self.names.let_wait(group)
        leader = await self.member(group, instance="i1", **what)
        # A broker with several threads may read two connections in any order.
        assert await (await leader.start_join()).parked()
        follower = await self.member(group, instance="i2", **what)
        await follower.start_join()
        await leader.finish_join()
        await follower.finish_join()
        if not leader.leads:
            fail("the first to join does not lead the new group")
        await settle([leader, follower])
        return leader, follower

    async def preparing(self, group: str, **what: Any) -> tuple[Member, Member, Member]:
        """PREPARING: STABLE2, and a third member whose JoinGroup is parked."""
        leader, follower = await self.stable2(group, **what)
        third = await self.member(group, **what)
        await third.start_join()
        assert third.call is not None
        assert await third.call.parked()
        return leader, follower, third
