"""Templates that are meant to do harm, each rendered in a process of its own."""
