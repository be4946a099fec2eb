package pywasmtok;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;

/** One file in one instance; for one thread at a time. Flags are those of docs/abi.md. */
public final class Tokenizer {
    /** Offsets are pairs in characters; both lists are empty without ENCODE_DETAILS. */
    public record Encoding(int[] ids, List<int[]> offsets, List<String> tokens) {}

    private final Guest guest;
    private final int handle;
    private final JsonObject info;

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
        info = JsonParser.parseString(guest.text(guest.count("pwt_info", handle))).getAsJsonObject();
    }

    public JsonObject info() {
        return info;
    }

    public Encoding encode(String text, int flags) {
        byte[] data = Guest.utf8(text);
        guest.put(data);
        return encoding(guest.count("pwt_encode", handle, data.length, flags), flags);
    }

    public Encoding encodePair(String text, String pair, int flags) {
        byte[] first = Guest.utf8(text);
        byte[] second = Guest.utf8(pair);
        guest.put(first, second);
        int count = guest.count("pwt_encode_pair", handle, first.length, second.length, flags);
        return encoding(count, flags);
    }

    public List<int[]> encodeBatch(List<String> texts, int flags) {
        List<byte[]> parts = new ArrayList<>(texts.stream().map(Guest::utf8).toList());
        parts.add(0, Guest.littleEndian(parts.stream().mapToInt(part -> part.length).toArray()));
        guest.put(parts.toArray(byte[][]::new));
        int count = guest.count("pwt_encode_batch", handle, texts.size(), flags);
        int[] ids = guest.numbers(Abi.FIELD_IDS_PTR, count);
        int[] bounds = guest.numbers(Abi.FIELD_BOUNDS_PTR, texts.size() + 1);
        List<int[]> found = new ArrayList<>();
        for (int n = 0; n < texts.size(); n++) {
            found.add(Arrays.copyOfRange(ids, bounds[n], bounds[n + 1]));
        }
        return found;
    }

    public String decode(int[] ids, int flags) {
        return new String(decodeBytes(ids, flags), StandardCharsets.UTF_8);
    }

    /** With DECODE_AS_BYTES what the tokens are before U+FFFD replaces anything. */
    public byte[] decodeBytes(int[] ids, int flags) {
        guest.put(Guest.littleEndian(ids));
        return guest.bytes(Abi.FIELD_TEXT_PTR, guest.count("pwt_decode", handle, ids.length, flags));
    }

    public List<String> decodeBatch(List<int[]> lists, int flags) {
        int[] lengths = lists.stream().mapToInt(list -> list.length).toArray();
        int[] flat = lists.stream().flatMapToInt(Arrays::stream).toArray();
        guest.put(Guest.littleEndian(lengths), Guest.littleEndian(flat));
        int length = guest.count("pwt_decode_batch", handle, lists.size(), flags);
        byte[] data = guest.bytes(Abi.FIELD_TEXT_PTR, length);
        int[] bounds = guest.numbers(Abi.FIELD_BOUNDS_PTR, lists.size() + 1);
        List<String> found = new ArrayList<>();
        for (int n = 0; n < lists.size(); n++) {
            found.add(new String(data, bounds[n], bounds[n + 1] - bounds[n], StandardCharsets.UTF_8));
        }
        return found;
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
        return new Stream(guest.state());
    }

    /** A stream that ends at a stop; the configuration is the JSON of docs/abi.md. */
    public Stop stop(String config, int[] prompt, int flags) {
        byte[] said = Guest.utf8(config);
        guest.put(Guest.littleEndian(prompt), said);
        guest.count("pwt_stop_new", handle, prompt.length, said.length, flags);
        return new Stop(said, guest.state());
    }

    /** Text of ids that come one by one. */
    public final class Stream {
        private byte[] state;

        private Stream(byte[] state) {
            this.state = state;
        }

        public Stream copy() {
            return new Stream(state);
        }

        public String push(int... ids) {
            return step(ids, 0);
        }

        public String flush() {
            return step(new int[0], Abi.STEP_FINISH);
        }

        private String step(int[] ids, int flags) {
            guest.put(Guest.littleEndian(ids), state);
            int length = guest.count("pwt_stream_step", handle, ids.length, state.length, flags);
            state = guest.state();
            return guest.text(length);
        }
    }

    /** The same up to the first stop. */
    public final class Stop {
        private final byte[] config;
        private byte[] state;
        private int[] report = new int[2];

        private Stop(byte[] config, byte[] state) {
            this.config = config;
            this.state = state;
        }

        /** The words of docs/abi.md about what stopped the text. */
        public int[] report() {
            return report.clone();
        }

        public boolean stopped() {
            return report[1] != 0;
        }

        public String push(int id) {
            return step(new int[] {id}, 0);
        }

        public String flush() {
            return step(new int[0], Abi.STEP_FINISH);
        }

        private String step(int[] ids, int flags) {
            guest.put(Guest.littleEndian(ids), config, state);
            int length = guest.count(
                    "pwt_stop_step", handle, ids.length, config.length, state.length, flags);
            String text = guest.text(length);
            report = guest.numbers(Abi.FIELD_BOUNDS_PTR, guest.field(Abi.FIELD_BOUNDS_LEN));
            state = guest.state();
            return text;
        }
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

    private Encoding encoding(int count, int flags) {
        int[] ids = guest.numbers(Abi.FIELD_IDS_PTR, count);
        List<int[]> offsets = new ArrayList<>();
        List<String> tokens = new ArrayList<>();
        if ((flags & Abi.ENCODE_DETAILS) != 0) {
            int[] pairs = guest.numbers(Abi.FIELD_OFFSETS_PTR, 2 * count);
            byte[] table = guest.bytes(Abi.FIELD_TOKENS_PTR, guest.field(Abi.FIELD_TOKENS_LEN));
            ByteBuffer rows = ByteBuffer.wrap(table).order(ByteOrder.LITTLE_ENDIAN);
            for (int n = 0; n < count; n++) {
                offsets.add(new int[] {pairs[2 * n], pairs[2 * n + 1]});
                byte[] token = new byte[rows.getInt()];
                rows.get(token);
                tokens.add(new String(token, StandardCharsets.UTF_8));
            }
        }
        return new Encoding(ids, offsets, tokens);
    }
}
