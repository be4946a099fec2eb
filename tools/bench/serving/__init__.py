"""Parts of `tools.bench.server`."""
