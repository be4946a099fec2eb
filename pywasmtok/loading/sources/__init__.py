"""From what a caller names to bytes: paths, folders, names of models, the hub, the built-in one.

The core never sees a path. Files are read here, whatever the encoding of their names, and what
their bytes mean is for the core to say.
"""

from __future__ import annotations

from .find import MOCK, is_url, read_file, read_source
from .source import Request, Source, SourceLike

__all__ = ["MOCK", "Request", "Source", "SourceLike", "is_url", "read_file", "read_source"]
