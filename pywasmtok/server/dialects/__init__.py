"""The routes of other tokenizer servers, in their shapes and with their defaults.

One path serves several of them: the key of a request tells which one the caller speaks to.
docs/dialects.md is the guide.
"""

from .errors import shaped
from .routes import routes

__all__ = ["routes", "shaped"]
