package pywasmtok;

import static pywasmtok.Requests.GSON;
import static pywasmtok.Requests.one;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Map;

/** What the numbers of the protocol stand for: tokenizers, streams and stops. */
final class Objects {
    private final Map<Integer, Object> objects = new HashMap<>();
    private int last;

    JsonObject keep(String kind, Object made) {
        objects.put(++last, made);
        return one(kind, GSON.toJsonTree(last));
    }

    <T> T find(JsonObject request, String kind, Class<T> type) {
        Object found = objects.get(request.get(kind).getAsInt());
        if (!type.isInstance(found)) {
            throw new BadRequest("there is no " + kind + " " + request.get(kind));
        }
        return type.cast(found);
    }

    JsonObject forget(JsonObject request, String kind) {
        find(request, kind, Object.class);
        objects.remove(request.get(kind).getAsInt());
        return new JsonObject();
    }
}
