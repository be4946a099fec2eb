"""373 probes, and values x filters, tests, methods and operators, against the live reference."""

from __future__ import annotations

import os
import warnings

import pytest

from pywasmtok.chat.rendering.sandbox import SandboxRenderer
from tools.verify.chat import corpus, matrix

from .environment import needs_chats, needs_reference, told

pytestmark = needs_reference

# Of the one-liners of a section: together more than 98 of 100. The rest is refused by name, or
# documented; another text is never given.
EQUAL = {"filters": 0.98, "tests": 0.99, "methods": 0.985, "operators": 0.995, "forms": 0.965}


def test_the_matrix_is_large() -> None:
    assert sum(1 for cases in matrix.SECTIONS.values() for _ in cases()) >= 10_000


@needs_chats
def test_the_recorded_probes_are_what_the_reference_says() -> None:
    from tools.verify.chat.outcomes import observe, stable
    from tools.verify.chat.reference import Reference

    reference = Reference()
    compared = 0
    for probe in corpus.micro():
        outcome = observe(reference, probe.case)
        if not probe.plain or not stable(outcome):
            continue
        if probe.recorded.startswith("!"):
            assert not outcome.rendered, probe
        else:
            assert outcome.text == probe.recorded, probe
        compared += 1
    assert compared >= 320


@needs_chats
def test_probes() -> None:
    from tools.verify.chat import report

    tally = report.run(SandboxRenderer(), report.probes())
    assert tally.total >= 371
    assert not tally.unexplained, told(tally.unexplained)


def check(section: str, share: float) -> None:
    from tools.verify.chat import report

    with warnings.catch_warnings():
        # Python warns of what some of the one-liners compile to in the reference.
        warnings.simplefilter("ignore", SyntaxWarning)
        tally = report.run(SandboxRenderer(), report.section(section, share))
    assert not tally.silent, told(tally.silent)
    assert not tally.unexplained, told(tally.unexplained)
    assert tally.equal >= EQUAL[section], told(tally.differences)


@pytest.mark.parametrize("section", matrix.SECTIONS)
def test_some_of_the_matrix(section: str) -> None:
    check(section, share=0.25)


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("PYWASMTOK_SLOW") != "1", reason="slow: set PYWASMTOK_SLOW=1")
@pytest.mark.parametrize("section", matrix.SECTIONS)
def test_matrix(section: str) -> None:
    check(section, share=1.0)
