"""What can be measured. Each group is a function from a `Bench` to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..rows import Row
from ..running.plan import Plan
from ..running.session import Bench
from . import (
    adversarial,
    batch,
    chat,
    concurrent_streaming,
    decode,
    encode,
    first,
    latency,
    load,
    stops,
    streaming,
    sweep,
    threads,
)

__all__ = ["GROUPS", "Group"]


@dataclass(frozen=True)
class Group:
    run: Callable[[Bench], Iterator[Row]]
    one_core: bool = True
    """Whether it is measured on one core, in CPU time; else on all of them."""
    own_children: bool = False
    """Whether it starts a process for each library itself."""
    gives_text: bool = False
    """Whether the answers are texts, not ids."""
    needs: Callable[[Plan], int] = lambda plan: plan.warm_up + 2_000_000
    """Bytes of each kind of text that it takes; of groups with many callers, at least."""


# What each measures is in `bench/names.py`.
GROUPS: Mapping[str, Group] = {
    "encode": Group(encode.run, needs=encode.needs),
    "first": Group(first.run, own_children=True, needs=first.needs),
    "batch": Group(batch.run, needs=batch.needs),
    "decode": Group(decode.run, gives_text=True),
    "streaming": Group(streaming.run, gives_text=True),
    "latency": Group(latency.run, needs=latency.needs),
    "concurrent-streaming": Group(concurrent_streaming.run, one_core=False, gives_text=True),
    "stops": Group(stops.run, gives_text=True),
    "threads-encode": Group(threads.encode, one_core=False),
    "threads-decode": Group(threads.decode, one_core=False, gives_text=True),
    "memory": Group(load.memory, own_children=True),
    "scaling": Group(threads.scaling, one_core=False),
    "sweep": Group(sweep.run, one_core=False),
    "adversarial": Group(adversarial.run, own_children=True),
    "chat-compile": Group(chat.compiling, own_children=True),
    "chat-render": Group(chat.rendering, own_children=True, gives_text=True),
    "chat-encode": Group(chat.encoding, own_children=True),
    "load": Group(load.times, own_children=True),
}
