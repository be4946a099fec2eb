"""Hashes of ids and of blocks of ids; docs/hashes.md says what each is for."""

from .tokenizer.hashes import *  # noqa: F403
from .tokenizer.hashes import __all__  # noqa: F401
