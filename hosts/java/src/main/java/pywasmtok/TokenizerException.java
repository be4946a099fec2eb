package pywasmtok;

/** What the core reports, or the host. */
public final class TokenizerException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public final Kind kind;

    /** A place in the file or in the arguments, such as "texts[3]"; or empty. */
    public final String path;

    /** What is unsupported, or the special token that is in a text; or empty. */
    public final String feature;

    /** A place in the file or in the text, in bytes; -1 is none. */
    public final long offset;

    TokenizerException(Kind kind, String message, String path, String feature, long offset) {
        super(message);
        this.kind = kind;
        this.path = path;
        this.feature = feature;
        this.offset = offset;
    }

    TokenizerException(Kind kind, String message) {
        this(kind, message, "", "", -1);
    }

    TokenizerException(Kind kind, String message, Throwable cause) {
        this(kind, message);
        initCause(cause);
    }
}
