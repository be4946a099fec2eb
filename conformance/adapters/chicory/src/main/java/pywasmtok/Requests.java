package pywasmtok;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** What requests say, and how answers are put together. */
final class Requests {
    static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    private Requests() {}

    static JsonObject one(String name, JsonElement value) {
        JsonObject made = new JsonObject();
        made.add(name, value);
        return made;
    }

    static JsonObject options(JsonObject request) {
        return request.has("options") ? request.getAsJsonObject("options") : new JsonObject();
    }

    static String textOf(JsonObject input) {
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
