"""DescribeGroups (key 15), ListGroups (key 16) and DeleteGroups (key 42): what operators ask for."""

from collections.abc import Iterable

from kcoord.core.batches import too_large
from kcoord.core.behaviour import LATEST, Behaviour, StateNames
from kcoord.core.group import Group
from kcoord.core.notes import GroupDeleted
from kcoord.core.outcome import Context, Record
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from kcoord.core.tables import group_tombstone, offset_tombstone
from wire.errors import ErrorCode
from wire.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

NOT_FOUND_SINCE = 6
"""From this version of DescribeGroups on an unknown group is an error; before, it is in the state Dead (KIP-1043)."""
GROUP_TYPE = "classic"
JAVA_BLANKS = "".join(map(chr, range(0x21)))


def describe_groups(step: Step, token: object, context: Context, request: DescribeGroupsRequest) -> None:
    """Describe each group named, as often as it is named."""
    described = [describe(step.tables.seen(group_id), group_id, context) for group_id in request.groups]
    if request.include_authorized_operations:
        for one in described:
            if one.error_code == ErrorCode.NONE:
                one.authorized_operations = step.behaviour.group_operations
    step.reply(token, DescribeGroupsResponse(groups=described))


def describe(group: Group | None, group_id: str, context: Context) -> DescribedGroup:
    """Describe one group. Metadata is shown in Stable only; ids that are only handed out are not members."""
    if group is None:
        if context.version < NOT_FOUND_SINCE:
            return DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
        return DescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
            group_id=group_id,
            group_state=GroupState.DEAD.value,
        )
    stable = group.state is GroupState.STABLE
    protocol = group.protocol_name if stable else None
    told = stable or not group.behaviour.assignments_in_stable_only
    return DescribedGroup(
        group_id=group_id,
        group_state=state_name(group.state, group.behaviour),
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol),
                member_assignment=member.assignment if told else b"",
            )
            for member in group.members.values()
        ],
    )


def list_groups(step: Step, token: object, _context: Context, request: ListGroupsRequest) -> None:
    """List the groups of this partition that pass both filters; an empty filter lets everything pass."""
    states = known_states(request.states_filter, step.behaviour)
    types = known_types(request.types_filter)
    listed = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=state_name(group.state, group.behaviour),
            group_type=GROUP_TYPE,
        )
        for group in step.tables.groups.values()
        if group.group_id not in step.tables.unseen
        and (not request.states_filter or group.state.value in states)
        and (not request.types_filter or GROUP_TYPE in types)
    ]
    step.reply(token, ListGroupsResponse(error_code=ErrorCode.NONE, groups=listed))


def state_name(state: GroupState, behaviour: Behaviour) -> str:
    """Return what a state is called."""
    return behaviour.completing_rebalance if state is GroupState.COMPLETING_REBALANCE else state.value


def known_states(names: Iterable[str], behaviour: Behaviour = LATEST) -> set[str]:
    """Return the states that a filter names (KIP-518), in Kafka's spelling.

    They are compared without regard to case and without the blanks around them: what Java's `trim` takes for blanks.
    Older releases were stricter.
    """
    if behaviour.state_names is StateNames.EXACTLY:
        return set(names) & {state.value for state in GroupState}
    trimmed = behaviour.state_names is StateNames.ANY_CASE_TRIMMED
    named = {(name.strip(JAVA_BLANKS) if trimmed else name).lower() for name in names}
    return {state.value for state in GroupState if state.value.lower() in named}


def known_types(names: Iterable[str]) -> set[str]:
    """Return the group types that a filter names, of which there is one here; case does not matter (KIP-848)."""
    return {name.lower() for name in names} & {GROUP_TYPE}


def delete_groups(step: Step, token: object, _context: Context, request: DeleteGroupsRequest) -> None:
    """Delete each group named that has no members (KIP-229); a name that comes twice counts once.

    All those go or none, with their offsets, so there is a limit to how many these may be. Beyond it every group of
    the request is told so, whether it is there or not (`GroupCoordinatorService.handleDeleteGroups`).
    """
    errors = {group_id: check_group(step, group_id) for group_id in request.groups_names}
    gone = [step.tables.groups[group_id] for group_id, error in errors.items() if error is ErrorCode.NONE]
    tombstones = [
        tombstone for group in gone for tombstone in (*offset_tombstones(step, group), group_tombstone(group.group_id))
    ]
    if step.behaviour.deletes_as_a_whole and too_large(step.tables.settings, tombstones):
        errors = dict.fromkeys(errors, ErrorCode.UNKNOWN_SERVER_ERROR)
    else:
        for group in gone:
            delete_group(step, group, "asked for")
    results = [DeletableGroupResult(group_id=group_id, error_code=error) for group_id, error in errors.items()]
    step.reply(token, DeleteGroupsResponse(results=results))


def check_group(step: Step, group_id: str) -> ErrorCode:
    """Return why a group cannot be deleted, or NONE. Ids that are only handed out do not hold it."""
    group = step.tables.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def offset_tombstones(step: Step, group: Group) -> list[Record]:
    """Return what the offsets of a group are deleted with."""
    stored = step.tables.offsets.get(group.group_id, {})
    return [offset_tombstone(group.group_id, topic, partition) for topic, partition in stored]


def delete_group(step: Step, group: Group, why: str) -> None:
    """Delete one group, its offsets first."""
    for tombstone in offset_tombstones(step, group):
        step.write(tombstone)
    remove_group(step, group, why)


def remove_group(step: Step, group: Group, why: str) -> None:
    """Let an Empty group be no more; what it had handed out is worth nothing then.

    Before 4.0 a group that never had a generation was not stored, and no record said that it is gone
    (Apache Kafka 3.9 `GroupMetadataManager.cleanupGroupMetadata`).
    """
    for member_id in group.pending_joins:
        step.cancel_session(group, member_id)
    if step.behaviour.stores_from_first_generation and not group.generation:
        del step.tables.groups[group.group_id]
    else:
        step.write(group_tombstone(group.group_id))
    group.enter(GroupState.DEAD, step.now.wall_ms)
    step.note(GroupDeleted(group=group.group_id, why=why))
