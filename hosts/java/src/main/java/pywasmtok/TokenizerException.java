package pywasmtok;

/** What the core reports. */
public final class TokenizerException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** One of the names in docs/abi.md. */
    public final String kind;

    public final String path;
    public final String feature;

    TokenizerException(String kind, String message, String path, String feature) {
        super(message);
        this.kind = kind;
        this.path = path;
        this.feature = feature;
    }

    TokenizerException(String kind, String message) {
        this(kind, message, "", "");
    }
}
