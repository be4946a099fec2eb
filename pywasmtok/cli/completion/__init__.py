"""Scripts that complete commands, options, choices and files in shells."""
