"""Text of ids that come one by one, stops in it, and the places of tokens."""
