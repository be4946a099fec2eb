"""What was done for a tenant."""

from __future__ import annotations

from .._locks import ForkSafeLock
from .contract import Usage

__all__ = ["Counters"]


class Counters:
    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._requests = self._refused = self._failed = self._bytes = self._tokens = 0
        self._seconds = 0.0

    def add(
        self,
        *,
        requests: int = 0,
        refused: int = 0,
        failed: int = 0,
        text_bytes: int = 0,
        tokens: int = 0,
        seconds: float = 0.0,
    ) -> None:
        with self._lock:
            self._requests += requests
            self._refused += refused
            self._failed += failed
            self._bytes += text_bytes
            self._tokens += tokens
            self._seconds += seconds

    def usage(self, instances: int, memory: int) -> Usage:
        with self._lock:
            return Usage(
                requests=self._requests,
                refused=self._refused,
                failed=self._failed,
                text_bytes=self._bytes,
                tokens=self._tokens,
                seconds=self._seconds,
                instances=instances,
                memory=memory,
            )
