"""The libraries that are measured, each behind the same calls."""
