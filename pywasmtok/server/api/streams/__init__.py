"""Text of ids that come one by one, over SSE and WebSockets.

`stream` is one of them; `state` is what it is between two requests; `sse` and `socket` are how it
is reached.
"""

__all__: list[str] = []
