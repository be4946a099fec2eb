"""Special tokens of a tokenizer, and what their names in a text become."""
