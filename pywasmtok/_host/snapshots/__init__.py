"""The memory of a loaded tokenizer on disk, mapped into each new instance."""
