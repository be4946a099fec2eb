"""Parts of `tools.bench_server`."""
