"""One adapter process, and one case as requests, answers and a verdict."""
