"""The smallest texts on which two tokenizers disagree.

`sides` opens the tokenizers, `candidates` makes texts, `search` tries and shrinks them, `causes`
says which step of the pipeline differs."""
