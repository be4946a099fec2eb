package pywasmtok;

import static pywasmtok.Requests.GSON;
import static pywasmtok.Requests.one;
import static pywasmtok.Requests.ids;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Requests that turn ids into text. */
final class Decoding {
    private static final Set<String> LENIENT = Set.of("tokenizer.json", "vocab+merges");

    private final Objects objects;

    Decoding(Objects objects, Map<String, Operation> operations) {
        this.objects = objects;
        operations.put("decode", request -> one("text", GSON.toJsonTree(decoded(request))));
        operations.put("decode_bytes", this::decodeBytes);
        operations.put("decode_batch", this::decodeBatch);
    }

    private String decoded(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        return tokenizer.decoder().decode(ids(request.get("ids")), flags(request, tokenizer));
    }

    private JsonObject decodeBytes(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        int flags = flags(request, tokenizer) | Abi.DECODE_AS_BYTES;
        byte[] data = tokenizer.decoder().decodeBytes(ids(request.get("ids")), flags);
        return one("b64", GSON.toJsonTree(Base64.getEncoder().encodeToString(data)));
    }

    private JsonObject decodeBatch(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        List<int[]> lists = new ArrayList<>();
        request.getAsJsonArray("lists").forEach(list -> lists.add(ids(list)));
        int flags = flags(request, tokenizer);
        return one("texts", GSON.toJsonTree(tokenizer.decoder().decodeBatch(lists, flags)));
    }

    static int flags(JsonObject request, Tokenizer tokenizer) {
        JsonObject options = Requests.options(request);
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
