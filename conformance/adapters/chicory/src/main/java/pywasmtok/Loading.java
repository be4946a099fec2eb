package pywasmtok;

import static pywasmtok.Requests.GSON;
import static pywasmtok.Requests.one;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** Requests that load a tokenizer and look into it. */
final class Loading {
    private final Core core;
    private final Objects objects;

    Loading(Core core, Objects objects, Map<String, Operation> operations) {
        this.core = core;
        this.objects = objects;
        operations.put("load", this::load);
        operations.put("unload", request -> objects.forget(request, "handle"));
        operations.put("info", this::info);
        operations.put("token_to_id", this::tokenToId);
        operations.put("id_to_token", this::idToToken);
    }

    private JsonObject load(JsonObject request) throws IOException {
        Path path = Path.of(request.get("path").getAsString());
        byte[] file = Files.readAllBytes(path);
        JsonObject said = new JsonObject();
        JsonObject options = Requests.options(request);
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
        JsonObject answer = objects.keep("handle", tokenizer);
        answer.addProperty("served_by", "core");
        answer.add("format", tokenizer.info().get("format"));
        answer.add("vocab_size", tokenizer.info().get("vocab_size_with_added"));
        return answer;
    }

    private JsonObject info(JsonObject request) {
        JsonObject info = objects.find(request, "handle", Tokenizer.class).info();
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

    private JsonObject tokenToId(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        OptionalInt id = tokenizer.tokenToId(request.get("token").getAsString());
        return one("id", id.isPresent() ? GSON.toJsonTree(id.getAsInt()) : JsonNull.INSTANCE);
    }

    private JsonObject idToToken(JsonObject request) {
        Tokenizer tokenizer = objects.find(request, "handle", Tokenizer.class);
        return one("token", GSON.toJsonTree(tokenizer.idToToken(request.get("id").getAsInt())));
    }
}
