package kcoord.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

/** A producer: sends so many records, waits for all of them. */
final class Sender implements Driver.Role {
    private final Properties properties;
    private final String topic;
    private final int count;
    private final int partitions;
    private final String prefix;

    Sender(Settings settings, Properties properties) {
        this.properties = properties;
        topic = settings.text("topic");
        count = settings.number("count");
        partitions = settings.number("partitions");
        prefix = settings.text("prefix");
        if (settings.has("acks")) {
            properties.put(ProducerConfig.ACKS_CONFIG, String.valueOf(settings.number("acks")));
        }
        if (settings.has("idempotence")) {
            properties.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, settings.flag("idempotence"));
        }
        if (settings.has("compression")) {
            properties.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, settings.text("compression"));
        }
    }

    @Override
    public void run(Lines lines) throws InterruptedException {
        StringSerializer text = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties, text, text)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                String number = String.valueOf(i);
                sent.add(producer.send(new ProducerRecord<>(topic, i % partitions, number, prefix + number)));
            }
            for (Future<RecordMetadata> each : sent) {
                each.get();
            }
        } catch (ExecutionException error) {
            throw asKafkaException(error.getCause());
        }
        lines.tell(Lines.event("produced").put("count", count));
    }

    private static KafkaException asKafkaException(Throwable cause) {
        return cause instanceof KafkaException kafka ? kafka : new KafkaException(cause);
    }
}
