"""What the clients of a sequence have learned from answers, in terms that hold for both brokers.

Ids are symbols here (see `masking`), and an answer is learned from only if both brokers gave it. So what a client
does next is the same at both.
"""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from integration.fuzz.operations import ACTORS, Actor, Sequence
from wire.errors import ErrorCode
from wire.messages import (
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    SyncGroupResponse,
)

GROUP, SECOND_GROUP, UNKNOWN_GROUP = "<group>", "<second>", "<nobody's>"
"""Symbols of the groups of a sequence. Nobody joins the last one with success, but it may be committed to."""

LOST = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}
"""After these a client begins anew."""


class Stage(Enum):
    """How far a client is: what it does next is to join, to sync, to heartbeat."""

    OUTSIDE = auto()
    JOINED = auto()
    SYNCED = auto()


@dataclass
class Client:
    """A client; ids are symbols, "" is none."""

    number: int
    actor: Actor
    protocol_type: str
    stage: Stage = Stage.OUTSIDE
    id: str = ""
    former: str = ""
    handed_out: str = ""
    generation: int = -1
    protocol_name: str | None = None
    leader: str = ""
    listed: tuple[str, ...] = ()
    changes: int = 0
    """How often it changed what it lists."""

    @property
    def instance(self) -> str | None:
        """Its instance id, if it is static."""
        return f"i{self.number}" if self.actor.static else None

    def lose(self, *, entirely: bool) -> None:
        """Begin anew, with the same id unless it lost everything."""
        self.stage = Stage.OUTSIDE
        if entirely and self.id:
            self.former, self.id = self.id, ""

    def learn(self, answer: Any, *, own: bool) -> None:
        """Take in an answer; `own` tells whether it was asked for as who the client is."""
        error = ErrorCode(getattr(answer, "error_code", 0))
        if isinstance(answer, JoinGroupResponse):
            self._joined(answer, error)
        elif not own:
            return
        elif isinstance(answer, SyncGroupResponse) and error is ErrorCode.NONE:
            self.stage = Stage.SYNCED
        elif isinstance(answer, LeaveGroupResponse):
            if error is ErrorCode.NONE and all(one.error_code == 0 for one in answer.members):
                self.lose(entirely=True)
        elif isinstance(answer, (HeartbeatResponse, SyncGroupResponse)) and error is not ErrorCode.NONE:
            self.lose(entirely=error in LOST)

    def _joined(self, answer: JoinGroupResponse, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            if self.id and self.id != answer.member_id:
                self.former = self.id
            self.id, self.generation, self.leader = answer.member_id, answer.generation_id, answer.leader
            self.protocol_name = answer.protocol_name
            self.listed = tuple(one.member_id for one in answer.members)
            self.stage = Stage.JOINED
        elif error is ErrorCode.MEMBER_ID_REQUIRED:
            self.handed_out = answer.member_id
            if not self.id:
                self.id = answer.member_id
        else:
            self.lose(entirely=error in LOST)


@dataclass
class Actors:
    """Everybody in a sequence."""

    clients: list[Client]
    leaders: dict[str, str] = field(default_factory=dict)
    """Who led last, by group."""
    used: set[str] = field(default_factory=set)
    """The ids with which somebody has joined."""

    @classmethod
    def of(cls, sequence: Sequence) -> "Actors":
        """Return them as they are before anything happened."""
        return cls([Client(at, actor, sequence.protocol_type) for at, actor in enumerate(sequence.actors)])

    def after(self, client: Client) -> Client:
        """Return the next one, whose id and instance `client` may make use of."""
        return self.clients[(client.number + 1) % ACTORS]

    def handed_out(self, client: Client) -> str:
        """Return an id that was handed out: of another one, if there is one, and one that has not been used, if so."""
        others = self.clients[client.number + 1 :] + self.clients[: client.number + 1]
        known = [one.handed_out for one in others if one.handed_out]
        return next((each for each in known if each not in self.used), (known or [""])[0])

    def holder_after(self, client: Client) -> Client:
        """Return the next other one that is static and in the group, if there is one; else just the next one."""
        others = self.clients[client.number + 1 :] + self.clients[: client.number]
        return next((one for one in others if one.instance and one.id), self.after(client))
