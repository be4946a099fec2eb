"""Random texts by every path of an encoder, beside the reference."""
