package kcoord.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.json.JSONObject;

/** What the process is to be. Each key is asked for by name; {@link #end} refuses what nobody asked for. */
final class Settings {
    private final JSONObject given;
    private final Set<String> unasked;

    Settings(String json) {
        given = new JSONObject(json);
        unasked = new TreeSet<>(given.keySet());
    }

    /** Whether the key is there, and not null. */
    boolean has(String key) {
        unasked.remove(key);
        return !given.isNull(key);
    }

    String text(String key) {
        unasked.remove(key);
        return given.getString(key);
    }

    int number(String key) {
        unasked.remove(key);
        return given.getInt(key);
    }

    boolean flag(String key) {
        unasked.remove(key);
        return given.getBoolean(key);
    }

    List<String> texts(String key) {
        unasked.remove(key);
        List<String> found = new ArrayList<>();
        given.getJSONArray(key).forEach(each -> found.add((String) each));
        return found;
    }

    /** To be called when everything has been asked for. */
    void end() {
        if (!unasked.isEmpty()) {
            throw new IllegalArgumentException("unknown keys: " + String.join(", ", unasked));
        }
    }
}
