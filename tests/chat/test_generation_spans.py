"""The spans of `{% generation %}`, on every real template that has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pywasmtok.chat.rendering.sandbox import SandboxRenderer
from tools.verify.chat import corpus, report
from tools.verify.chat.outcomes import Case

from .environment import needs_chats, needs_reference, told

pytestmark = [needs_reference, needs_chats]


def _cases() -> list[Case]:
    return [
        Case(
            source, replace(corpus.request(conversation, generation=True)), f"{name}+{conversation}"
        )
        for name, source in corpus.templates().items()
        if "generation" in source and "endgeneration" in source
        for conversation, chat in corpus.conversations().items()
        if not chat["continue_final_message"]
    ]


def test_there_are_templates_with_spans() -> None:
    cases = list(report.asked(_cases()))
    assert len({case.source for case, _ in cases}) == 32
    assert sum(len(expected.spans) for _, expected in cases) > 500


def test_spans_are_the_reference_s() -> None:
    tally = report.run(SandboxRenderer(), report.asked(_cases()))
    assert not tally.unexplained, told(tally.unexplained)


MACRO = "ab{% macro m() %}12{% generation %}XY{% endgeneration %}34{% endmacro %}{{ m() }}cd"
BLOCK = "ab{% set x %}1{% generation %}XY{% endgeneration %}2{% endset %}c{{ x }}d"


@pytest.mark.parametrize("source", [MACRO, BLOCK])
def test_a_block_inside_of_buffered_text_has_its_own_span(source: str) -> None:
    """The reference counts only what was written out before: its span is another text."""
    from pywasmtok.chat.contract import RenderRequest

    template = SandboxRenderer().compile(source)
    rendered = template.render(RenderRequest(messages=corpus.PLAIN_CHAT, generation=True))
    assert [rendered.text[start:end] for start, end in rendered.generation] == ["XY"]
