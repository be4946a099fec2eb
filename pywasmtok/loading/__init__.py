"""From what a caller names to a tokenizer: sources, the choice of backends, conversion."""
