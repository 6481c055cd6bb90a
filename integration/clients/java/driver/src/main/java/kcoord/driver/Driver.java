package kcoord.driver;

import java.util.Properties;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/** A consumer, a producer or an operator, as the only argument says. */
public final class Driver {
    private Driver() {
    }

    /** What each of them does, from its start to its orderly end. */
    interface Role {
        void run(Lines lines) throws InterruptedException;
    }

    public static void main(String[] arguments) throws InterruptedException {
        if (arguments.length != 1) {
            throw new IllegalArgumentException("one argument is needed, a JSON object");
        }
        Settings settings = new Settings(arguments[0]);
        Properties common = new Properties();
        common.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, settings.text("bootstrap"));
        common.put(CommonClientConfigs.CLIENT_ID_CONFIG, settings.text("client_id"));
        String name = settings.text("role");
        Role role = switch (name) {
            case "consumer" -> new Member(settings, common);
            case "producer" -> new Sender(settings, common);
            case "admin" -> new Operator(common);
            default -> throw new IllegalArgumentException("unknown role: " + name);
        };
        settings.end();

        Lines lines = new Lines();
        lines.tell(Lines.event("ready").put("client", "java").put("version", AppInfoParser.getVersion()));
        try {
            role.run(lines);
        } catch (KafkaException error) {
            lines.tell(Lines.error(error).put("fatal", true));
            error.printStackTrace();
            System.exit(1);
        }
        lines.tell(Lines.event("closed"));
    }
}
