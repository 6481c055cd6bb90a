"""What a group is waited for to be, and what to say when it did not become that."""

from dataclasses import dataclass

from kcoord.control import given
from kcoord.control.errors import Impossible
from kcoord.control.views import GroupView
from kcoord.core.states import GroupState
from kcoord.shown import shown

STATES = tuple(state.value for state in GroupState)
_WITHOUT_MEMBERS = (GroupState.DEAD.value, GroupState.EMPTY.value)
_WITH_MEMBERS = (GroupState.COMPLETING_REBALANCE.value, GroupState.STABLE.value)
"""A join phase may be one that nobody has joined yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a group is to be; what is None does not matter. A generation is reached with a later one, too."""

    state: str | None
    members: int | None
    generation: int | None
    synced: bool
    """Whether the group is to be Stable, and each member to have been given its assignment."""
    timeout: float

    def __post_init__(self) -> None:
        """Raise Impossible for what no group can be."""
        given.flag("synced", self.synced)
        if self.state is None and self.members is None and self.generation is None and not self.synced:
            raise Impossible("nothing to wait for was named: a state, a number of members, a generation, or synced")
        if self.state is not None and self.state not in STATES:
            raise Impossible(f"no group is ever in the state {shown(self.state)}: the states are {', '.join(STATES)}")
        for name, number in (("members", self.members), ("generation", self.generation)):
            if number is not None:
                given.number(name, number)
        if self.synced and self.state not in (None, GroupState.STABLE.value):
            raise Impossible(f"no member has synced in the state {self.state}: that is Stable")
        if self.synced and self.members == 0:
            raise Impossible("a group without members never syncs")
        if self.members and self.state in _WITHOUT_MEMBERS:
            raise Impossible(f"no group that is {self.state} has members")
        if self.members == 0 and self.state in _WITH_MEMBERS:
            raise Impossible(f"no group that is {self.state} is without members")
        if self.generation is not None and self.state == GroupState.DEAD.value:
            raise Impossible("a group that is Dead has no generation")
        given.seconds("timeout", self.timeout)

    def is_met_by(self, view: GroupView) -> bool:
        """Whether the group is all of it."""
        return (
            self.state in (None, view.state)
            and self.members in (None, len(view.members))
            and (self.generation is None or view.generation >= self.generation)
            and (not self.synced or (view.state == GroupState.STABLE.value and not view.waiting_for))
        )

    def __str__(self) -> str:
        """Return it as the end of "the group did not become"."""
        words = [] if self.state is None else [self.state]
        if self.members is not None:
            words.append(f"of {self.members} member{'' if self.members == 1 else 's'}")
        if self.generation is not None:
            words.append(f"of generation {self.generation} or later")
        if self.synced:
            words.append("and synced" if words else "synced")
        return " ".join(words)


def why_not(view: GroupView) -> str:
    """Return what the group waits for, in a sentence without its end."""
    names = {each.member_id: each.instance_id or each.client_id or each.member_id for each in view.members}
    waited_for = ", ".join(f"{names[each]} ({each})" for each in view.waiting_for)
    ends = "" if view.phase_ends_in is None else f"; the phase ends in {view.phase_ends_in:g} s"
    state = GroupState(view.state)
    if state is GroupState.DEAD:
        return "there is no such group"
    if state is GroupState.EMPTY:
        handed_out = len(view.handed_out)
        return "it has no members" + (
            f", but {handed_out} ids were handed out to who has not come back" * bool(handed_out)
        )
    if state is GroupState.PREPARING_REBALANCE:
        pending = f" and {len(view.handed_out)} ids that were handed out" if view.handed_out else ""
        return f"it waits for the JoinGroup of {waited_for or 'further members'}{pending}{ends}"
    if state is GroupState.COMPLETING_REBALANCE:
        return f"it waits for the SyncGroup of its leader {view.leader}; none has come of {waited_for}{ends}"
    lacking = f"; no SyncGroup has come of {waited_for}{ends}" if waited_for else ""
    return f"it is in generation {view.generation} with {len(view.members)} members{lacking}"


def group_text(view: GroupView) -> str:
    """Return how a group looks, in a few lines."""
    state = f"{view.state}, generation {view.generation}, protocol {view.protocol}"
    lines = [f"group {view.group_id}: {state}, {len(view.members)} members"]
    for each in view.members:
        static = f" as {each.instance_id}" if each.instance_id is not None else ""
        leads = ", leads" if each.leads else ""
        waits = f", waits in {each.waits_in}" if each.waits_in else ""
        heard = "" if each.heartbeat_age is None else f", heard of {each.heartbeat_age:.3f} s ago"
        given = ", ".join(
            f"{topic}-{partition}" for topic, partitions in (each.assignment or {}).items() for partition in partitions
        )
        lines.append(
            f"  {each.member_id}{static}, client {each.client_id} at {each.host}{leads}{waits}{heard}: {given}"
        )
    return "\n".join(lines)
