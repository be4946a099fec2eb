"""The core as a WebAssembly module: engine, instances, raw calls, compiled code on disk."""
