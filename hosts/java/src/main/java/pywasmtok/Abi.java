package pywasmtok;

import java.util.Map;

/** The numbers of the ABI. Written by tools/build/abi_constants.py: change abi.toml instead. */
final class Abi {
    private Abi() {}

    static final int ABI_VERSION = 1;
    static final int INPUT_PADDING = 32;
    static final int MAX_SESSIONS = 1024;
    static final int MAX_TOKENIZERS = 1024;
    static final int MAX_PANIC_TEXT = 2048;
    static final int SESSION_WORDS = 26;
    static final int FIELD_STATUS = 0;
    static final int FIELD_ERROR_OFFSET_LO = 1;
    static final int FIELD_ERROR_OFFSET_HI = 2;
    static final int FIELD_MESSAGE_PTR = 3;
    static final int FIELD_MESSAGE_LEN = 4;
    static final int FIELD_PATH_PTR = 5;
    static final int FIELD_PATH_LEN = 6;
    static final int FIELD_FEATURE_PTR = 7;
    static final int FIELD_FEATURE_LEN = 8;
    static final int FIELD_INPUT_PTR = 9;
    static final int FIELD_INPUT_CAP = 10;
    static final int FIELD_IDS_PTR = 11;
    static final int FIELD_IDS_LEN = 12;
    static final int FIELD_BOUNDS_PTR = 13;
    static final int FIELD_BOUNDS_LEN = 14;
    static final int FIELD_OFFSETS_PTR = 15;
    static final int FIELD_BYTE_OFFSETS_PTR = 16;
    static final int FIELD_TYPE_IDS_PTR = 17;
    static final int FIELD_SPECIAL_MASK_PTR = 18;
    static final int FIELD_ATTENTION_MASK_PTR = 19;
    static final int FIELD_TOKENS_PTR = 20;
    static final int FIELD_TOKENS_LEN = 21;
    static final int FIELD_TEXT_PTR = 22;
    static final int FIELD_TEXT_LEN = 23;
    static final int FIELD_STATE_PTR = 24;
    static final int FIELD_STATE_LEN = 25;
    static final int ENCODE_ADD_SPECIAL_TOKENS = 1;
    static final int ENCODE_DETAILS = 2;
    static final int ENCODE_SPECIAL_IS_TEXT = 4;
    static final int ENCODE_CONTINUES = 32;
    static final int ENCODE_MORE_TEXT = 64;
    static final int ENCODE_KEEP_END = 128;
    static final int DECODE_SKIP_SPECIAL_TOKENS = 1;
    static final int DECODE_UNKNOWN_IS_ERROR = 2;
    static final int DECODE_UNKNOWN_IS_REPLACED = 4;
    static final int DECODE_EAGER_BYTE_RUNS = 8;
    static final int DECODE_AS_BYTES = 16;
    static final int TRUNCATE_WHOLE = 0;
    static final int TRUNCATE_EXACT = 1;
    static final int TRUNCATE_INEXACT = 2;
    static final int TRUNCATE_NEEDS_MORE = 3;
    static final int TRUNCATE_NO_ROOM = 4;
    static final int STEP_FINISH = 1;
    static final int VOCAB_WITH_ADDED_TOKENS = 1;
    static final int ERROR_EMPTY_FILE = 1;
    static final int ERROR_GIT_LFS_POINTER = 2;
    static final int ERROR_COMPRESSED = 3;
    static final int ERROR_NOT_A_TOKENIZER = 4;
    static final int ERROR_UNKNOWN_FORMAT = 5;
    static final int ERROR_INVALID_FILE = 6;
    static final int ERROR_UNSUPPORTED = 7;
    static final int ERROR_LIMIT_EXCEEDED = 8;
    static final int ERROR_INVALID_TEXT = 9;
    static final int ERROR_INVALID_TOKEN = 10;
    static final int ERROR_BAD_ARGUMENT = 11;
    static final int ERROR_OUT_OF_MEMORY = 12;
    static final int ERROR_INTERNAL = 13;
    static final int ERROR_AMBIGUOUS_PATTERN = 14;
    static final int ERROR_NO_TOKENIZER_IN_FILE = 15;
    static final int ERROR_SPECIAL_TOKEN_IN_TEXT = 16;
    static final int ANSWER_FAILED = -1;
    static final int ANSWER_BAD_SESSION = -2;

    static final Map<Integer, Kind> ERROR_KINDS = Map.ofEntries(
            Map.entry(1, Kind.EMPTY_FILE),
            Map.entry(2, Kind.GIT_LFS_POINTER),
            Map.entry(3, Kind.COMPRESSED),
            Map.entry(4, Kind.NOT_A_TOKENIZER),
            Map.entry(5, Kind.UNKNOWN_FORMAT),
            Map.entry(6, Kind.INVALID_FILE),
            Map.entry(7, Kind.UNSUPPORTED),
            Map.entry(8, Kind.LIMIT_EXCEEDED),
            Map.entry(9, Kind.INVALID_TEXT),
            Map.entry(10, Kind.INVALID_TOKEN),
            Map.entry(11, Kind.BAD_ARGUMENT),
            Map.entry(12, Kind.OUT_OF_MEMORY),
            Map.entry(13, Kind.INTERNAL),
            Map.entry(14, Kind.AMBIGUOUS_PATTERN),
            Map.entry(15, Kind.NO_TOKENIZER_IN_FILE),
            Map.entry(16, Kind.SPECIAL_TOKEN_IN_TEXT));
}
