package pywasmtok;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;

/** The adapter of the conformance suite: requests on standard input, answers on standard output. */
public final class Adapter {
    private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private static final Map<String, String> CODES = Map.of(
            "unsupported", "unsupported",
            "limit_exceeded", "limit_exceeded",
            "out_of_memory", "limit_exceeded",
            "invalid_text", "invalid_text",
            "invalid_token", "invalid_token",
            "bad_argument", "bad_request",
            "internal", "internal",
            "host", "internal");
    private static final Set<String> LENIENT = Set.of("tokenizer.json", "vocab+merges");

    private interface Operation {
        JsonObject done(JsonObject request) throws IOException;
    }

    private static final class BadRequest extends RuntimeException {
        private static final long serialVersionUID = 1;

        BadRequest(String message) {
            super(message);
        }
    }

    private record Stopping(Tokenizer.Stop stop, JsonObject config) {}

    private final Core core;
    private final JsonObject about = new JsonObject();
    private final Map<String, Operation> operations = new LinkedHashMap<>();
    private final Map<Integer, Object> objects = new HashMap<>();
    private int last;

    private Adapter(byte[] wasm) throws NoSuchAlgorithmException {
        core = new Core(wasm);
        about.addProperty("name", "pywasmtok");
        about.addProperty("version", core.version());
        about.addProperty("language", "Java");
        about.addProperty("host", "Chicory, Java " + Runtime.version().feature());
        about.addProperty("variant", "baseline");
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(wasm);
        about.addProperty("core_sha256", HexFormat.of().formatHex(digest));
        operations.put("load", this::load);
        operations.put("unload", request -> forget(request, "handle"));
        operations.put("info", this::info);
        operations.put("encode", this::encode);
        operations.put("encode_batch", this::encodeBatch);
        operations.put("decode", request -> one("text", GSON.toJsonTree(decoded(request))));
        operations.put("decode_bytes", this::decodeBytes);
        operations.put("decode_batch", this::decodeBatch);
        operations.put("token_to_id", this::tokenToId);
        operations.put("id_to_token", this::idToToken);
        operations.put("stream_open", this::streamOpen);
        operations.put("stream_push", this::streamPush);
        operations.put("stream_flush", this::streamFlush);
        operations.put("stream_close", request -> forget(request, "stream"));
        operations.put("stop_open", this::stopOpen);
        operations.put("stop_push", request -> stopStep(request, request.get("id").getAsInt()));
        operations.put("stop_flush", request -> stopStep(request, null));
        operations.put("stop_close", request -> forget(request, "stop"));
    }

    public static void main(String[] arguments) throws IOException, NoSuchAlgorithmException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        String named = System.getenv("PYWASMTOK_CORE");
        Path folder = Path.of(named == null ? "../../../pywasmtok/core" : named);
        Adapter adapter = new Adapter(Files.readAllBytes(folder.resolve("baseline.wasm")));
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.print(GSON.toJson(adapter.answer(JsonParser.parseString(line).getAsJsonObject())));
            out.print('\n');
            out.flush();
        }
    }

    private JsonObject answer(JsonObject request) {
        JsonObject answer;
        try {
            answer = done(request);
            answer.addProperty("ok", true);
        } catch (BadRequest error) {
            answer = failed("bad_request", error.getMessage(), "");
        } catch (TokenizerException error) {
            String code = CODES.getOrDefault(error.kind, "invalid_model");
            answer = failed(code, error.getMessage(), error.feature);
        } catch (RuntimeException | IOException | StackOverflowError error) {
            answer = failed("internal", error.toString(), "");
        }
        answer.add("seq", request.get("seq"));
        return answer;
    }

    private JsonObject done(JsonObject request) throws IOException {
        String name = request.get("op").getAsString();
        if (name.equals("hello")) {
            return hello();
        }
        Operation operation = operations.get(name);
        if (operation == null) {
            throw new BadRequest("no operation " + name);
        }
        return operation.done(request);
    }

    private JsonObject hello() {
        JsonObject answer = one("implementation", about);
        answer.addProperty("protocol", 1);
        answer.add("ops", GSON.toJsonTree(operations.keySet()));
        answer.add("formats", GSON.toJsonTree(List.of(
                "tokenizer.json", "tiktoken", "tekken", "sentencepiece", "gguf", "rwkv", "vocab+merges")));
        answer.add("features", GSON.toJsonTree(List.of(
                "offsets:char", "tokens", "pair", "special:none", "unknown:skip", "unknown:error",
                "unknown:replace", "byte_runs:eager", "stop:match", "any_id", "detect")));
        return answer;
    }

    private JsonObject load(JsonObject request) throws IOException {
        Path path = Path.of(request.get("path").getAsString());
        byte[] file = Files.readAllBytes(path);
        JsonObject said = new JsonObject();
        JsonObject options = options(request);
        for (String key : List.of("pattern", "special_tokens")) {
            if (options.has(key)) {
                said.add(key, options.get(key));
            }
        }
        if (path.endsWith("vocab.json")) {
            byte[] merges = Files.readAllBytes(path.resolveSibling("merges.txt"));
            Object[][] parts = {{"vocab.json", file.length}, {"merges.txt", merges.length}};
            said.add("parts", GSON.toJsonTree(parts));
            file = ByteBuffer.allocate(file.length + merges.length).put(file).put(merges).array();
        }
        Tokenizer tokenizer = core.tokenizer(file, said.size() == 0 ? null : GSON.toJson(said));
        JsonObject answer = keep("handle", tokenizer);
        answer.addProperty("served_by", "core");
        answer.add("format", tokenizer.info().get("format"));
        answer.add("vocab_size", tokenizer.info().get("vocab_size_with_added"));
        return answer;
    }

    private JsonObject info(JsonObject request) {
        JsonObject info = find(request, "handle", Tokenizer.class).info();
        JsonObject roles = new JsonObject();
        for (JsonElement element : info.getAsJsonArray("roles")) {
            JsonArray role = element.getAsJsonArray();
            JsonObject token = one("token", role.get(1));
            token.add("id", role.get(2));
            roles.add(role.get(0).getAsString(), token);
        }
        JsonObject answer = one("vocab_size", info.get("vocab_size_with_added"));
        answer.add("special_tokens", roles);
        return answer;
    }

    private JsonObject encode(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        int flags = encodeFlags(request);
        String text = textOf(request.getAsJsonObject("input"));
        Tokenizer.Encoding encoding = request.has("pair")
                ? tokenizer.encodePair(text, textOf(request.getAsJsonObject("pair")), flags)
                : tokenizer.encode(text, flags);
        JsonObject answer = one("ids", unsigned(encoding.ids()));
        if ((flags & Abi.ENCODE_DETAILS) != 0) {
            answer.add("offsets", GSON.toJsonTree(encoding.offsets()));
            answer.add("tokens", GSON.toJsonTree(encoding.tokens()));
        }
        return answer;
    }

    private JsonObject encodeBatch(JsonObject request) {
        List<String> texts = new ArrayList<>();
        for (JsonElement input : request.getAsJsonArray("inputs")) {
            texts.add(textOf(input.getAsJsonObject()));
        }
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        JsonArray lists = new JsonArray();
        tokenizer.encodeBatch(texts, encodeFlags(request)).forEach(ids -> lists.add(unsigned(ids)));
        return one("ids", lists);
    }

    private String decoded(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        return tokenizer.decode(ids(request.get("ids")), decodeFlags(request, tokenizer));
    }

    private JsonObject decodeBytes(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        int flags = decodeFlags(request, tokenizer) | Abi.DECODE_AS_BYTES;
        byte[] data = tokenizer.decodeBytes(ids(request.get("ids")), flags);
        return one("b64", GSON.toJsonTree(Base64.getEncoder().encodeToString(data)));
    }

    private JsonObject decodeBatch(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        List<int[]> lists = new ArrayList<>();
        request.getAsJsonArray("lists").forEach(list -> lists.add(ids(list)));
        int flags = decodeFlags(request, tokenizer);
        return one("texts", GSON.toJsonTree(tokenizer.decodeBatch(lists, flags)));
    }

    private JsonObject tokenToId(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        OptionalInt id = tokenizer.tokenToId(request.get("token").getAsString());
        return one("id", id.isPresent() ? GSON.toJsonTree(id.getAsInt()) : JsonNull.INSTANCE);
    }

    private JsonObject idToToken(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        return one("token", GSON.toJsonTree(tokenizer.idToToken(request.get("id").getAsInt())));
    }

    private JsonObject streamOpen(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        int flags = decodeFlags(request, tokenizer);
        return keep("stream", tokenizer.stream(ids(request.get("prompt")), flags));
    }

    private JsonObject streamPush(JsonObject request) {
        Tokenizer.Stream stream = find(request, "stream", Tokenizer.Stream.class);
        return one("text", GSON.toJsonTree(stream.push(ids(request.get("ids")))));
    }

    private JsonObject streamFlush(JsonObject request) {
        Tokenizer.Stream stream = find(request, "stream", Tokenizer.Stream.class);
        return one("text", GSON.toJsonTree(stream.flush()));
    }

    private JsonObject stopOpen(JsonObject request) {
        Tokenizer tokenizer = find(request, "handle", Tokenizer.class);
        JsonObject config = request.getAsJsonObject("config");
        int flags = decodeFlags(request, tokenizer);
        int[] prompt = ids(request.get("prompt"));
        return keep("stop", new Stopping(tokenizer.stop(GSON.toJson(config), prompt, flags), config));
    }

    private JsonObject stopStep(JsonObject request, Integer id) {
        Stopping stopping = find(request, "stop", Stopping.class);
        Tokenizer.Stop stop = stopping.stop();
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

    private JsonObject keep(String kind, Object made) {
        objects.put(++last, made);
        return one(kind, GSON.toJsonTree(last));
    }

    private <T> T find(JsonObject request, String kind, Class<T> type) {
        Object found = objects.get(request.get(kind).getAsInt());
        if (!type.isInstance(found)) {
            throw new BadRequest("there is no " + kind + " " + request.get(kind));
        }
        return type.cast(found);
    }

    private JsonObject forget(JsonObject request, String kind) {
        find(request, kind, Object.class);
        objects.remove(request.get(kind).getAsInt());
        return new JsonObject();
    }

    private static JsonObject one(String name, JsonElement value) {
        JsonObject made = new JsonObject();
        made.add(name, value);
        return made;
    }

    private static JsonObject failed(String code, String message, String feature) {
        JsonObject error = one("code", GSON.toJsonTree(code));
        error.addProperty("message", String.valueOf(message));
        if (!feature.isEmpty()) {
            error.addProperty("feature", feature);
        }
        JsonObject answer = one("error", error);
        answer.addProperty("ok", false);
        return answer;
    }

    private static JsonObject options(JsonObject request) {
        return request.has("options") ? request.getAsJsonObject("options") : new JsonObject();
    }

    private static String textOf(JsonObject input) {
        if (input.has("text")) {
            return input.get("text").getAsString();
        }
        byte[] data = Base64.getDecoder().decode(input.get("b64").getAsString());
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
        } catch (CharacterCodingException error) {
            throw new TokenizerException("invalid_text", "the bytes are no UTF-8");
        }
    }

    private static int[] ids(JsonElement list) {
        JsonArray numbers = list.getAsJsonArray();
        int[] found = new int[numbers.size()];
        for (int n = 0; n < found.length; n++) {
            found[n] = (int) numbers.get(n).getAsLong();
        }
        return found;
    }

    private static JsonArray unsigned(int[] numbers) {
        JsonArray made = new JsonArray(numbers.length);
        for (int number : numbers) {
            made.add(Integer.toUnsignedLong(number));
        }
        return made;
    }

    private static int encodeFlags(JsonObject request) {
        JsonObject options = options(request);
        int flags = 0;
        if (!options.has("add_special") || options.get("add_special").getAsBoolean()) {
            flags |= Abi.ENCODE_ADD_SPECIAL_TOKENS;
        }
        if (request.has("want") && request.getAsJsonArray("want").size() > 0) {
            flags |= Abi.ENCODE_DETAILS;
        }
        JsonElement special = options.get("special");
        if (special == null || special.equals(GSON.toJsonTree("all"))) {
            return flags;
        }
        if (!special.equals(GSON.toJsonTree("none"))) {
            throw new BadRequest("no policy " + special);
        }
        return flags | Abi.ENCODE_SPECIAL_IS_TEXT;
    }

    private static int decodeFlags(JsonObject request, Tokenizer tokenizer) {
        JsonObject options = options(request);
        int flags = 0;
        if (!options.has("skip_special") || options.get("skip_special").getAsBoolean()) {
            flags |= Abi.DECODE_SKIP_SPECIAL_TOKENS;
        }
        if (options.has("byte_runs") && options.get("byte_runs").getAsString().equals("eager")) {
            flags |= Abi.DECODE_EAGER_BYTE_RUNS;
        }
        // What the library of the format does with ids that do not exist.
        boolean lenient = LENIENT.contains(tokenizer.info().get("format").getAsString());
        String unknown = options.has("unknown")
                ? options.get("unknown").getAsString()
                : lenient ? "skip" : "error";
        return switch (unknown) {
            case "error" -> flags | Abi.DECODE_UNKNOWN_IS_ERROR;
            case "replace" -> flags | Abi.DECODE_UNKNOWN_IS_REPLACED;
            default -> flags;
        };
    }
}
