package pywasmtok;

/** What an error may be. Written by tools/build/abi_constants.py. */
public enum Kind {
    /** The file has no bytes, or nothing but white space. */
    EMPTY_FILE,
    /** The pointer of a file that was never fetched. */
    GIT_LFS_POINTER,
    /** The file is compressed; the message says with what. */
    COMPRESSED,
    /** The file is something else: a configuration, HTML, weights. */
    NOT_A_TOKENIZER,
    /** Nothing known about the first bytes. */
    UNKNOWN_FORMAT,
    /** Breaks the rules of its own format. */
    INVALID_FILE,
    /** Valid, but not served exactly: the only kind that a host answers with a fallback. */
    UNSUPPORTED,
    /** A declared bound was passed. */
    LIMIT_EXCEEDED,
    /** Text that is no UTF-8; the offset is that of the first wrong byte. */
    INVALID_TEXT,
    /** An id or a token that the tokenizer does not have. */
    INVALID_TOKEN,
    /** The host broke the calling convention. */
    BAD_ARGUMENT,
    /** The memory that the instance may use is exhausted. */
    OUT_OF_MEMORY,
    /** A defect of the engine, caught before it could give a wrong answer. */
    INTERNAL,
    /** A rank file that does not say how to cut text, nor does anything else. */
    AMBIGUOUS_PATTERN,
    /** A file of a format that may hold a tokenizer, without one. */
    NO_TOKENIZER_IN_FILE,
    /** A text names a special token where the policy wants none; `feature` is the token. */
    SPECIAL_TOKEN_IN_TEXT,
    /** A module that this host cannot work with. */
    HOST,
    /** A call that ended in a trap: its tokenizer is lost. */
    TRAP
}
