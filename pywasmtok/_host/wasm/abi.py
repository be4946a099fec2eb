"""The numbers of the ABI. Written by tools/build/abi_constants.py: change abi.toml instead."""

from __future__ import annotations

from typing import Final

ABI_VERSION: Final = 1
INPUT_PADDING: Final = 32
MAX_SESSIONS: Final = 1024
MAX_TOKENIZERS: Final = 1024
MAX_PANIC_TEXT: Final = 2048
SESSION_WORDS: Final = 26
FIELD_STATUS: Final = 0
FIELD_ERROR_OFFSET_LO: Final = 1
FIELD_ERROR_OFFSET_HI: Final = 2
FIELD_MESSAGE_PTR: Final = 3
FIELD_MESSAGE_LEN: Final = 4
FIELD_PATH_PTR: Final = 5
FIELD_PATH_LEN: Final = 6
FIELD_FEATURE_PTR: Final = 7
FIELD_FEATURE_LEN: Final = 8
FIELD_INPUT_PTR: Final = 9
FIELD_INPUT_CAP: Final = 10
FIELD_IDS_PTR: Final = 11
FIELD_IDS_LEN: Final = 12
FIELD_BOUNDS_PTR: Final = 13
FIELD_BOUNDS_LEN: Final = 14
FIELD_OFFSETS_PTR: Final = 15
FIELD_BYTE_OFFSETS_PTR: Final = 16
FIELD_TYPE_IDS_PTR: Final = 17
FIELD_SPECIAL_MASK_PTR: Final = 18
FIELD_ATTENTION_MASK_PTR: Final = 19
FIELD_TOKENS_PTR: Final = 20
FIELD_TOKENS_LEN: Final = 21
FIELD_TEXT_PTR: Final = 22
FIELD_TEXT_LEN: Final = 23
FIELD_STATE_PTR: Final = 24
FIELD_STATE_LEN: Final = 25
ENCODE_ADD_SPECIAL_TOKENS: Final = 1
ENCODE_DETAILS: Final = 2
ENCODE_SPECIAL_IS_TEXT: Final = 4
ENCODE_CONTINUES: Final = 32
ENCODE_MORE_TEXT: Final = 64
ENCODE_KEEP_END: Final = 128
DECODE_SKIP_SPECIAL_TOKENS: Final = 1
DECODE_UNKNOWN_IS_ERROR: Final = 2
DECODE_UNKNOWN_IS_REPLACED: Final = 4
DECODE_EAGER_BYTE_RUNS: Final = 8
DECODE_AS_BYTES: Final = 16
TRUNCATE_WHOLE: Final = 0
TRUNCATE_EXACT: Final = 1
TRUNCATE_INEXACT: Final = 2
TRUNCATE_NEEDS_MORE: Final = 3
TRUNCATE_NO_ROOM: Final = 4
STEP_FINISH: Final = 1
VOCAB_WITH_ADDED_TOKENS: Final = 1
ERROR_EMPTY_FILE: Final = 1
ERROR_GIT_LFS_POINTER: Final = 2
ERROR_COMPRESSED: Final = 3
ERROR_NOT_A_TOKENIZER: Final = 4
ERROR_UNKNOWN_FORMAT: Final = 5
ERROR_INVALID_FILE: Final = 6
ERROR_UNSUPPORTED: Final = 7
ERROR_LIMIT_EXCEEDED: Final = 8
ERROR_INVALID_TEXT: Final = 9
ERROR_INVALID_TOKEN: Final = 10
ERROR_BAD_ARGUMENT: Final = 11
ERROR_OUT_OF_MEMORY: Final = 12
ERROR_INTERNAL: Final = 13
ERROR_AMBIGUOUS_PATTERN: Final = 14
ERROR_NO_TOKENIZER_IN_FILE: Final = 15
ERROR_SPECIAL_TOKEN_IN_TEXT: Final = 16
ANSWER_FAILED: Final = -1
ANSWER_BAD_SESSION: Final = -2

ERROR_KINDS: Final[dict[int, str]] = {
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
}

# Name of each function: how many i32 it takes, how many it answers.
FUNCTIONS: Final[dict[str, tuple[int, int]]] = {
    "pwt_abi_version": (0, 1),
    "pwt_session_new": (0, 1),
    "pwt_session_free": (1, 0),
    "pwt_input": (2, 1),
    "pwt_load": (2, 1),
    "pwt_load_with": (3, 1),
    "pwt_tokenizer_free": (1, 0),
    "pwt_encode": (4, 1),
    "pwt_encode_pair": (5, 1),
    "pwt_encode_batch": (4, 1),
    "pwt_encode_with": (5, 1),
    "pwt_count": (5, 1),
    "pwt_truncate": (5, 1),
    "pwt_last_cut": (4, 1),
    "pwt_decode": (4, 1),
    "pwt_decode_batch": (4, 1),
    "pwt_stream_new": (4, 1),
    "pwt_stream_step": (5, 1),
    "pwt_stop_new": (5, 1),
    "pwt_stop_step": (6, 1),
    "pwt_token_to_id": (3, 1),
    "pwt_id_to_token": (3, 1),
    "pwt_vocab": (3, 1),
    "pwt_info": (2, 1),
    "pwt_detect": (2, 1),
    "pwt_convert": (3, 1),
    "pwt_extent": (2, 1),
    "pwt_fingerprint": (3, 1),
    "pwt_panic_ptr": (0, 1),
    "pwt_panic_len": (0, 1),
    "pwt_memory_new": (1, 1),
    "pwt_memory_free": (1, 0),
}
