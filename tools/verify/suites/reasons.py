"""Why a drop-in fails a public test. A failure without a reason here is one to look at."""

from __future__ import annotations

_TRAINING = "trains a vocabulary, which is excluded: `Unsupported`"
_FORK = "asserts that a child process hangs after a fork with threads on; ours does not hang"


def reason_of(test: str, message: str) -> str:
    if "a vocabulary is not trained here" in message or ".TestParityBpeTrainer." in test:
        return _TRAINING
    if test.endswith(".test_cannot_train_different_model"):
        return _TRAINING
    if test.endswith(".test_multiprocessing_with_parallelism"):
        return _FORK
    return f"not explained: {message[:150]!r}"
