"""A tokenizer server that strangers can share: `pywasmtok serve`. docs/serving.md is the guide.

Follow a request: `app` (routes) -> `identity` (whose key) -> `dialects` or `api` (its shape) ->
`service` (which tokenizer, may it) -> `work` (its turn, off the event loop) -> `tenants`.
"""

__all__: list[str] = []
