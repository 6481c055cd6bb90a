package kcoord.driver;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DeletedRecords;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.json.JSONArray;
import org.json.JSONObject;

/** What an operator does with topics, their records and settings, and asks about the cluster. */
final class TopicCalls {
    private static final int NO_NODE = -1;

    private final Admin admin;

    TopicCalls(Admin admin) {
        this.admin = admin;
    }

    Object create(JSONObject command) throws ExecutionException, InterruptedException {
        Map<String, String> configs = new HashMap<>();
        if (!command.isNull("configs")) {
            JSONObject wanted = command.getJSONObject("configs");
            wanted.keySet().forEach(key -> configs.put(key, wanted.getString(key)));
        }
        Optional<Integer> partitions = Optional.of(command.getInt("partitions"));
        NewTopic topic = new NewTopic(command.getString("topic"), partitions, Optional.empty()).configs(configs);
        admin.createTopics(List.of(topic)).all().get();
        return JSONObject.NULL;
    }

    Object delete(JSONObject command) throws ExecutionException, InterruptedException {
        admin.deleteTopics(List.of(command.getString("topic"))).all().get();
        return JSONObject.NULL;
    }

    Object createPartitions(JSONObject command) throws ExecutionException, InterruptedException {
        NewPartitions count = NewPartitions.increaseTo(command.getInt("count"));
        admin.createPartitions(Map.of(command.getString("topic"), count)).all().get();
        return JSONObject.NULL;
    }

    Object describe(JSONObject command) throws ExecutionException, InterruptedException {
        return new JSONObject().put("partitions", partitions(command.getString("topic")).size());
    }

    Object describeConfigs(JSONObject command) throws ExecutionException, InterruptedException {
        String type = command.getString("type").toUpperCase(Locale.ROOT);
        ConfigResource which = new ConfigResource(ConfigResource.Type.valueOf(type), command.getString("name"));
        JSONObject values = new JSONObject();
        for (ConfigEntry each : admin.describeConfigs(List.of(which)).all().get().get(which).entries()) {
            values.put(each.name(), each.value() == null ? JSONObject.NULL : each.value());
        }
        return values;
    }

    Object alterConfigs(JSONObject command) throws ExecutionException, InterruptedException {
        Collection<AlterConfigOp> changes = new ArrayList<>();
        JSONObject wanted = command.getJSONObject("set");
        wanted.keySet().forEach(key -> changes.add(
                new AlterConfigOp(new ConfigEntry(key, wanted.getString(key)), AlterConfigOp.OpType.SET)));
        command.getJSONArray("delete").forEach(key -> changes.add(
                new AlterConfigOp(new ConfigEntry((String) key, ""), AlterConfigOp.OpType.DELETE)));
        ConfigResource which = new ConfigResource(ConfigResource.Type.TOPIC, command.getString("topic"));
        admin.incrementalAlterConfigs(Map.of(which, changes)).all().get();
        return JSONObject.NULL;
    }

    Object describeCluster() throws ExecutionException, InterruptedException {
        DescribeClusterResult found = admin.describeCluster();
        JSONArray brokers = new JSONArray();
        for (Node each : found.nodes().get()) {
            brokers.put(new JSONArray().put(each.id()).put(each.host()).put(each.port()));
        }
        Node controller = found.controller().get();
        return new JSONObject()
                .put("cluster_id", found.clusterId().get())
                .put("controller", controller == null ? NO_NODE : controller.id())
                .put("brokers", brokers);
    }

    Object offsets(JSONObject command) throws ExecutionException, InterruptedException {
        OffsetSpec spec = spec(command.getLong("timestamp"));
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        partitions(command.getString("topic")).forEach(each -> asked.put(each, spec));
        JSONArray offsets = new JSONArray();
        for (Map.Entry<TopicPartition, ListOffsetsResultInfo> each : admin.listOffsets(asked).all().get().entrySet()) {
            offsets.put(new JSONArray().put(each.getKey().partition()).put(each.getValue().offset()));
        }
        return offsets;
    }

    private static OffsetSpec spec(long timestamp) {
        if (timestamp == -1) {
            return OffsetSpec.latest();
        }
        return timestamp == -2 ? OffsetSpec.earliest() : OffsetSpec.forTimestamp(timestamp);
    }

    /** The low watermark of each partition afterwards. */
    Object deleteRecords(JSONObject command) throws ExecutionException, InterruptedException {
        Map<TopicPartition, RecordsToDelete> before = new HashMap<>();
        for (Object each : command.getJSONArray("offsets")) {
            JSONArray named = (JSONArray) each;
            before.put(new TopicPartition(command.getString("topic"), named.getInt(0)),
                    RecordsToDelete.beforeOffset(named.getLong(1)));
        }
        JSONArray marks = new JSONArray();
        Map<TopicPartition, KafkaFuture<DeletedRecords>> deleted = admin.deleteRecords(before).lowWatermarks();
        for (Map.Entry<TopicPartition, KafkaFuture<DeletedRecords>> each : deleted.entrySet()) {
            marks.put(new JSONArray().put(each.getKey().partition()).put(each.getValue().get().lowWatermark()));
        }
        return marks;
    }

    private List<TopicPartition> partitions(String topic) throws ExecutionException, InterruptedException {
        List<TopicPartition> found = new ArrayList<>();
        for (TopicPartitionInfo each : admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions()) {
            found.add(new TopicPartition(topic, each.partition()));
        }
        return found;
    }
}
