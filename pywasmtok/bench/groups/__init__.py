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
    about: str
    run: Callable[[Bench], Iterator[Row]]
    one_core: bool = True
    """Whether it is measured on one core, in CPU time; else on all of them."""
    own_children: bool = False
    """Whether it starts a process for each library itself."""
    gives_text: bool = False
    """Whether the answers are texts, not ids."""
    needs: Callable[[Plan], int] = lambda plan: plan.warm_up + 2_000_000
    """Bytes of each kind of text that it takes; of groups with many callers, at least."""


GROUPS: Mapping[str, Group] = {
    "encode": Group(
        "throughput by kind and length, of fresh and of repeated text",
        encode.run,
        needs=encode.needs,
    ),
    "first": Group(
        "the first text of a new process, with the stored snapshot",
        first.run,
        own_children=True,
        needs=first.needs,
    ),
    "batch": Group("many texts in one call", batch.run, needs=batch.needs),
    "decode": Group("lists of ids to text", decode.run, gives_text=True),
    "streaming": Group("ids one by one, up to 100,000", streaming.run, gives_text=True),
    "latency": Group("P50, P90 and P99 of short calls", latency.run, needs=latency.needs),
    "concurrent-streaming": Group(
        "many streams at once", concurrent_streaming.run, one_core=False, gives_text=True
    ),
    "stops": Group("streams that look for stop sequences", stops.run, gives_text=True),
    "threads-encode": Group("threads with texts of their own", threads.encode, one_core=False),
    "threads-decode": Group(
        "threads with ids of their own", threads.decode, one_core=False, gives_text=True
    ),
    "memory": Group(
        "proportional memory of a tokenizer and of each further instance",
        load.memory,
        own_children=True,
    ),
    "scaling": Group("the same work shared out to threads", threads.scaling, one_core=False),
    "sweep": Group("length of prompt times number of callers", sweep.run, one_core=False),
    "adversarial": Group(
        "texts without a place to cut, 64 KB to 16 MB", adversarial.run, own_children=True
    ),
    "chat-compile": Group("chat templates made ready", chat.compiling, own_children=True),
    "chat-render": Group(
        "conversations to text", chat.rendering, own_children=True, gives_text=True
    ),
    "chat-encode": Group("conversations to ids", chat.encoding, own_children=True),
    "load": Group("time to a tokenizer: first, second, clone", load.times, own_children=True),
}
