package pywasmtok;

/** A request that breaks the protocol. */
final class BadRequest extends RuntimeException {
    private static final long serialVersionUID = 1;

    BadRequest(String message) {
        super(message);
    }
}
