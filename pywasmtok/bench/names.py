"""The names of groups and corpora, for the command line: importing this loads nothing else."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["BUILDS", "CORPORA", "GENERATED", "GROUPS", "LIBRARIES", "TWIN"]

GROUPS: Mapping[str, str] = {
    "encode": "throughput by kind and length, of fresh and of repeated text",
    "first": "the first text of a new process, with the stored snapshot",
    "batch": "many texts in one call",
    "decode": "lists of ids to text",
    "streaming": "ids one by one, up to 100,000",
    "latency": "P50, P90 and P99 of short calls",
    "concurrent-streaming": "many streams at once",
    "stops": "streams that look for stop sequences",
    "threads-encode": "threads with texts of their own",
    "threads-decode": "threads with ids of their own",
    "memory": "proportional memory of a tokenizer and of each further instance",
    "scaling": "the same work shared out to threads",
    "sweep": "length of prompt times number of callers",
    "adversarial": "texts without a place to cut, 64 KB to 16 MB",
    "chat-compile": "chat templates made ready",
    "chat-render": "conversations to text",
    "chat-encode": "conversations to ids",
    "load": "time to a tokenizer: first, second, clone",
}

GENERATED = "generated "
"""What the names of generated texts begin with."""

BUILDS = ("portable", "threads", "baseline")

TWIN = "twin"
"""A second instance of the first build: the difference between both is noise."""

LIBRARIES = (
    *("fastokens", "gigatoken", "tiktoken", "hf", "hf-fast", "native"),
    *("sandbox", "jinja2", "minijinja"),
)
"""The others; those of the second line render chats."""

CORPORA = ("english", "code", "zhja", "chat", "mixed")
