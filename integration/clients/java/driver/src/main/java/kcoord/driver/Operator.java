package kcoord.driver;

import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.json.JSONException;
import org.json.JSONObject;

/** An operator: carries out one command after the other. */
final class Operator implements Driver.Role {
    private final Properties properties;

    Operator(Properties properties) {
        this.properties = properties;
    }

    @Override
    public void run(Lines lines) throws InterruptedException {
        BlockingQueue<JSONObject> commands = lines.commands();
        try (Admin admin = Admin.create(properties)) {
            GroupCalls groups = new GroupCalls(admin);
            TopicCalls topics = new TopicCalls(admin);
            JSONObject command = commands.take();
            while (!command.getString("do").equals("close")) {
                lines.tell(answer(groups, topics, command).put("do", command.getString("do")));
                command = commands.take();
            }
        }
    }

    private static JSONObject answer(GroupCalls groups, TopicCalls topics, JSONObject command)
            throws InterruptedException {
        try {
            return switch (command.getString("do")) {
                case "list_groups" -> result(groups.list());
                case "describe_group" -> result(groups.describe(command));
                case "list_offsets" -> result(groups.offsets(command));
                case "alter_offsets" -> result(groups.alterOffsets(command));
                case "delete_offsets" -> result(groups.deleteOffsets(command));
                case "delete_group" -> result(groups.delete(command));
                case "remove_members" -> result(groups.removeMembers(command));
                case "create_topic" -> result(topics.create(command));
                case "delete_topic" -> result(topics.delete(command));
                case "create_partitions" -> result(topics.createPartitions(command));
                case "describe_topic" -> result(topics.describe(command));
                case "describe_configs" -> result(topics.describeConfigs(command));
                case "alter_configs" -> result(topics.alterConfigs(command));
                case "describe_cluster" -> result(topics.describeCluster());
                case "topic_offsets" -> result(topics.offsets(command));
                case "delete_records" -> result(topics.deleteRecords(command));
                default -> Lines.event("unsupported");
            };
        } catch (ExecutionException error) {
            return Lines.error(error.getCause());
        } catch (KafkaException | JSONException error) {
            return Lines.error(error);
        }
    }

    private static JSONObject result(Object value) {
        return Lines.event("result").put("value", value);
    }
}
