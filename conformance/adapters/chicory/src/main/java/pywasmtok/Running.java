package pywasmtok;

import static pywasmtok.Requests.GSON;
import static pywasmtok.Requests.one;
import static pywasmtok.Requests.ids;

import com.google.gson.JsonObject;
import java.util.Map;

/** Requests about streams and stops. */
final class Running {
    private record Stopping(Stop stop, JsonObject config) {}

    private final Objects objects;

    Running(Objects objects, Map<String, Operation> operations) {
        this.objects = objects;
        operations.put("stream_open", this::streamOpen);
        operations.put("stream_push", this::streamPush);
        operations.put("stream_flush", this::streamFlush);
        operations.put("stream_close", request -> objects.forget(request, "stream"));
        operations.put("stop_open", this::stopOpen);
        operations.put("stop_push", request -> stopStep(request, request.get("id").getAsInt()));
        operations.put("stop_flush", request -> stopStep(request, null));
        operations.put("stop_close", request -> objects.forget(request, "stop"));
    }

    private JsonObject streamOpen(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        int flags = Decoding.flags(request, tokenizer);
        return objects.keep("stream", tokenizer.stream(ids(request.get("prompt")), flags));
    }

    private JsonObject streamPush(JsonObject request) {
        Stream stream = objects.find(request, "stream", Stream.class);
        return one("text", GSON.toJsonTree(stream.push(ids(request.get("ids")))));
    }

    private JsonObject streamFlush(JsonObject request) {
        Stream stream = objects.find(request, "stream", Stream.class);
        return one("text", GSON.toJsonTree(stream.flush()));
    }

    private JsonObject stopOpen(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        JsonObject config = request.getAsJsonObject("config");
        int flags = Decoding.flags(request, tokenizer);
        int[] prompt = ids(request.get("prompt"));
        return objects.keep("stop", new Stopping(tokenizer.stop(GSON.toJson(config), prompt, flags), config));
    }

    private JsonObject stopStep(JsonObject request, Integer id) {
        Stopping stopping = objects.find(request, "stop", Stopping.class);
        Stop stop = stopping.stop();
        String kind = "stopped";
        String text = "";
        if (!stop.stopped()) {
            text = id == null ? stop.flush() : stop.push(id);
            boolean empty = text.isEmpty();
            kind = stop.stopped()
                    ? (empty ? "stopped" : "stopped_with_text")
                    : (empty ? "held" : "text");
        }
        JsonObject answer = one("kind", GSON.toJsonTree(kind));
        answer.addProperty("text", text);
        if (stop.stopped()) {
            answer.add("match", match(stop.report(), stopping.config()));
        }
        return answer;
    }

    private static JsonObject match(int[] report, JsonObject config) {
        boolean visible = report[3] == 1;
        JsonObject found = new JsonObject();
        if (report[1] == 1) {
            found.addProperty("kind", "token");
            found.addProperty("id", Integer.toUnsignedLong(report[2]));
        } else {
            String list = visible ? "visible_stop_sequences" : "stop_sequences";
            found.addProperty("kind", "string");
            found.add("string", config.getAsJsonArray(list).get(report[2]));
        }
        found.addProperty("visible", visible);
        found.addProperty("token_index", wide(report, 4));
        found.addProperty("start", wide(report, 6));
        found.addProperty("end", wide(report, 8));
        return found;
    }

    private static long wide(int[] report, int word) {
        return Integer.toUnsignedLong(report[word]) | (long) report[word + 1] << 32;
    }
}
