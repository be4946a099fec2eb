"""Prints what a call costs on this machine; asserts nothing.

    PYTHONPATH=.:tests/host python tests/host/hot_path.py [tokenizer file]

Without a file it times the test core, whose own work is next to nothing: the rest is the host's.
With a file it also times `Tokenizer.encode`, whole and with a deadline.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import cores  # type: ignore[import-not-found]

import pywasmtok
import pywasmtok._host as host

TEXT = ("The quick brown fox jumps over the lazy dog. " * 5)[:200]
ROUNDS, CALLS = 15, 20_000


def microseconds(call: Callable[[], object], calls: int = CALLS) -> float:
    """The best of several rounds: the others were disturbed."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def main() -> None:
    if len(sys.argv) > 1:
        data = Path(sys.argv[1]).read_bytes()
        start = time.perf_counter()
        tok = host.load_tokenizer(data)
        print(f"load                 {(time.perf_counter() - start) * 1e3:9.1f} ms")
    else:
        tok = cores.load()
    ids = tok.encode_ids(TEXT)
    instance = tok._pool.acquire()
    instance.encode_ids(TEXT.encode(), 1)
    raw = instance._encode
    encoded = TEXT.encode()

    def guest_and_call() -> None:
        instance._encode_args[0] = instance._session
        raw()

    long = TEXT * 1000
    rows: dict[str, tuple[Callable[[], object], int]] = {
        "nothing": (lambda: None, CALLS),
        "the call and the guest": (guest_and_call, CALLS),
        "one instance": (lambda: instance.encode_ids(encoded, 1), CALLS),
        "encode_ids": (lambda: tok.encode_ids(TEXT), CALLS),
        "encode_ids, empty": (lambda: tok.encode_ids(""), CALLS),
        "decode": (lambda: tok.decode(ids, True), CALLS // 4),
        "encode_full": (lambda: tok.encode_full(TEXT, None, True), CALLS // 10),
        "encode_ids, 200 KB": (lambda: tok.encode_ids(long), 100),
        "a new instance": (tok._pool._source.new_instance, 100),
    }
    if len(sys.argv) > 1:
        whole = pywasmtok.create_tokenizer(sys.argv[1], encoder="core", decoder="core")
        limited = whole.limited(deadline=1.0)
        rows |= {
            "encode(...).buffer": (lambda: whole.encode(TEXT).buffer, CALLS),
            "encode(...).ids": (lambda: whole.encode(TEXT).ids, CALLS),
            "with special='none'": (lambda: whole.encode(TEXT, special="none").buffer, CALLS),
            "with a deadline": (lambda: limited.encode(TEXT).buffer, CALLS),
        }
    for name, (call, calls) in rows.items():
        print(f"{name:22} {microseconds(call, calls):9.2f} us")


if __name__ == "__main__":
    main()
