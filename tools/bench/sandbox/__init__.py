"""What the sandbox costs, and which of its parts costs it."""
