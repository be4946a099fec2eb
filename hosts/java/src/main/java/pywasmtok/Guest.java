package pywasmtok;

import com.dylibso.chicory.runtime.ExportFunction;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import com.dylibso.chicory.wasm.ChicoryException;
import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One instance with its session: calls, and what lies in its memory. For one thread at a time. */
final class Guest {
    private static final String HALF_PAIR = "the text has half a surrogate pair";

    private final Instance instance;
    private final Memory memory;
    private final Map<String, ExportFunction> functions = new HashMap<>();
    private int session;
    /** The trap that ended the instance. */
    private TokenizerException lost;

    Guest(Instance instance) {
        this.instance = instance;
        memory = instance.memory();
        if (call("pwt_abi_version") != Abi.ABI_VERSION) {
            throw new TokenizerException(Kind.HOST, "the core has another ABI than it says");
        }
        open();
    }

    /** Begins a session; the one before is given back with its buffers. */
    void open() {
        if (session != 0) {
            call("pwt_session_free", session);
        }
        session = call("pwt_session_new");
        if (session == 0) {
            throw new TokenizerException(Kind.OUT_OF_MEMORY, "no session is left");
        }
    }

    int call(String name, int... arguments) {
        long[] wide = new long[arguments.length];
        for (int n = 0; n < wide.length; n++) {
            wide[n] = Integer.toUnsignedLong(arguments[n]);
        }
        if (lost != null) {
            throw new TokenizerException(Kind.TRAP, lost.getMessage(), lost);
        }
        try {
            long[] answer = functions.computeIfAbsent(name, instance::export).apply(wide);
            return answer == null || answer.length == 0 ? 0 : (int) answer[0];
        } catch (ChicoryException | StackOverflowError | OutOfMemoryError error) {
            String message = "the call ended in a trap: the tokenizer is lost";
            lost = new TokenizerException(Kind.TRAP, message + panicText(), error);
            throw lost;
        }
    }

    /** What the engine said before a trap, with a colon before it; often it said nothing. */
    private String panicText() {
        try {
            int address = (int) instance.export("pwt_panic_ptr").apply()[0];
            int length = (int) instance.export("pwt_panic_len").apply()[0];
            return length == 0 ? "" : ": " + new String(memory.readBytes(address, length), StandardCharsets.UTF_8);
        } catch (ChicoryException | StackOverflowError | OutOfMemoryError error) {
            return "";
        }
    }

    /** Calls with the session in front; what the function answers. */
    int ask(String name, int... arguments) {
        int[] all = new int[arguments.length + 1];
        all[0] = session;
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        return call(name, all);
    }

    /** The same for functions that answer a number: a negative one is an error. */
    int count(String name, int... arguments) {
        int answer = ask(name, arguments);
        if (answer < 0) {
            throw reported();
        }
        return answer;
    }

    int field(int index) {
        return memory.readInt(session + 4 * index);
    }

    void put(byte[]... parts) {
        long size = 0;
        for (byte[] part : parts) {
            size += part.length;
        }
        if (size > Integer.MAX_VALUE) {
            throw new TokenizerException(Kind.LIMIT_EXCEEDED, "an input of 2 GiB or more");
        }
        if (Integer.compareUnsigned((int) size, field(Abi.FIELD_INPUT_CAP)) > 0
                && ask("pwt_input", (int) size) == 0) {
            throw reported();
        }
        int at = field(Abi.FIELD_INPUT_PTR);
        for (byte[] part : parts) {
            memory.write(at, part);
            at += part.length;
        }
    }

    /** A copy of what lies at a field. Chicory checks the bounds. */
    byte[] bytes(int pointer, int length) {
        return length == 0 ? new byte[0] : memory.readBytes(field(pointer), length);
    }

    int[] numbers(int pointer, int count) {
        int[] found = new int[count];
        ByteBuffer.wrap(bytes(pointer, 4 * count)).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(found);
        return found;
    }

    String text(int length) {
        return new String(bytes(Abi.FIELD_TEXT_PTR, length), StandardCharsets.UTF_8);
    }

    JsonObject json(int length) {
        return JsonParser.parseString(text(length)).getAsJsonObject();
    }

    byte[] state() {
        return bytes(Abi.FIELD_STATE_PTR, field(Abi.FIELD_STATE_LEN));
    }

    TokenizerException reported() {
        return new TokenizerException(
                Abi.ERROR_KINDS.getOrDefault(field(Abi.FIELD_STATUS), Kind.INTERNAL),
                said(Abi.FIELD_MESSAGE_PTR, Abi.FIELD_MESSAGE_LEN),
                said(Abi.FIELD_PATH_PTR, Abi.FIELD_PATH_LEN),
                said(Abi.FIELD_FEATURE_PTR, Abi.FIELD_FEATURE_LEN),
                wide(field(Abi.FIELD_ERROR_OFFSET_LO), field(Abi.FIELD_ERROR_OFFSET_HI)));
    }

    private String said(int pointer, int length) {
        return new String(bytes(pointer, field(length)), StandardCharsets.UTF_8);
    }

    /** Two words as one number; all ones are -1. */
    static long wide(int low, int high) {
        return Integer.toUnsignedLong(low) | (long) high << 32;
    }

    static byte[] utf8(String text) {
        return utf8(text, "");
    }

    /** Java would write a question mark for half a surrogate pair. The path is for the error. */
    private static byte[] utf8(String text, String path) {
        CharBuffer rest = CharBuffer.wrap(text);
        try {
            ByteBuffer made = StandardCharsets.UTF_8.newEncoder().encode(rest);
            byte[] data = new byte[made.remaining()];
            made.get(data);
            return data;
        } catch (CharacterCodingException error) {
            int offset = utf8(text.substring(0, rest.position())).length;
            throw new TokenizerException(Kind.INVALID_TEXT, HALF_PAIR, path, "", offset);
        }
    }

    /** Of each text of a batch, of the segments of a text or of a pair. */
    static List<byte[]> utf8s(List<String> texts) {
        List<byte[]> found = new ArrayList<>();
        for (String text : texts) {
            found.add(utf8(text, "texts[" + found.size() + "]"));
        }
        return found;
    }

    /** A value as JSON. An error has no place: the caller has not seen this text. */
    static byte[] json(Object value) {
        try {
            return utf8(new Gson().toJson(value));
        } catch (TokenizerException error) {
            throw new TokenizerException(error.kind, HALF_PAIR);
        }
    }

    static byte[] littleEndian(int... numbers) {
        ByteBuffer made = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
        made.asIntBuffer().put(numbers);
        return made.array();
    }
}
