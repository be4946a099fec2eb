package pywasmtok;

import com.google.gson.JsonObject;
import java.io.IOException;

/** A request for an answer. */
interface Operation {
    JsonObject done(JsonObject request) throws IOException;
}
