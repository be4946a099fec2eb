package pywasmtok;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * One file in one instance; for one thread at a time. Ids are read as unsigned: a negative one does
 * not exist. What a call returns are copies.
 */
public final class Tokenizer {
    /** A token with a part to play, such as "unk". */
    public record Role(String name, String token, int id) {}

    /**
     * What the tokenizer is.
     *
     * @param vocabSize with added tokens
     * @param json everything that the core says, as docs/abi.md describes it
     */
    public record Info(String format, int vocabSize, List<Role> roles, String json) {}

    /** A part of one text. Special tokens come from trusted parts only. */
    public record Segment(String text, boolean trusted) {}

    private final Guest guest;
    private final int handle;
    private final Info info;

    Tokenizer(Guest guest, List<byte[]> files, byte[] said) {
        this.guest = guest;
        guest.put(joined(files, said));
        handle = guest.ask("pwt_load_with", files.stream().mapToInt(file -> file.length).sum(), said.length);
        if (handle == 0) {
            throw guest.reported();
        }
        // The file stays in the buffer of its session: a new one begins small.
        guest.open();
        JsonObject told = guest.json(guest.count("pwt_info", handle));
        List<Role> roles = new ArrayList<>();
        for (JsonElement element : told.getAsJsonArray("roles")) {
            JsonArray role = element.getAsJsonArray();
            roles.add(new Role(role.get(0).getAsString(), role.get(1).getAsString(), (int) role.get(2).getAsLong()));
        }
        int size = told.get("vocab_size_with_added").getAsInt();
        info = new Info(told.get("format").getAsString(), size, List.copyOf(roles), told.toString());
    }

    public Info info() {
        return info;
    }

    public OptionalInt tokenToId(String token) {
        byte[] data = Guest.utf8(token);
        guest.put(data);
        return found("pwt_token_to_id", data.length);
    }

    /** Null for an id that does not exist. */
    public String idToToken(int id) {
        OptionalInt length = found("pwt_id_to_token", id);
        return length.isPresent() ? guest.text(length.getAsInt()) : null;
    }

    public Encoding encode(String text) {
        return encode(text, EncodeOptions.DEFAULT);
    }

    public Encoding encode(String text, EncodeOptions options) {
        return Encoding.of(guest, encoded("pwt_encode", List.of(text), options), options.details());
    }

    /** Two texts as one input of a model. */
    public Encoding encodePair(String text, String pair, EncodeOptions options) {
        int count = encoded("pwt_encode_pair", List.of(text, pair), options);
        return Encoding.of(guest, count, options.details());
    }

    public List<int[]> encodeBatch(List<String> texts, EncodeOptions options) {
        Map<String, Object> policy = options.policy(this);
        int count;
        if (policy != null) {
            count = encodeWith(texts, policy, options.flags());
        } else {
            guest.put(withLengths(texts));
            count = guest.count("pwt_encode_batch", handle, texts.size(), options.flags());
        }
        int[] ids = guest.numbers(Abi.FIELD_IDS_PTR, count);
        int[] bounds = guest.numbers(Abi.FIELD_BOUNDS_PTR, texts.size() + 1);
        List<int[]> found = new ArrayList<>();
        for (int n = 0; n < texts.size(); n++) {
            found.add(Arrays.copyOfRange(ids, bounds[n], bounds[n + 1]));
        }
        return found;
    }

    /** One text of several segments; {@link EncodeOptions#special} has no part in it. */
    public Encoding encodeSegments(List<Segment> segments, EncodeOptions options) {
        List<String> texts = segments.stream().map(Segment::text).toList();
        List<Boolean> trusted = segments.stream().map(Segment::trusted).toList();
        int flags = options.flags() & ~Abi.ENCODE_SPECIAL_IS_TEXT;
        return Encoding.of(guest, encodeWith(texts, Map.of("trusted", trusted), flags), options.details());
    }

    /** How many ids a text has. */
    public int count(String text, EncodeOptions options) {
        Map<String, Object> policy = options.policy(this);
        if (policy != null) {
            return encodeWith(List.of(text), policy, options.flags());
        }
        byte[] data = Guest.utf8(text);
        guest.put(data);
        return guest.count("pwt_count", handle, data.length, options.flags(), options.limit());
    }

    public String decode(int[] ids) {
        return decode(ids, DecodeOptions.DEFAULT);
    }

    public String decode(int[] ids, DecodeOptions options) {
        return new String(decoded(ids, flags(options)), StandardCharsets.UTF_8);
    }

    /** The bytes of ids, before U+FFFD replaces what is no UTF-8. */
    public byte[] decodeBytes(int[] ids, DecodeOptions options) {
        return decoded(ids, flags(options) | Abi.DECODE_AS_BYTES);
    }

    public List<String> decodeBatch(List<int[]> lists, DecodeOptions options) {
        int[] lengths = lists.stream().mapToInt(list -> list.length).toArray();
        int[] flat = lists.stream().flatMapToInt(Arrays::stream).toArray();
        guest.put(Guest.littleEndian(lengths), Guest.littleEndian(flat));
        int length = guest.count("pwt_decode_batch", handle, lists.size(), flags(options));
        byte[] data = guest.bytes(Abi.FIELD_TEXT_PTR, length);
        int[] bounds = guest.numbers(Abi.FIELD_BOUNDS_PTR, lists.size() + 1);
        List<String> found = new ArrayList<>();
        for (int n = 0; n < lists.size(); n++) {
            found.add(new String(data, bounds[n], bounds[n + 1] - bounds[n], StandardCharsets.UTF_8));
        }
        return found;
    }

    /** Text of ids that come one by one, behind those of a prompt. */
    public Stream stream(int[] prompt, DecodeOptions options) {
        guest.put(Guest.littleEndian(prompt));
        guest.count("pwt_stream_new", handle, prompt.length, options.streamFlags(info.format()));
        return new Stream(guest, handle, guest.state());
    }

    /** A stream that ends at a stop. */
    public Stop stop(Stop.Config config, int[] prompt, DecodeOptions options) {
        byte[] said = config.json();
        guest.put(Guest.littleEndian(prompt), said);
        guest.count("pwt_stop_new", handle, prompt.length, said.length, options.streamFlags(info.format()));
        return new Stop(guest, handle, config, said, guest.state());
    }

    private int encoded(String function, List<String> texts, EncodeOptions options) {
        Map<String, Object> policy = options.policy(this);
        if (policy != null) {
            Map<String, Object> said = new LinkedHashMap<>(policy);
            said.put("pair", texts.size() == 2);
            return encodeWith(texts, said, options.flags());
        }
        List<byte[]> made = texts.size() == 1 ? List.of(Guest.utf8(texts.get(0))) : Guest.utf8s(texts);
        byte[][] parts = made.toArray(byte[][]::new);
        guest.put(parts);
        int[] arguments = new int[parts.length + 2];
        arguments[0] = handle;
        for (int n = 0; n < parts.length; n++) {
            arguments[n + 1] = parts[n].length;
        }
        arguments[parts.length + 1] = options.flags();
        return guest.count(function, arguments);
    }

    private int encodeWith(List<String> texts, Map<String, Object> policy, int flags) {
        byte[] said = Guest.json(policy);
        guest.put(joined(Arrays.asList(withLengths(texts)), said));
        return guest.count("pwt_encode_with", handle, texts.size(), said.length, flags);
    }

    private byte[] decoded(int[] ids, int flags) {
        guest.put(Guest.littleEndian(ids));
        return guest.bytes(Abi.FIELD_TEXT_PTR, guest.count("pwt_decode", handle, ids.length, flags));
    }

    private int flags(DecodeOptions options) {
        return options.flags(info.format());
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

    /** The lengths of texts in bytes, then the texts. */
    private static byte[][] withLengths(List<String> texts) {
        List<byte[]> parts = Guest.utf8s(texts);
        parts.add(0, Guest.littleEndian(parts.stream().mapToInt(part -> part.length).toArray()));
        return parts.toArray(byte[][]::new);
    }

    private static byte[][] joined(List<byte[]> parts, byte[] last) {
        List<byte[]> all = new ArrayList<>(parts);
        all.add(last);
        return all.toArray(byte[][]::new);
    }
}
