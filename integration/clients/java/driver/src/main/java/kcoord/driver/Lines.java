package kcoord.driver;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.Comparator;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.protocol.Errors;
import org.json.JSONArray;
import org.json.JSONObject;

/** Events go out and commands come in, a line of JSON each. */
final class Lines {
    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, UTF_8);
    private final BlockingQueue<JSONObject> commands = new LinkedBlockingQueue<>();

    static JSONObject event(String name) {
        return new JSONObject().put("event", name);
    }

    synchronized void tell(JSONObject event) {
        out.println(event);
        out.flush();
    }

    void tellPartitions(String event, Collection<TopicPartition> partitions) {
        JSONArray named = new JSONArray();
        partitions.stream()
                .sorted(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition))
                .forEach(each -> named.put(new JSONArray().put(each.topic()).put(each.partition())));
        tell(event(event).put("partitions", named));
    }

    /** An error event, to be completed: Kafka's number of the error is null where the client itself found it. */
    static JSONObject error(Throwable error) {
        Errors kafka = Errors.forException(error);
        boolean known = kafka != Errors.UNKNOWN_SERVER_ERROR || error instanceof UnknownServerException;
        return event("error").put("message", error.toString()).put("code", known ? kafka.code() : JSONObject.NULL);
    }

    /** Begins to read the commands; the end of them is a command to close. */
    BlockingQueue<JSONObject> commands() {
        Thread reader = new Thread(this::read, "commands");
        reader.setDaemon(true);
        reader.start();
        return commands;
    }

    private void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            in.lines().map(JSONObject::new).forEach(commands::add);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } finally {
            commands.add(new JSONObject().put("do", "close"));
        }
    }
}
