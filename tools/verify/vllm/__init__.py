"""The plugin for vLLM against the released package, without a GPU."""
