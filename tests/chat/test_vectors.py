"""5,044 recorded renders of 194 real templates: the text, an error, or the template's own words."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from pywasmtok.chat.rendering.sandbox import SandboxRenderer
from tools.verify.chat import corpus, report
from tools.verify.chat.outcomes import observe

from .environment import needs_chats, needs_reference, told

pytestmark = needs_chats

CONVERSATIONS = list(corpus.conversations()) if (corpus.CHAT / "vectors.jsonl").is_file() else []


def _vectors(conversation: str) -> list[corpus.Vector]:
    return [one for one in corpus.vectors() if one.case.name.endswith(f"+{conversation}")]


def test_there_are_as_many_as_were_recorded() -> None:
    kinds = Counter(vector.expected.kind for vector in corpus.vectors())
    assert kinds == {"text": 4209, "raised": 328, "error": 507}


@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_the_sandbox_answers_as_recorded(conversation: str) -> None:
    cases = [(one.case, one.expected) for one in _vectors(conversation)]
    tally = report.run(SandboxRenderer(), cases)
    assert tally.total == 194
    assert not tally.differences, told(tally.differences)


@needs_reference
@pytest.mark.parametrize("conversation", ["c07_parallel_content_none", "c13_thinking_kwargs"])
def test_the_older_profile(conversation: str) -> None:
    """Where the two profiles differ most; what 4.57 answers, the reference is asked."""
    from tools.verify.chat.reference import Reference

    reference = Reference()
    cases = []
    for vector in _vectors(conversation):
        case = replace(vector.case, request=replace(vector.case.request, profile="hf-4.57"))
        expected = observe(reference, case)
        same = (expected.kind == "text") == (vector.expected.kind == "text") and (
            expected.text == vector.expected.text or expected.kind != "text"
        )
        # The rules of 4.57 were written by hand here: they give what was recorded.
        assert same == vector.same_in_457, case.name
        cases.append((case, expected))
    tally = report.run(SandboxRenderer(), cases)
    assert not tally.unexplained, told(tally.unexplained)
