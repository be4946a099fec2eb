package pywasmtok;

import static pywasmtok.Requests.GSON;
import static pywasmtok.Requests.one;

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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The adapter of the conformance suite: requests on standard input, answers on standard output. */
public final class Adapter {
    private static final Map<String, String> CODES = Map.of(
            "unsupported", "unsupported",
            "limit_exceeded", "limit_exceeded",
            "out_of_memory", "limit_exceeded",
            "invalid_text", "invalid_text",
            "special_token_in_text", "invalid_text",
            "invalid_token", "invalid_token",
            "bad_argument", "bad_request",
            "internal", "internal",
            "host", "internal");

    private final JsonObject about = new JsonObject();
    private final Map<String, Operation> operations = new LinkedHashMap<>();

    private Adapter(byte[] wasm) throws NoSuchAlgorithmException {
        Core core = new Core(wasm);
        about.addProperty("name", "pywasmtok");
        about.addProperty("version", core.version());
        about.addProperty("language", "Java");
        about.addProperty("host", "Chicory, Java " + Runtime.version().feature());
        about.addProperty("variant", "baseline");
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(wasm);
        about.addProperty("core_sha256", HexFormat.of().formatHex(digest));
        Objects objects = new Objects();
        new Loading(core, objects, operations);
        new Encoding(objects, operations);
        new Decoding(objects, operations);
        new Running(objects, operations);
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
