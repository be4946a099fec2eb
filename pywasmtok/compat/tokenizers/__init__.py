"""`Tokenizer` and `Encoding` of HuggingFace `tokenizers`, with the core as the encoder.

from pywasmtok.compat.tokenizers import AddedToken, DecodeStream, Encoding, Tokenizer

The core serves `encode`, the batches and `decode`. The library itself, called the reference here,
serves what the core has no way for, and is built when it is first needed. docs/compat-tokenizers.md
says which is which.
"""

from tokenizers import AddedToken

from .encoding import Encoding
from .stream import DecodeStream
from .tokenizer import Tokenizer

__all__ = ["AddedToken", "DecodeStream", "Encoding", "Tokenizer"]
