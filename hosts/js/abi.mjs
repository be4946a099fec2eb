// The numbers of the ABI. Written by tools/build/abi_constants.py: change abi.toml instead.

export const ABI_VERSION = 1;
export const INPUT_PADDING = 32;
export const MAX_SESSIONS = 1024;
export const MAX_TOKENIZERS = 1024;
export const MAX_PANIC_TEXT = 2048;
export const SESSION_WORDS = 26;
export const FIELD_STATUS = 0;
export const FIELD_ERROR_OFFSET_LO = 1;
export const FIELD_ERROR_OFFSET_HI = 2;
export const FIELD_MESSAGE_PTR = 3;
export const FIELD_MESSAGE_LEN = 4;
export const FIELD_PATH_PTR = 5;
export const FIELD_PATH_LEN = 6;
export const FIELD_FEATURE_PTR = 7;
export const FIELD_FEATURE_LEN = 8;
export const FIELD_INPUT_PTR = 9;
export const FIELD_INPUT_CAP = 10;
export const FIELD_IDS_PTR = 11;
export const FIELD_IDS_LEN = 12;
export const FIELD_BOUNDS_PTR = 13;
export const FIELD_BOUNDS_LEN = 14;
export const FIELD_OFFSETS_PTR = 15;
export const FIELD_BYTE_OFFSETS_PTR = 16;
export const FIELD_TYPE_IDS_PTR = 17;
export const FIELD_SPECIAL_MASK_PTR = 18;
export const FIELD_ATTENTION_MASK_PTR = 19;
export const FIELD_TOKENS_PTR = 20;
export const FIELD_TOKENS_LEN = 21;
export const FIELD_TEXT_PTR = 22;
export const FIELD_TEXT_LEN = 23;
export const FIELD_STATE_PTR = 24;
export const FIELD_STATE_LEN = 25;
export const ENCODE_ADD_SPECIAL_TOKENS = 1;
export const ENCODE_DETAILS = 2;
export const ENCODE_SPECIAL_IS_TEXT = 4;
export const ENCODE_CONTINUES = 32;
export const ENCODE_MORE_TEXT = 64;
export const ENCODE_KEEP_END = 128;
export const DECODE_SKIP_SPECIAL_TOKENS = 1;
export const DECODE_UNKNOWN_IS_ERROR = 2;
export const DECODE_UNKNOWN_IS_REPLACED = 4;
export const DECODE_EAGER_BYTE_RUNS = 8;
export const DECODE_AS_BYTES = 16;
export const TRUNCATE_WHOLE = 0;
export const TRUNCATE_EXACT = 1;
export const TRUNCATE_INEXACT = 2;
export const TRUNCATE_NEEDS_MORE = 3;
export const TRUNCATE_NO_ROOM = 4;
export const STEP_FINISH = 1;
export const VOCAB_WITH_ADDED_TOKENS = 1;
export const ERROR_EMPTY_FILE = 1;
export const ERROR_GIT_LFS_POINTER = 2;
export const ERROR_COMPRESSED = 3;
export const ERROR_NOT_A_TOKENIZER = 4;
export const ERROR_UNKNOWN_FORMAT = 5;
export const ERROR_INVALID_FILE = 6;
export const ERROR_UNSUPPORTED = 7;
export const ERROR_LIMIT_EXCEEDED = 8;
export const ERROR_INVALID_TEXT = 9;
export const ERROR_INVALID_TOKEN = 10;
export const ERROR_BAD_ARGUMENT = 11;
export const ERROR_OUT_OF_MEMORY = 12;
export const ERROR_INTERNAL = 13;
export const ERROR_AMBIGUOUS_PATTERN = 14;
export const ERROR_NO_TOKENIZER_IN_FILE = 15;
export const ERROR_SPECIAL_TOKEN_IN_TEXT = 16;
export const ANSWER_FAILED = -1;
export const ANSWER_BAD_SESSION = -2;

export const ERROR_KINDS = {
  1: "empty_file",
  2: "git_lfs_pointer",
  3: "compressed",
  4: "not_a_tokenizer",
  5: "unknown_format",
  6: "invalid_file",
  7: "unsupported",
  8: "limit_exceeded",
  9: "invalid_text",
  10: "invalid_token",
  11: "bad_argument",
  12: "out_of_memory",
  13: "internal",
  14: "ambiguous_pattern",
  15: "no_tokenizer_in_file",
  16: "special_token_in_text",
};
