"""The numbers of the ABI of the chat template renderer.

Written by tools/build/abi_constants.py: change template/abi.toml instead.
"""

from __future__ import annotations

from typing import Final

ABI_VERSION: Final = 1
MAX_PANIC_TEXT: Final = 2048
MAX_TEMPLATES: Final = 1024
HEADER_WORDS: Final = 20
HEADER_FLAGS: Final = 0
HEADER_LIMIT_SOURCE: Final = 1
HEADER_LIMIT_CHAIN: Final = 2
HEADER_LIMIT_BRANCHES: Final = 3
HEADER_LIMIT_NESTING: Final = 4
HEADER_LIMIT_DEPTH: Final = 5
HEADER_LIMIT_OUTPUT: Final = 6
HEADER_FUEL_LO: Final = 7
HEADER_FUEL_HI: Final = 8
HEADER_YEAR: Final = 9
HEADER_MONTH: Final = 10
HEADER_DAY: Final = 11
HEADER_HOUR: Final = 12
HEADER_MINUTE: Final = 13
HEADER_SECOND: Final = 14
HEADER_MICROSECOND: Final = 15
HEADER_ZONE_OFFSET: Final = 16
HEADER_ZONE_LEN: Final = 17
HEADER_FIELD_LEN: Final = 18
HEADER_CONTENT_LEN: Final = 19
ANSWER_WORDS: Final = 14
ANSWER_KIND: Final = 0
ANSWER_TEMPLATE: Final = 1
ANSWER_TEXT_PTR: Final = 2
ANSWER_TEXT_LEN: Final = 3
ANSWER_LINE: Final = 4
ANSWER_COLUMN: Final = 5
ANSWER_FEATURE_PTR: Final = 6
ANSWER_FEATURE_LEN: Final = 7
ANSWER_SPANS_PTR: Final = 8
ANSWER_SPANS_LEN: Final = 9
ANSWER_ORIGINS_PTR: Final = 10
ANSWER_ORIGINS_LEN: Final = 11
ANSWER_NOTES_PTR: Final = 12
ANSWER_NOTES_LEN: Final = 13
FLAG_STRICT: Final = 1
FLAG_GENERATION: Final = 4
FLAG_ORIGINS: Final = 8
FLAG_HF_4_57: Final = 16
FLAG_CONTINUES: Final = 32
FLAG_PACKED: Final = 64
FLAG_CLOCK: Final = 128
FLAG_ZONE: Final = 256
ERROR_SYNTAX: Final = 1
ERROR_RUNTIME: Final = 2
ERROR_RAISED: Final = 3
ERROR_UNSUPPORTED: Final = 4
ERROR_LIMIT: Final = 5
ERROR_CONTEXT: Final = 6
ERROR_INTERNAL: Final = 7
ERROR_NOT_PLAIN: Final = 8
ERROR_BAD_ARGUMENT: Final = 9
ERROR_OUT_OF_MEMORY: Final = 10

ERROR_KINDS: Final[dict[int, str]] = {
    1: "syntax",
    2: "runtime",
    3: "raised",
    4: "unsupported",
    5: "limit",
    6: "context",
    7: "internal",
    8: "not_plain",
    9: "bad_argument",
    10: "out_of_memory",
}

# Name of each function: how many i32 it takes, and the type of what it answers.
FUNCTIONS: Final[dict[str, tuple[int, str]]] = {
    "tpl_abi_version": (0, "i32"),
    "tpl_answer": (0, "i32"),
    "tpl_limit_memory": (1, ""),
    "tpl_memory_taken": (0, "i32"),
    "tpl_input": (1, "i32"),
    "tpl_compile": (1, "i32"),
    "tpl_drop": (1, ""),
    "tpl_render": (2, "i64"),
    "tpl_out_of_memory": (0, "i32"),
    "tpl_panic_ptr": (0, "i32"),
    "tpl_panic_len": (0, "i32"),
}
