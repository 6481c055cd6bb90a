"""What is served: one module an API key. A version that is not in this table does not exist for clients."""

from kcoord.apis import (
    api_versions,
    create_topics,
    delete_groups,
    delete_records,
    describe_groups,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
)
from kcoord.apis.api import Api

APIS: tuple[Api, ...] = (
    produce.API,
    fetch.API,
    list_offsets.API,
    metadata.API,
    offset_commit.API,
    offset_fetch.API,
    find_coordinator.API,
    join_group.API,
    heartbeat.API,
    leave_group.API,
    sync_group.API,
    describe_groups.API,
    list_groups.API,
    api_versions.API,
    create_topics.API,
    delete_records.API,
    init_producer_id.API,
    offset_for_leader_epoch.API,
    delete_groups.API,
    offset_delete.API,
)
"""Every API, in the order of its key."""

BY_KEY = {api.key: api for api in APIS}
