"""The objects that users hold: the tokenizer, encodings, streams, stop decoders, limits."""
