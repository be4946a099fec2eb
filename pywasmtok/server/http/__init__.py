"""The HTTP protocol: connections, heads, WebSockets."""
