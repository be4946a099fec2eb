"""Our own API, under /api/v1. `shapes` is what goes over the wire; docs/api.md is the guide.

`routes(service)` is all of it: the operations of each module, and the document that describes them.
"""

from .table import routes

__all__ = ["routes"]
