package pywasmtok.adapter;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import pywasmtok.DecodeOptions;
import pywasmtok.EncodeOptions;
import pywasmtok.EncodeOptions.Special;

/** What requests say, and how answers are put together. */
final class Requests {
    static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    /** A request that is refused before the host sees it. */
    static final class Bad extends RuntimeException {
        private static final long serialVersionUID = 1;

        final String code;

        Bad(String code, String message) {
            super(message);
            this.code = code;
        }

        Bad(String message) {
            this("bad_request", message);
        }
    }

    private static final Set<String> ENCODING = Set.of("add_special", "special");
    private static final Set<String> DECODING = Set.of("skip_special", "unknown", "byte_runs");
    private static final Set<String> CONFIG = Set.of(
            "stop_tokens", "visible_stop_tokens", "eos_tokens", "stop_sequences", "visible_stop_sequences",
            "min_tokens", "ignore_eos");

    private Requests() {}

    /** Refuses an option or a key of a stop's configuration that the operation does not have. */
    static void check(String operation, JsonObject request) {
        Set<String> options = switch (operation) {
            case "load" -> Set.of("fallback", "pattern", "special_tokens");
            case "encode", "encode_batch", "count", "segments" -> ENCODING;
            case "decode", "decode_bytes", "decode_batch", "stream_open", "stop_open" -> DECODING;
            default -> Set.of();
        };
        Map.of("options", options, "config", CONFIG).forEach((place, known) -> {
            for (String key : request.has(place) ? request.getAsJsonObject(place).keySet() : Set.<String>of()) {
                if (!known.contains(key)) {
                    throw new Bad("no " + key + " in the " + place + " of " + operation);
                }
            }
        });
    }

    static JsonObject one(String name, JsonElement value) {
        JsonObject made = new JsonObject();
        made.add(name, value);
        return made;
    }

    static JsonObject options(JsonObject request) {
        return request.has("options") ? request.getAsJsonObject("options") : new JsonObject();
    }

    static EncodeOptions encodeOptions(JsonObject request) {
        JsonObject options = options(request);
        return EncodeOptions.DEFAULT
                .withAddSpecialTokens(!options.has("add_special") || options.get("add_special").getAsBoolean())
                .withSpecial(special(options.get("special")))
                .withDetails(request.has("want") && request.getAsJsonArray("want").size() > 0);
    }

    private static Special special(JsonElement said) {
        if (said != null && said.isJsonArray()) {
            return Special.only(said.getAsJsonArray().asList().stream().map(JsonElement::getAsString).toList());
        }
        return switch (said == null ? "all" : said.getAsString()) {
            case "all" -> Special.ALL;
            case "none" -> Special.NONE;
            case "raise" -> Special.RAISE;
            default -> throw new Bad("no policy " + said);
        };
    }

    static DecodeOptions decodeOptions(JsonObject request) {
        JsonObject options = options(request);
        String unknown = options.has("unknown") ? options.get("unknown").getAsString() : "as_reference";
        return new DecodeOptions(
                !options.has("skip_special") || options.get("skip_special").getAsBoolean(),
                DecodeOptions.Unknown.valueOf(unknown.toUpperCase(Locale.ROOT)),
                options.has("byte_runs") && options.get("byte_runs").getAsString().equals("eager"));
    }

    static String textOf(JsonObject input) {
        if (input.has("text")) {
            return input.get("text").getAsString();
        }
        byte[] data = Base64.getDecoder().decode(input.get("b64").getAsString());
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
        } catch (CharacterCodingException error) {
            throw new Bad("invalid_text", "the bytes are no UTF-8");
        }
    }

    static int[] ids(JsonElement list) {
        JsonArray numbers = list.getAsJsonArray();
        int[] found = new int[numbers.size()];
        for (int n = 0; n < found.length; n++) {
            found[n] = (int) numbers.get(n).getAsLong();
        }
        return found;
    }

    static JsonArray unsigned(int[] numbers) {
        JsonArray made = new JsonArray(numbers.length);
        for (int number : numbers) {
            made.add(Integer.toUnsignedLong(number));
        }
        return made;
    }
}
