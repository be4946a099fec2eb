package pywasmtok.adapter;

import static pywasmtok.adapter.Requests.GSON;
import static pywasmtok.adapter.Requests.one;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import pywasmtok.Core;
import pywasmtok.Kind;
import pywasmtok.TokenizerException;

/** The adapter of the conformance suite: requests on standard input, answers on standard output. */
public final class Adapter {
    /** The codes of errors that are not `invalid_model`. */
    private static final Map<Kind, String> CODES = Map.ofEntries(
            Map.entry(Kind.UNSUPPORTED, "unsupported"),
            Map.entry(Kind.LIMIT_EXCEEDED, "limit_exceeded"),
            Map.entry(Kind.OUT_OF_MEMORY, "limit_exceeded"),
            Map.entry(Kind.INVALID_TEXT, "invalid_text"),
            Map.entry(Kind.SPECIAL_TOKEN_IN_TEXT, "invalid_text"),
            Map.entry(Kind.INVALID_TOKEN, "invalid_token"),
            Map.entry(Kind.BAD_ARGUMENT, "bad_request"),
            Map.entry(Kind.INTERNAL, "internal"),
            Map.entry(Kind.HOST, "internal"),
            Map.entry(Kind.TRAP, "internal"));

    private final JsonObject about = new JsonObject();
    private final Operations operations;

    private Adapter(byte[] wasm) throws NoSuchAlgorithmException {
        Core core = new Core(wasm);
        about.addProperty("name", "pywasmtok");
        about.addProperty("version", core.version());
        about.addProperty("language", "Java");
        about.addProperty("host", "Chicory, Java " + Runtime.version().feature());
        about.addProperty("variant", "baseline");
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(wasm);
        about.addProperty("core_sha256", HexFormat.of().formatHex(digest));
        operations = new Operations(core);
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
        } catch (Requests.Bad error) {
            answer = failed(error.code, error.getMessage(), "");
        } catch (TokenizerException error) {
            String code = CODES.getOrDefault(error.kind, "invalid_model");
            answer = failed(code, error.getMessage(), error.feature);
        } catch (RuntimeException | IOException error) {
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
        return operations.done(name, request);
    }

    private JsonObject hello() {
        JsonObject answer = one("implementation", about);
        answer.addProperty("protocol", 1);
        answer.add("ops", GSON.toJsonTree(operations.names()));
        answer.add("formats", GSON.toJsonTree(List.of(
                "tokenizer.json", "tiktoken", "tekken", "sentencepiece", "gguf", "rwkv", "vocab+merges")));
        answer.add("features", GSON.toJsonTree(List.of(
                "offsets:char", "tokens", "type_ids", "attention_mask", "pair", "special:none", "special:raise", "special:set",
                "unknown:skip", "unknown:error", "unknown:replace", "byte_runs:eager", "stop:match", "any_id", "detect")));
        return answer;
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
}
