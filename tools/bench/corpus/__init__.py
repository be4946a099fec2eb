"""Text that people wrote, collected from packages: `python -m tools.bench.corpus DIR`."""
