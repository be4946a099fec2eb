package pywasmtok.adapter;

import static pywasmtok.adapter.Requests.GSON;
import static pywasmtok.adapter.Requests.decodeOptions;
import static pywasmtok.adapter.Requests.encodeOptions;
import static pywasmtok.adapter.Requests.ids;
import static pywasmtok.adapter.Requests.one;
import static pywasmtok.adapter.Requests.textOf;
import static pywasmtok.adapter.Requests.unsigned;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import pywasmtok.Core;
import pywasmtok.EncodeOptions;
import pywasmtok.Encoding;
import pywasmtok.LoadOptions;
import pywasmtok.Stop;
import pywasmtok.Stream;
import pywasmtok.Tokenizer;

/** The operations of the protocol, and what its numbers stand for: tokenizers, streams and stops. */
final class Operations {
    private interface Operation<T> {
        JsonObject done(JsonObject request, T of) throws IOException;
    }

    private final Core core;
    private final Map<Integer, Object> objects = new HashMap<>();
    private int last;
    private final Map<String, Operation<Void>> operations = new LinkedHashMap<>();

    Operations(Core core) {
        this.core = core;
        operations.put("load", (request, none) -> load(request));
        operations.put("unload", (request, none) -> forget(request, "handle"));
        add("info", Operations::info);
        add("encode", Operations::encode);
        add("encode_batch", Operations::encodeBatch);
        add("count", (request, tokenizer) -> one("count", GSON.toJsonTree(
                tokenizer.count(textOf(request.getAsJsonObject("input")), encodeOptions(request)))));
        add("segments", Operations::segments);
        add("decode", (request, tokenizer) -> one("text", GSON.toJsonTree(
                tokenizer.decode(ids(request.get("ids")), decodeOptions(request)))));
        add("decode_bytes", Operations::decodeBytes);
        add("decode_batch", Operations::decodeBatch);
        add("token_to_id", Operations::tokenToId);
        add("id_to_token", (request, tokenizer) -> one("token", GSON.toJsonTree(
                tokenizer.idToToken((int) request.get("id").getAsLong()))));
        add("stream_open", (request, tokenizer) -> keep("stream",
                tokenizer.stream(ids(request.get("prompt")), decodeOptions(request))));
        add("stream_push", "stream", Stream.class, (request, stream) ->
                one("text", GSON.toJsonTree(stream.push(ids(request.get("ids"))))));
        add("stream_flush", "stream", Stream.class, (request, stream) ->
                one("text", GSON.toJsonTree(stream.flush())));
        operations.put("stream_close", (request, none) -> forget(request, "stream"));
        add("stop_open", (request, tokenizer) -> keep("stop", tokenizer.stop(
                config(request.getAsJsonObject("config")), ids(request.get("prompt")), decodeOptions(request))));
        add("stop_push", "stop", Stop.class, (request, stop) ->
                step(stop, stop.push((int) request.get("id").getAsLong())));
        add("stop_flush", "stop", Stop.class, (request, stop) -> step(stop, stop.flush()));
        operations.put("stop_close", (request, none) -> forget(request, "stop"));
    }

    Set<String> names() {
        return operations.keySet();
    }

    JsonObject done(String name, JsonObject request) throws IOException {
        Operation<Void> operation = operations.get(name);
        if (operation == null) {
            throw new Requests.Bad("no operation " + name);
        }
        Requests.check(name, request);
        return operation.done(request, null);
    }

    private void add(String name, Operation<Tokenizer> operation) {
        add(name, "handle", Tokenizer.class, operation);
    }

    private <T> void add(String name, String key, Class<T> type, Operation<T> operation) {
        operations.put(name, (request, none) -> operation.done(request, find(request, key, type)));
    }

    private JsonObject keep(String key, Object made) {
        objects.put(++last, made);
        return one(key, GSON.toJsonTree(last));
    }

    private <T> T find(JsonObject request, String key, Class<T> type) {
        Object found = objects.get(request.get(key).getAsInt());
        if (!type.isInstance(found)) {
            throw new Requests.Bad("there is no " + key + " " + request.get(key));
        }
        return type.cast(found);
    }

    private JsonObject forget(JsonObject request, String key) {
        find(request, key, Object.class);
        objects.remove(request.get(key).getAsInt());
        return new JsonObject();
    }

    private JsonObject load(JsonObject request) throws IOException {
        Path path = Path.of(request.get("path").getAsString());
        byte[] file = Files.readAllBytes(path);
        JsonObject said = Requests.options(request);
        Map<String, Integer> specialTokens = null;
        if (said.has("special_tokens")) {
            specialTokens = new LinkedHashMap<>();
            for (Map.Entry<String, JsonElement> token : said.getAsJsonObject("special_tokens").entrySet()) {
                specialTokens.put(token.getKey(), token.getValue().getAsInt());
            }
        }
        String pattern = said.has("pattern") ? said.get("pattern").getAsString() : null;
        LoadOptions options = new LoadOptions(pattern, specialTokens, null, null, false);
        Tokenizer tokenizer;
        if (path.endsWith("vocab.json")) {
            byte[] merges = Files.readAllBytes(path.resolveSibling("merges.txt"));
            tokenizer = core.tokenizer(
                    List.of(new Core.Part("vocab.json", file), new Core.Part("merges.txt", merges)), options);
        } else {
            tokenizer = core.tokenizer(file, options);
        }
        JsonObject answer = keep("handle", tokenizer);
        answer.addProperty("served_by", "core");
        answer.addProperty("format", tokenizer.info().format());
        answer.addProperty("vocab_size", tokenizer.info().vocabSize());
        return answer;
    }

    private static JsonObject info(JsonObject request, Tokenizer tokenizer) {
        JsonObject roles = new JsonObject();
        for (Tokenizer.Role role : tokenizer.info().roles()) {
            JsonObject token = one("token", GSON.toJsonTree(role.token()));
            token.addProperty("id", Integer.toUnsignedLong(role.id()));
            roles.add(role.name(), token);
        }
        JsonObject answer = one("special_tokens", roles);
        answer.addProperty("vocab_size", tokenizer.info().vocabSize());
        return answer;
    }

    private static JsonObject encode(JsonObject request, Tokenizer tokenizer) {
        EncodeOptions options = encodeOptions(request);
        String text = textOf(request.getAsJsonObject("input"));
        Encoding encoding = request.has("pair")
                ? tokenizer.encodePair(text, textOf(request.getAsJsonObject("pair")), options)
                : tokenizer.encode(text, options);
        JsonObject answer = one("ids", unsigned(encoding.ids()));
        if (options.details()) {
            answer.add("offsets", GSON.toJsonTree(encoding.offsets()));
            answer.add("type_ids", unsigned(encoding.typeIds()));
            answer.add("attention_mask", GSON.toJsonTree(encoding.attentionMask()));
            answer.add("tokens", GSON.toJsonTree(encoding.tokens()));
        }
        return answer;
    }

    private static JsonObject encodeBatch(JsonObject request, Tokenizer tokenizer) {
        List<String> texts = new ArrayList<>();
        request.getAsJsonArray("inputs").forEach(input -> texts.add(textOf(input.getAsJsonObject())));
        JsonArray lists = new JsonArray();
        tokenizer.encodeBatch(texts, encodeOptions(request)).forEach(ids -> lists.add(unsigned(ids)));
        return one("ids", lists);
    }

    private static JsonObject segments(JsonObject request, Tokenizer tokenizer) {
        List<Tokenizer.Segment> segments = new ArrayList<>();
        for (JsonElement element : request.getAsJsonArray("segments")) {
            JsonObject segment = element.getAsJsonObject();
            segments.add(new Tokenizer.Segment(
                    segment.get("text").getAsString(), segment.get("trusted").getAsBoolean()));
        }
        return one("ids", unsigned(tokenizer.encodeSegments(segments, encodeOptions(request)).ids()));
    }

    private static JsonObject decodeBytes(JsonObject request, Tokenizer tokenizer) {
        byte[] data = tokenizer.decodeBytes(ids(request.get("ids")), decodeOptions(request));
        return one("b64", GSON.toJsonTree(Base64.getEncoder().encodeToString(data)));
    }

    private static JsonObject decodeBatch(JsonObject request, Tokenizer tokenizer) {
        List<int[]> lists = new ArrayList<>();
        request.getAsJsonArray("lists").forEach(list -> lists.add(ids(list)));
        return one("texts", GSON.toJsonTree(tokenizer.decodeBatch(lists, decodeOptions(request))));
    }

    private static JsonObject tokenToId(JsonObject request, Tokenizer tokenizer) {
        OptionalInt id = tokenizer.tokenToId(request.get("token").getAsString());
        return one("id", id.isPresent() ? GSON.toJsonTree(id.getAsInt()) : JsonNull.INSTANCE);
    }

    private static Stop.Config config(JsonObject said) {
        return new Stop.Config(
                list(said, "stop_tokens", JsonElement::getAsLong),
                list(said, "visible_stop_tokens", JsonElement::getAsLong),
                list(said, "stop_sequences", JsonElement::getAsString),
                list(said, "visible_stop_sequences", JsonElement::getAsString),
                list(said, "eos_tokens", JsonElement::getAsLong),
                said.has("ignore_eos") && said.get("ignore_eos").getAsBoolean(),
                said.has("min_tokens") ? said.get("min_tokens").getAsLong() : 0);
    }

    private static <T> List<T> list(JsonObject said, String key, Function<JsonElement, T> item) {
        return said.has(key) ? said.getAsJsonArray(key).asList().stream().map(item).toList() : List.of();
    }

    private static JsonObject step(Stop stop, String text) {
        boolean empty = text.isEmpty();
        boolean stopped = stop.match() != null;
        JsonObject answer = new JsonObject();
        answer.addProperty("kind", stopped ? empty ? "stopped" : "stopped_with_text" : empty ? "held" : "text");
        answer.addProperty("text", text);
        if (stopped) {
            Stop.Match match = stop.match();
            JsonObject found = new JsonObject();
            if (match.sequence() == null) {
                found.addProperty("kind", "token");
                found.addProperty("id", Integer.toUnsignedLong(match.id()));
            } else {
                found.addProperty("kind", "string");
                found.addProperty("string", match.sequence());
            }
            found.addProperty("visible", match.visible());
            found.addProperty("token_index", match.tokenIndex());
            found.addProperty("start", match.start());
            found.addProperty("end", match.end());
            answer.add("match", found);
        }
        return answer;
    }
}
