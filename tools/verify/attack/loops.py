"""The event loop of those who ask: what it takes of a processor, the server does not have."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["run_loop"]

T = TypeVar("T")


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """The server's kind where there is one. Nothing is collected meanwhile: who measures would take
    his own pauses for the server's."""
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
