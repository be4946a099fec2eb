//! The numbers of the ABI. Written by tools/build/abi_constants.py from abi.toml: change that.

pub const ABI_VERSION: u32 = 1;
pub const INPUT_PADDING: usize = 32;
pub const MAX_SESSIONS: usize = 1024;
pub const MAX_TOKENIZERS: usize = 1024;
pub const MAX_PANIC_TEXT: usize = 2048;
pub const SESSION_WORDS: usize = 26;
pub const FIELD_STATUS: usize = 0;
pub const FIELD_ERROR_OFFSET_LO: usize = 1;
pub const FIELD_ERROR_OFFSET_HI: usize = 2;
pub const FIELD_MESSAGE_PTR: usize = 3;
pub const FIELD_MESSAGE_LEN: usize = 4;
pub const FIELD_PATH_PTR: usize = 5;
pub const FIELD_PATH_LEN: usize = 6;
pub const FIELD_FEATURE_PTR: usize = 7;
pub const FIELD_FEATURE_LEN: usize = 8;
pub const FIELD_INPUT_PTR: usize = 9;
pub const FIELD_INPUT_CAP: usize = 10;
pub const FIELD_IDS_PTR: usize = 11;
pub const FIELD_IDS_LEN: usize = 12;
pub const FIELD_BOUNDS_PTR: usize = 13;
pub const FIELD_BOUNDS_LEN: usize = 14;
pub const FIELD_OFFSETS_PTR: usize = 15;
pub const FIELD_BYTE_OFFSETS_PTR: usize = 16;
pub const FIELD_TYPE_IDS_PTR: usize = 17;
pub const FIELD_SPECIAL_MASK_PTR: usize = 18;
pub const FIELD_ATTENTION_MASK_PTR: usize = 19;
pub const FIELD_TOKENS_PTR: usize = 20;
pub const FIELD_TOKENS_LEN: usize = 21;
pub const FIELD_TEXT_PTR: usize = 22;
pub const FIELD_TEXT_LEN: usize = 23;
pub const FIELD_STATE_PTR: usize = 24;
pub const FIELD_STATE_LEN: usize = 25;
pub const ENCODE_ADD_SPECIAL_TOKENS: u32 = 1;
pub const ENCODE_DETAILS: u32 = 2;
pub const ENCODE_SPECIAL_IS_TEXT: u32 = 4;
pub const ENCODE_CONTINUES: u32 = 32;
pub const ENCODE_MORE_TEXT: u32 = 64;
pub const ENCODE_KEEP_END: u32 = 128;
pub const DECODE_SKIP_SPECIAL_TOKENS: u32 = 1;
pub const DECODE_UNKNOWN_IS_ERROR: u32 = 2;
pub const DECODE_UNKNOWN_IS_REPLACED: u32 = 4;
pub const DECODE_EAGER_BYTE_RUNS: u32 = 8;
pub const DECODE_AS_BYTES: u32 = 16;
pub const TRUNCATE_WHOLE: u32 = 0;
pub const TRUNCATE_EXACT: u32 = 1;
pub const TRUNCATE_INEXACT: u32 = 2;
pub const TRUNCATE_NEEDS_MORE: u32 = 3;
pub const TRUNCATE_NO_ROOM: u32 = 4;
pub const STEP_FINISH: u32 = 1;
pub const VOCAB_WITH_ADDED_TOKENS: u32 = 1;
pub const ANSWER_FAILED: i32 = -1;
pub const ANSWER_BAD_SESSION: i32 = -2;

/// Names and numbers of the error kinds, for the test that compares them.
#[cfg(test)]
pub const ERROR_KINDS: [(&str, u32); 16] = [
    ("empty_file", 1),
    ("git_lfs_pointer", 2),
    ("compressed", 3),
    ("not_a_tokenizer", 4),
    ("unknown_format", 5),
    ("invalid_file", 6),
    ("unsupported", 7),
    ("limit_exceeded", 8),
    ("invalid_text", 9),
    ("invalid_token", 10),
    ("bad_argument", 11),
    ("out_of_memory", 12),
    ("internal", 13),
    ("ambiguous_pattern", 14),
    ("no_tokenizer_in_file", 15),
    ("special_token_in_text", 16),
];
