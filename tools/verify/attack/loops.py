"""The event loop of the clients: the processor time that it uses is not there for the server."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["run_loop"]

T = TypeVar("T")


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """On uvloop, as the server, where it is installed. Without garbage collection: its pauses in
    the client would count as the server's."""
    make: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with suppress(ImportError):
        from uvloop import new_event_loop as make
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=make) as runner:
            return runner.run(main)
    finally:
        gc.enable()
        gc.unfreeze()
