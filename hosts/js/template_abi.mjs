// The numbers of the ABI of the chat template renderer. Written by tools/build/abi_constants.py: change template/abi.toml instead.

export const ABI_VERSION = 1;
export const MAX_PANIC_TEXT = 2048;
export const MAX_TEMPLATES = 1024;
export const HEADER_WORDS = 20;
export const HEADER_FLAGS = 0;
export const HEADER_LIMIT_SOURCE = 1;
export const HEADER_LIMIT_CHAIN = 2;
export const HEADER_LIMIT_BRANCHES = 3;
export const HEADER_LIMIT_NESTING = 4;
export const HEADER_LIMIT_DEPTH = 5;
export const HEADER_LIMIT_OUTPUT = 6;
export const HEADER_FUEL_LO = 7;
export const HEADER_FUEL_HI = 8;
export const HEADER_YEAR = 9;
export const HEADER_MONTH = 10;
export const HEADER_DAY = 11;
export const HEADER_HOUR = 12;
export const HEADER_MINUTE = 13;
export const HEADER_SECOND = 14;
export const HEADER_MICROSECOND = 15;
export const HEADER_ZONE_OFFSET = 16;
export const HEADER_ZONE_LEN = 17;
export const HEADER_FIELD_LEN = 18;
export const HEADER_CONTENT_LEN = 19;
export const ANSWER_WORDS = 14;
export const ANSWER_KIND = 0;
export const ANSWER_TEMPLATE = 1;
export const ANSWER_TEXT_PTR = 2;
export const ANSWER_TEXT_LEN = 3;
export const ANSWER_LINE = 4;
export const ANSWER_COLUMN = 5;
export const ANSWER_FEATURE_PTR = 6;
export const ANSWER_FEATURE_LEN = 7;
export const ANSWER_SPANS_PTR = 8;
export const ANSWER_SPANS_LEN = 9;
export const ANSWER_ORIGINS_PTR = 10;
export const ANSWER_ORIGINS_LEN = 11;
export const ANSWER_NOTES_PTR = 12;
export const ANSWER_NOTES_LEN = 13;
export const FLAG_STRICT = 1;
export const FLAG_GENERATION = 4;
export const FLAG_ORIGINS = 8;
export const FLAG_HF_4_57 = 16;
export const FLAG_CONTINUES = 32;
export const FLAG_PACKED = 64;
export const FLAG_CLOCK = 128;
export const FLAG_ZONE = 256;
export const ERROR_SYNTAX = 1;
export const ERROR_RUNTIME = 2;
export const ERROR_RAISED = 3;
export const ERROR_UNSUPPORTED = 4;
export const ERROR_LIMIT = 5;
export const ERROR_CONTEXT = 6;
export const ERROR_INTERNAL = 7;
export const ERROR_NOT_PLAIN = 8;
export const ERROR_BAD_ARGUMENT = 9;
export const ERROR_OUT_OF_MEMORY = 10;

export const ERROR_KINDS = {
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
};
