"""Random templates and conversations against the reference.

tools/verify/fuzz_chat.py runs for longer."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pywasmtok.chat.rendering.sandbox import SandboxRenderer
from tools.verify.chat import corpus

from .environment import needs_chats, needs_reference, told

pytestmark = [needs_reference, needs_chats]

SLOW = bool(os.environ.get("PYWASMTOK_SLOW"))
RENDERS = 40_000 if SLOW else 600


@pytest.mark.parametrize("kind", ["real", "mutant", "fragment", "grammar", "wild"])
def test_the_sandbox_is_the_reference(kind: str) -> None:
    from tools.verify.chat.fuzzing.contexts import drawn
    from tools.verify.chat.fuzzing.fuzz import Fuzzer

    fuzzer = Fuzzer(SandboxRenderer(), drawn(100, 1), random.Random(kind))
    findings = fuzzer.run([kind], RENDERS, seconds=3600)
    assert findings.verdicts["equal text"] > 100
    smallest = [fuzzer.smallest(one, 5) for one in findings.differences[:5]]
    assert not smallest, told(smallest)


def test_conversations_of_hypothesis_through_real_templates() -> None:
    from tools.verify.chat.fuzzing.contexts import requests
    from tools.verify.chat.outcomes import Case, observe
    from tools.verify.chat.reference import Reference
    from tools.verify.chat.report import difference

    sandbox, reference = SandboxRenderer(), Reference()

    @settings(
        max_examples=2000 if SLOW else 200,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(st.sampled_from(sorted(corpus.templates())), requests)
    def check(template: str, request: object) -> None:
        case = Case(corpus.templates()[template], request, template)  # type: ignore[arg-type]
        found = difference(sandbox, case, observe(reference, case))
        assert found is None or found.entry, str(found)

    check()
