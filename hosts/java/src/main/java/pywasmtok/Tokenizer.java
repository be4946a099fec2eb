package pywasmtok;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.OptionalInt;

/** One file in one instance; for one thread at a time. Flags are those of docs/abi.md. */
public final class Tokenizer {
    private final Guest guest;
    private final int handle;
    private final JsonObject info;
    private final Encoder encoder;
    private final Decoder decoder;

    Tokenizer(Guest guest, byte[] file, String options) {
        this.guest = guest;
        byte[] said = options == null ? new byte[0] : Guest.utf8(options);
        guest.put(file, said);
        handle = said.length == 0
                ? guest.ask("pwt_load", file.length)
                : guest.ask("pwt_load_with", file.length, said.length);
        if (handle == 0) {
            throw guest.reported();
        }
        // The file stays in the buffer of its session: a new one begins small.
        guest.open();
        encoder = new Encoder(guest, handle);
        decoder = new Decoder(guest, handle);
        info = JsonParser.parseString(guest.text(guest.count("pwt_info", handle))).getAsJsonObject();
    }

    public JsonObject info() {
        return info;
    }

    public Encoder encoder() {
        return encoder;
    }

    public Decoder decoder() {
        return decoder;
    }

    public OptionalInt tokenToId(String token) {
        byte[] data = Guest.utf8(token);
        guest.put(data);
        return found("pwt_token_to_id", data.length);
    }

    /** Null for an id that there is not. */
    public String idToToken(int id) {
        OptionalInt length = found("pwt_id_to_token", id);
        return length.isPresent() ? guest.text(length.getAsInt()) : null;
    }

    public Stream stream(int[] prompt, int flags) {
        guest.put(Guest.littleEndian(prompt));
        guest.count("pwt_stream_new", handle, prompt.length, flags);
        return new Stream(guest, handle, guest.state());
    }

    /** A stream that ends at a stop; the configuration is the JSON of docs/abi.md. */
    public Stop stop(String config, int[] prompt, int flags) {
        byte[] said = Guest.utf8(config);
        guest.put(Guest.littleEndian(prompt), said);
        guest.count("pwt_stop_new", handle, prompt.length, said.length, flags);
        return new Stop(guest, handle, said, guest.state());
    }

    private OptionalInt found(String function, int argument) {
        int answer = guest.ask(function, handle, argument);
        if (answer >= 0) {
            return OptionalInt.of(answer);
        }
        if (guest.field(Abi.FIELD_STATUS) != 0) {
            throw guest.reported();
        }
        return OptionalInt.empty();
    }
}
