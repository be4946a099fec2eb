"""Streams over a server: steps as requests, and steps over one WebSocket."""
