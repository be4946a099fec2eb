package pywasmtok;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Ids to text. */
public final class Decoder {
    private final Guest guest;
    private final int handle;

    Decoder(Guest guest, int handle) {
        this.guest = guest;
        this.handle = handle;
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
}
