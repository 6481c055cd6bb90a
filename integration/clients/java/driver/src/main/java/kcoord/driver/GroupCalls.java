package kcoord.driver;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ClassicGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.json.JSONArray;
import org.json.JSONObject;

/** What an operator does with groups. */
final class GroupCalls {
    private final Admin admin;

    GroupCalls(Admin admin) {
        this.admin = admin;
    }

    Object list() throws ExecutionException, InterruptedException {
        JSONArray groups = new JSONArray();
        for (GroupListing each : admin.listGroups().all().get()) {
            groups.put(new JSONArray().put(each.groupId()).put(each.protocol()));
        }
        return groups;
    }

    /** The client keeps the bytes of the members' metadata and assignments to itself. */
    Object describe(JSONObject command) throws ExecutionException, InterruptedException {
        String group = command.getString("group");
        ClassicGroupDescription found = admin.describeClassicGroups(List.of(group)).all().get().get(group);
        JSONArray members = new JSONArray();
        for (MemberDescription each : found.members()) {
            members.put(new JSONObject()
                    .put("member_id", each.consumerId())
                    .put("client_id", each.clientId())
                    .put("host", each.host())
                    .put("instance_id", each.groupInstanceId().<Object>map(id -> id).orElse(JSONObject.NULL))
                    .put("metadata", JSONObject.NULL)
                    .put("assignment", JSONObject.NULL));
        }
        return new JSONObject()
                .put("state", found.state().toString())
                .put("protocol_type", found.protocol())
                .put("protocol", found.protocolData())
                .put("members", members);
    }

    Object offsets(JSONObject command) throws ExecutionException, InterruptedException {
        String group = command.getString("group");
        JSONArray offsets = new JSONArray();
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata(group).get().forEach((partition, offset) ->
                offsets.put(new JSONArray().put(partition.topic()).put(partition.partition()).put(offset.offset())));
        return offsets;
    }

    Object alterOffsets(JSONObject command) throws ExecutionException, InterruptedException {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (Object each : command.getJSONArray("offsets")) {
            JSONArray named = (JSONArray) each;
            offsets.put(partition(named), new OffsetAndMetadata(named.getLong(2)));
        }
        admin.alterConsumerGroupOffsets(command.getString("group"), offsets).all().get();
        return JSONObject.NULL;
    }

    Object deleteOffsets(JSONObject command) throws ExecutionException, InterruptedException {
        Set<TopicPartition> partitions = new HashSet<>();
        command.getJSONArray("partitions").forEach(each -> partitions.add(partition((JSONArray) each)));
        admin.deleteConsumerGroupOffsets(command.getString("group"), partitions).all().get();
        return JSONObject.NULL;
    }

    Object delete(JSONObject command) throws ExecutionException, InterruptedException {
        admin.deleteConsumerGroups(List.of(command.getString("group"))).all().get();
        return JSONObject.NULL;
    }

    /** Without instance ids, all members are removed: static ones and others. */
    Object removeMembers(JSONObject command) throws ExecutionException, InterruptedException {
        RemoveMembersFromConsumerGroupOptions which = new RemoveMembersFromConsumerGroupOptions();
        if (!command.isNull("instance_ids")) {
            Set<MemberToRemove> members = new HashSet<>();
            command.getJSONArray("instance_ids").forEach(each -> members.add(new MemberToRemove((String) each)));
            which = new RemoveMembersFromConsumerGroupOptions(members);
        }
        admin.removeMembersFromConsumerGroup(command.getString("group"), which).all().get();
        return JSONObject.NULL;
    }

    private static TopicPartition partition(JSONArray named) {
        return new TopicPartition(named.getString(0), named.getInt(1));
    }
}
