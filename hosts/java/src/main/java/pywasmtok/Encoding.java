package pywasmtok;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The result of one text. All but the ids is empty without {@link EncodeOptions#details}.
 *
 * @param offsets pairs of start and end, in characters (code points) of the text
 */
public record Encoding(int[] ids, List<int[]> offsets, int[] typeIds, byte[] attentionMask, List<String> tokens) {
    /** Copies what an encode has filled. */
    static Encoding of(Guest guest, int count, boolean details) {
        int[] ids = guest.numbers(Abi.FIELD_IDS_PTR, count);
        List<int[]> offsets = new ArrayList<>();
        List<String> tokens = new ArrayList<>();
        if (!details) {
            return new Encoding(ids, offsets, new int[0], new byte[0], tokens);
        }
        int[] pairs = guest.numbers(Abi.FIELD_OFFSETS_PTR, 2 * count);
        int[] typeIds = guest.numbers(Abi.FIELD_TYPE_IDS_PTR, count);
        byte[] attentionMask = guest.bytes(Abi.FIELD_ATTENTION_MASK_PTR, count);
        byte[] table = guest.bytes(Abi.FIELD_TOKENS_PTR, guest.field(Abi.FIELD_TOKENS_LEN));
        ByteBuffer rows = ByteBuffer.wrap(table).order(ByteOrder.LITTLE_ENDIAN);
        for (int n = 0; n < count; n++) {
            offsets.add(new int[] {pairs[2 * n], pairs[2 * n + 1]});
            byte[] token = new byte[rows.getInt()];
            rows.get(token);
            tokens.add(new String(token, StandardCharsets.UTF_8));
        }
        return new Encoding(ids, offsets, typeIds, attentionMask, tokens);
    }
}
