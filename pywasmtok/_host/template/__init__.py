"""The renderer of chat templates: a WebAssembly module of its own."""
