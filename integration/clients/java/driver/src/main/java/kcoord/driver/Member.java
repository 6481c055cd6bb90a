package kcoord.driver;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.json.JSONArray;
import org.json.JSONObject;

/** A consumer: polls, reports, commits what it reported, until it is told to close. */
final class Member implements Driver.Role, ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final Map<String, Class<?>> ASSIGNORS = Map.of(
            RangeAssignor.RANGE_ASSIGNOR_NAME, RangeAssignor.class,
            RoundRobinAssignor.ROUNDROBIN_ASSIGNOR_NAME, RoundRobinAssignor.class,
            StickyAssignor.STICKY_ASSIGNOR_NAME, StickyAssignor.class,
            CooperativeStickyAssignor.COOPERATIVE_STICKY_ASSIGNOR_NAME, CooperativeStickyAssignor.class);

    private final Properties properties;
    private final List<String> topics;
    private final Pattern pattern;
    private final Map<TopicPartition, OffsetAndMetadata> uncommitted = new HashMap<>();
    private KafkaConsumer<String, String> consumer;
    private Lines lines;

    Member(Settings settings, Properties properties) {
        this.properties = properties;
        properties.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
        properties.put(ConsumerConfig.GROUP_ID_CONFIG, settings.text("group"));
        if (settings.has("instance_id")) {
            properties.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, settings.text("instance_id"));
        }
        List<Class<?>> assignors = settings.texts("assignors").stream().<Class<?>>map(Member::assignor).toList();
        properties.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, assignors);
        properties.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, settings.number("session_timeout_ms"));
        properties.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, settings.number("heartbeat_interval_ms"));
        properties.put(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, settings.number("rebalance_timeout_ms"));
        properties.put(ConsumerConfig.METADATA_MAX_AGE_CONFIG, settings.number("metadata_max_age_ms"));
        properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        pattern = settings.has("pattern") ? Pattern.compile(settings.text("pattern")) : null;
        topics = settings.has("topics") ? settings.texts("topics") : List.of();
        if (topics.isEmpty() == (pattern == null)) {
            throw new IllegalArgumentException("either topics or a pattern is needed");
        }
    }

    private static Class<?> assignor(String name) {
        if (!ASSIGNORS.containsKey(name)) {
            throw new IllegalArgumentException("unknown assignor: " + name);
        }
        return ASSIGNORS.get(name);
    }

    @Override
    public void run(Lines toTell) {
        lines = toTell;
        BlockingQueue<JSONObject> commands = lines.commands();
        StringDeserializer text = new StringDeserializer();
        try (KafkaConsumer<String, String> opened = new KafkaConsumer<>(properties, text, text)) {
            consumer = opened;
            if (pattern != null) {
                consumer.subscribe(pattern, this);
            } else {
                consumer.subscribe(topics, this);
            }
            while (!toldToClose(commands.poll())) {
                step();
            }
        }
    }

    /** Polls, reports and commits. What the client throws is told, and polled on after: it may be over. */
    private void step() {
        try {
            report(consumer.poll(POLL));
            commit();
        } catch (InterruptException | WakeupException toEnd) {
            throw toEnd;
        } catch (KafkaException error) {
            lines.tell(Lines.error(error).put("fatal", false));
            LockSupport.parkNanos(POLL.toNanos());
        }
    }

    private static boolean toldToClose(JSONObject command) {
        if (command != null && !command.getString("do").equals("close")) {
            throw new IllegalArgumentException("a consumer knows no command but close: " + command);
        }
        return command != null;
    }

    private void report(ConsumerRecords<String, String> polled) {
        if (!polled.isEmpty()) {
            JSONArray records = new JSONArray();
            polled.forEach(each -> records.put(new JSONArray().put(each.topic()).put(each.partition())
                    .put(each.offset()).put(each.value() == null ? JSONObject.NULL : each.value())));
            lines.tell(Lines.event("records").put("records", records));
        }
        uncommitted.putAll(polled.nextOffsets());
    }

    /** Commits what was reported. What a rebalance does not let pass is kept: the next poll is part of it. */
    private void commit() {
        if (uncommitted.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(uncommitted);
        } catch (RebalanceInProgressException notNow) {
            return;
        } catch (CommitFailedException error) {
            // The member is out of its group; that its partitions are lost is said to the listener by the next poll.
            lines.tell(Lines.error(error).put("fatal", false));
            uncommitted.clear();
            return;
        }
        JSONArray offsets = new JSONArray();
        uncommitted.forEach((partition, behind) -> offsets.put(new JSONArray().put(partition.topic())
                .put(partition.partition()).put(behind.offset())));
        uncommitted.clear();
        lines.tell(Lines.event("committed").put("offsets", offsets));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        lines.tellPartitions("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        commit();
        uncommitted.keySet().removeAll(partitions);
        lines.tellPartitions("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        uncommitted.keySet().removeAll(partitions);
        lines.tellPartitions("lost", partitions);
    }
}
