"""Made templates and requests, and the smallest of those that show a difference."""
