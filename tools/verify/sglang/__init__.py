"""SGLang's loading of tokenizers with the core inside, without a GPU."""
