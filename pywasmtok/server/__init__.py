"""A multi-tenant tokenizer server: `pywasmtok serve`. docs/serving.md is the guide.

The way of a request: `app` (route) -> `auth` (tenant of the key) -> `dialects` or `api` (shape) ->
`service` (tokenizer, permission) -> `scheduling` (queue, off the event loop) -> `tenants`.
"""

__all__: list[str] = []
