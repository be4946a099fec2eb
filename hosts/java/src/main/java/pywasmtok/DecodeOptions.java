package pywasmtok;

/**
 * How ids are decoded.
 *
 * @param skipSpecialTokens leaves special tokens out
 * @param unknown what becomes of an id that does not exist
 * @param eagerByteRuns for streams: a character made of byte tokens is given when it is complete, not
 *     when the run of byte tokens is
 */
public record DecodeOptions(boolean skipSpecialTokens, Unknown unknown, boolean eagerByteRuns) {
    public enum Unknown {
        /** As the library of the format does it: `tokenizers` leaves such ids out, others fail. */
        AS_REFERENCE,
        SKIP,
        ERROR,
        REPLACE
    }

    public static final DecodeOptions DEFAULT = new DecodeOptions(true, Unknown.AS_REFERENCE, false);

    public DecodeOptions withSkipSpecialTokens(boolean wanted) {
        return new DecodeOptions(wanted, unknown, eagerByteRuns);
    }

    public DecodeOptions withUnknown(Unknown wanted) {
        return new DecodeOptions(skipSpecialTokens, wanted, eagerByteRuns);
    }

    public DecodeOptions withEagerByteRuns(boolean wanted) {
        return new DecodeOptions(skipSpecialTokens, unknown, wanted);
    }

    int flags(String format) {
        boolean lenient = format.equals("tokenizer.json") || format.equals("vocab+merges");
        return (skipSpecialTokens ? Abi.DECODE_SKIP_SPECIAL_TOKENS : 0)
                | switch (unknown) {
                    case AS_REFERENCE -> lenient ? 0 : Abi.DECODE_UNKNOWN_IS_ERROR;
                    case SKIP -> 0;
                    case ERROR -> Abi.DECODE_UNKNOWN_IS_ERROR;
                    case REPLACE -> Abi.DECODE_UNKNOWN_IS_REPLACED;
                };
    }

    /** For streams and stops only: other calls refuse the flag of byte runs. */
    int streamFlags(String format) {
        return flags(format) | (eagerByteRuns ? Abi.DECODE_EAGER_BYTE_RUNS : 0);
    }
}
