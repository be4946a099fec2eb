package pywasmtok;

import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Text to ids. A policy is the JSON of "What may become a special token" in docs/abi.md; null: what
 * the flags say.
 */
public final class Encoder {
    /** Offsets are pairs in characters; both lists are empty without ENCODE_DETAILS. */
    public record Encoding(
            int[] ids,
            List<int[]> offsets,
            int[] typeIds,
            byte[] attentionMask,
            List<String> tokens) {}

    private final Guest guest;
    private final int handle;

    Encoder(Guest guest, int handle) {
        this.guest = guest;
        this.handle = handle;
    }

    public Encoding encode(String text, JsonObject policy, int flags) {
        if (policy != null) {
            return encoding(with(List.of(text), policy, flags), flags);
        }
        byte[] data = Guest.utf8(text);
        guest.put(data);
        return encoding(guest.count("pwt_encode", handle, data.length, flags), flags);
    }

    public Encoding encodePair(String text, String pair, JsonObject policy, int flags) {
        if (policy != null) {
            JsonObject said = policy.deepCopy();
            said.addProperty("pair", true);
            return encoding(with(List.of(text, pair), said, flags), flags);
        }
        byte[] first = Guest.utf8(text);
        byte[] second = Guest.utf8(pair);
        guest.put(first, second);
        int count = guest.count("pwt_encode_pair", handle, first.length, second.length, flags);
        return encoding(count, flags);
    }

    public List<int[]> encodeBatch(List<String> texts, JsonObject policy, int flags) {
        int count;
        if (policy != null) {
            count = with(texts, policy, flags);
        } else {
            guest.put(batch(texts, null));
            count = guest.count("pwt_encode_batch", handle, texts.size(), flags);
        }
        int[] ids = guest.numbers(Abi.FIELD_IDS_PTR, count);
        int[] bounds = guest.numbers(Abi.FIELD_BOUNDS_PTR, texts.size() + 1);
        List<int[]> found = new ArrayList<>();
        for (int n = 0; n < texts.size(); n++) {
            found.add(Arrays.copyOfRange(ids, bounds[n], bounds[n + 1]));
        }
        return found;
    }

    /** The segments of one text: a policy with `trusted` says which may have special tokens. */
    public int[] encodeSegments(List<String> segments, JsonObject policy, int flags) {
        return guest.numbers(Abi.FIELD_IDS_PTR, with(segments, policy, flags));
    }

    /** How many ids a text has; counting may stop at the first number above the limit. */
    public int count(String text, int flags, int limit) {
        byte[] data = Guest.utf8(text);
        guest.put(data);
        return guest.count("pwt_count", handle, data.length, flags, limit);
    }

    private int with(List<String> texts, JsonObject policy, int flags) {
        byte[] said = Guest.utf8(policy.toString());
        guest.put(batch(texts, said));
        return guest.count("pwt_encode_with", handle, texts.size(), said.length, flags);
    }

    /** Lengths, then the texts, then what goes behind them. */
    private static byte[][] batch(List<String> texts, byte[] behind) {
        List<byte[]> parts = new ArrayList<>(texts.stream().map(Guest::utf8).toList());
        parts.add(0, Guest.littleEndian(parts.stream().mapToInt(part -> part.length).toArray()));
        if (behind != null) {
            parts.add(behind);
        }
        return parts.toArray(byte[][]::new);
    }

    private Encoding encoding(int count, int flags) {
        int[] ids = guest.numbers(Abi.FIELD_IDS_PTR, count);
        List<int[]> offsets = new ArrayList<>();
        List<String> tokens = new ArrayList<>();
        int[] typeIds = {};
        byte[] attentionMask = {};
        if ((flags & Abi.ENCODE_DETAILS) != 0) {
            int[] pairs = guest.numbers(Abi.FIELD_OFFSETS_PTR, 2 * count);
            typeIds = guest.numbers(Abi.FIELD_TYPE_IDS_PTR, count);
            attentionMask = guest.bytes(Abi.FIELD_ATTENTION_MASK_PTR, count);
            byte[] table = guest.bytes(Abi.FIELD_TOKENS_PTR, guest.field(Abi.FIELD_TOKENS_LEN));
            ByteBuffer rows = ByteBuffer.wrap(table).order(ByteOrder.LITTLE_ENDIAN);
            for (int n = 0; n < count; n++) {
                offsets.add(new int[] {pairs[2 * n], pairs[2 * n + 1]});
                byte[] token = new byte[rows.getInt()];
                rows.get(token);
                tokens.add(new String(token, StandardCharsets.UTF_8));
            }
        }
        return new Encoding(ids, offsets, typeIds, attentionMask, tokens);
    }
}
