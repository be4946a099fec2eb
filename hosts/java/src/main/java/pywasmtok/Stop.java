package pywasmtok;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Text of ids that come one by one, up to the first stop. */
public final class Stop {
    /**
     * What stops a text. Visible stops are a part of it.
     *
     * @param eosTokens hidden stops, unless another list has them or `ignoreEos` is true
     * @param minTokens how many ids come before anything stops
     */
    public record Config(
            List<Long> stopTokens,
            List<Long> visibleStopTokens,
            List<String> stopSequences,
            List<String> visibleStopSequences,
            List<Long> eosTokens,
            boolean ignoreEos,
            long minTokens) {
        /** Copies the sequences: a match names one of them. */
        public Config {
            stopSequences = stopSequences == null ? null : List.copyOf(stopSequences);
            visibleStopSequences = visibleStopSequences == null ? null : List.copyOf(visibleStopSequences);
        }

        /** Hidden stops: of these sequences none is a part of the text. */
        public static Config sequences(String... sequences) {
            return new Config(List.of(), List.of(), List.of(sequences), List.of(), List.of(), false, 0);
        }

        byte[] json() {
            Map<String, Object> said = new LinkedHashMap<>();
            said.put("stop_tokens", stopTokens);
            said.put("visible_stop_tokens", visibleStopTokens);
            said.put("stop_sequences", stopSequences);
            said.put("visible_stop_sequences", visibleStopSequences);
            said.put("eos_tokens", eosTokens);
            said.put("ignore_eos", ignoreEos);
            said.put("min_tokens", minTokens);
            return Guest.json(said);
        }
    }

    /**
     * What stopped the text.
     *
     * @param sequence null where a token did
     * @param tokenIndex counts the ids of the text from 0; -1 is before the first
     * @param start a place in the text, in bytes; so is `end`
     */
    public record Match(int id, String sequence, boolean visible, long tokenIndex, long start, long end) {}

    private final Guest guest;
    private final int handle;
    private final Config config;
    private final byte[] said;
    private byte[] state;
    private Match match;

    Stop(Guest guest, int handle, Config config, byte[] said, byte[] state) {
        this.guest = guest;
        this.handle = handle;
        this.config = config;
        this.said = said;
        this.state = state;
    }

    /** Null until something has stopped the text. */
    public Match match() {
        return match;
    }

    /** The text that is certain now; nothing once the text has stopped. */
    public String push(int... ids) {
        return step(ids, 0);
    }

    /** What was held back: the ids end here. */
    public String flush() {
        return step(new int[0], Abi.STEP_FINISH);
    }

    private String step(int[] ids, int flags) {
        if (match != null) {
            return "";
        }
        guest.put(Guest.littleEndian(ids), said, state);
        int length = guest.count("pwt_stop_step", handle, ids.length, said.length, state.length, flags);
        String text = guest.text(length);
        int[] report = guest.numbers(Abi.FIELD_BOUNDS_PTR, guest.field(Abi.FIELD_BOUNDS_LEN));
        state = guest.state();
        if (report[1] != 0) {
            match = matched(report);
        }
        return text;
    }

    private Match matched(int[] report) {
        boolean token = report[1] == 1;
        boolean visible = report[3] == 1;
        List<String> sequences = visible ? config.visibleStopSequences() : config.stopSequences();
        return new Match(
                token ? report[2] : 0,
                token ? null : sequences.get(report[2]),
                visible,
                Guest.wide(report[4], report[5]),
                Guest.wide(report[6], report[7]),
                Guest.wide(report[8], report[9]));
    }
}
