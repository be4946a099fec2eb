"""From the bytes of a request to an operation, and from its result to bytes."""
