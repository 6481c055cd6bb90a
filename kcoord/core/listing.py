"""DescribeGroups (key 15), ListGroups (key 16) and DeleteGroups (key 42): what operators ask for."""

from collections.abc import Iterable

from kcoord.core.group import Group
from kcoord.core.notes import GroupDeleted
from kcoord.core.outcome import Context
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
GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""What may be done with a group where nothing is forbidden: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS
(Apache Kafka `AclEntry.supportedOperations`)."""
JAVA_BLANKS = "".join(map(chr, range(0x21)))


def describe_groups(step: Step, token: object, context: Context, request: DescribeGroupsRequest) -> None:
    """Describe each group named, as often as it is named."""
    described = [describe(step.tables.seen(group_id), group_id, context) for group_id in request.groups]
    if request.include_authorized_operations:
        for one in described:
            if one.error_code == ErrorCode.NONE:
                one.authorized_operations = GROUP_OPERATIONS
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
    protocol = group.protocol_name if group.state is GroupState.STABLE else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol),
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


def list_groups(step: Step, token: object, _context: Context, request: ListGroupsRequest) -> None:
    """List the groups of this partition that pass both filters; an empty filter lets everything pass."""
    states, types = known_states(request.states_filter), known_types(request.types_filter)
    listed = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=GROUP_TYPE,
        )
        for group in step.tables.groups.values()
        if group.group_id not in step.tables.unseen
        and (not request.states_filter or group.state.value.lower() in states)
        and (not request.types_filter or GROUP_TYPE in types)
    ]
    step.reply(token, ListGroupsResponse(error_code=ErrorCode.NONE, groups=listed))


def known_states(names: Iterable[str]) -> set[str]:
    """Return the states that a filter names, in lower case (KIP-518).

    They are compared without regard to case and without the blanks around them: what Java's `trim` takes for blanks.
    """
    return {name.strip(JAVA_BLANKS).lower() for name in names} & {state.value.lower() for state in GroupState}


def known_types(names: Iterable[str]) -> set[str]:
    """Return the group types that a filter names, of which there is one here; case does not matter (KIP-848)."""
    return {name.lower() for name in names} & {GROUP_TYPE}


def delete_groups(step: Step, token: object, _context: Context, request: DeleteGroupsRequest) -> None:
    """Delete each group named that has no members (KIP-229); a name that comes twice counts once."""
    results = [
        DeletableGroupResult(group_id=group_id, error_code=delete_group(step, group_id))
        for group_id in dict.fromkeys(request.groups_names)
    ]
    step.reply(token, DeleteGroupsResponse(results=results))


def delete_group(step: Step, group_id: str) -> ErrorCode:
    """Delete one group, its offsets first. Ids that are only handed out do not hold it."""
    group = step.tables.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return ErrorCode.NON_EMPTY_GROUP
    for topic, partition in list(step.tables.offsets.get(group_id, {})):
        step.write(offset_tombstone(group_id, topic, partition))
    remove_group(step, group, "asked for")
    return ErrorCode.NONE


def remove_group(step: Step, group: Group, why: str) -> None:
    """Let an Empty group be no more; what it had handed out is worth nothing then."""
    for member_id in group.pending_joins:
        step.cancel_session(group, member_id)
    step.write(group_tombstone(group.group_id))
    group.enter(GroupState.DEAD, step.now.wall_ms)
    step.note(GroupDeleted(group=group.group_id, why=why))
