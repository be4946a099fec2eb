"""What wants to hurt: the process lives, answers in time, and the next render is right."""

from __future__ import annotations

import os

import pytest

from tools.verify.chat.attacks import ordeal

from .environment import needs_chats

DEADLINE = 1.0
SLOW = bool(os.environ.get("PYWASMTOK_SLOW"))
MUTANTS = 33_000 if SLOW else 500
# KiB of stack of the thread; 0: the main thread.
STACKS = [0, 512, 128] if SLOW else [0, 128]


@pytest.mark.parametrize("stack", STACKS)
def test_nothing_hurts_the_sandbox(stack: int) -> None:
    answers = ordeal.hostile("sandbox", stack, DEADLINE)
    found = ordeal.faults(answers, DEADLINE)
    assert not found, "\n".join(found)


@needs_chats
@pytest.mark.parametrize("stack", STACKS)
def test_mutants_do_not_hurt_the_sandbox(stack: int) -> None:
    pytest.importorskip("jinja2")
    assert not ordeal.mutants("sandbox", MUTANTS, seed=stack, stack=stack)
