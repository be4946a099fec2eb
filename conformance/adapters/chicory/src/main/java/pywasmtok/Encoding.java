package pywasmtok;

import static pywasmtok.Requests.GSON;
import static pywasmtok.Requests.one;
import static pywasmtok.Requests.textOf;
import static pywasmtok.Requests.unsigned;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;

/** Requests that turn text into ids. */
final class Encoding {
    private static final Set<String> FLAGS = Set.of("all", "none");
    /** As an unsigned number the largest: no limit. */
    private static final int ALL = -1;

    private final Objects objects;

    Encoding(Objects objects, Map<String, Operation> operations) {
        this.objects = objects;
        operations.put("encode", this::encode);
        operations.put("encode_batch", this::encodeBatch);
        operations.put("count", this::count);
        operations.put("segments", this::segments);
    }

    private JsonObject encode(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        int flags = flags(request);
        JsonObject policy = policy(request, tokenizer);
        String text = textOf(request.getAsJsonObject("input"));
        Encoder.Encoding encoding = request.has("pair")
                ? tokenizer.encoder().encodePair(text, textOf(request.getAsJsonObject("pair")), policy, flags)
                : tokenizer.encoder().encode(text, policy, flags);
        JsonObject answer = one("ids", unsigned(encoding.ids()));
        if ((flags & Abi.ENCODE_DETAILS) != 0) {
            answer.add("offsets", GSON.toJsonTree(encoding.offsets()));
            answer.add("type_ids", unsigned(encoding.typeIds()));
            answer.add("attention_mask", GSON.toJsonTree(encoding.attentionMask()));
            answer.add("tokens", GSON.toJsonTree(encoding.tokens()));
        }
        return answer;
    }

    private JsonObject encodeBatch(JsonObject request) {
        List<String> texts = new ArrayList<>();
        for (JsonElement input : request.getAsJsonArray("inputs")) {
            texts.add(textOf(input.getAsJsonObject()));
        }
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        JsonArray lists = new JsonArray();
        tokenizer.encoder()
                .encodeBatch(texts, policy(request, tokenizer), flags(request))
                .forEach(ids -> lists.add(unsigned(ids)));
        return one("ids", lists);
    }

    private JsonObject count(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        String text = textOf(request.getAsJsonObject("input"));
        JsonObject policy = policy(request, tokenizer);
        int count = policy == null
                ? tokenizer.encoder().count(text, flags(request), ALL)
                : tokenizer.encoder().encode(text, policy, flags(request)).ids().length;
        return one("count", GSON.toJsonTree(count));
    }

    private JsonObject segments(JsonObject request) {
        List<String> texts = new ArrayList<>();
        JsonArray trusted = new JsonArray();
        for (JsonElement element : request.getAsJsonArray("segments")) {
            JsonObject segment = element.getAsJsonObject();
            texts.add(segment.get("text").getAsString());
            trusted.add(segment.get("trusted"));
        }
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        // Trust says what special tokens are; there is no policy beside it.
        int[] ids = tokenizer.encoder().encodeSegments(texts, one("trusted", trusted), flags(request));
        return one("ids", unsigned(ids));
    }

    /** Null where flags say all. */
    private static JsonObject policy(JsonObject request, Tokenizer tokenizer) {
        JsonElement special = Requests.options(request).get("special");
        if (special == null || special.isJsonPrimitive() && FLAGS.contains(special.getAsString())) {
            return null;
        }
        if (special.isJsonPrimitive() && special.getAsString().equals("raise")) {
            return one("special", special);
        }
        if (!special.isJsonArray()) {
            throw new BadRequest("no policy " + special);
        }
        JsonArray allowed = new JsonArray();
        for (JsonElement name : special.getAsJsonArray()) {
            OptionalInt id = tokenizer.tokenToId(name.getAsString());
            allowed.add(id.orElseThrow(() -> new BadRequest("no token " + name)));
        }
        return one("special", one("allow", allowed));
    }

    private static int flags(JsonObject request) {
        JsonObject options = Requests.options(request);
        int flags = 0;
        if (!options.has("add_special") || options.get("add_special").getAsBoolean()) {
            flags |= Abi.ENCODE_ADD_SPECIAL_TOKENS;
        }
        if (request.has("want") && request.getAsJsonArray("want").size() > 0) {
            flags |= Abi.ENCODE_DETAILS;
        }
        JsonElement special = options.get("special");
        return special != null && special.equals(GSON.toJsonTree("none"))
                ? flags | Abi.ENCODE_SPECIAL_IS_TEXT
                : flags;
    }
}
