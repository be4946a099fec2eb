"""The chat templates of a tokenizer: where they come from, what they can do."""
