"""The harness finds what it is there to find: renderers that are wrong on purpose."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from pywasmtok.chat.contract import Rendered, RenderRequest, TemplateLimits
from pywasmtok.errors import TemplateRaised, TemplateRuntimeError, UnsupportedTemplateFeature
from tools.verify.chat import corpus
from tools.verify.chat.attacks import hostile, ordeal
from tools.verify.chat.outcomes import Case

from .environment import needs_chats, needs_reference

pytestmark = [needs_reference, needs_chats]

Render = Callable[[RenderRequest], Rendered]


@dataclass
class Broken:
    """The reference, with something done to its answers."""

    change: Callable[[str, Render, RenderRequest], Rendered]
    name: str = "broken"

    def compile(
        self, source: str, *, strict: bool = True, limits: TemplateLimits | None = None
    ) -> BrokenTemplate:
        from tools.verify.chat.reference import Reference

        return BrokenTemplate(source, self, Reference().compile(source).render)


@dataclass(frozen=True)
class BrokenTemplate:
    source: str
    renderer: Broken
    honest: Render
    warnings: Sequence[str] = ()

    def render(self, request: RenderRequest) -> Rendered:
        return self.renderer.change(self.source, self.honest, request)


def _last_space(source: str, honest: Render, request: RenderRequest) -> Rendered:
    return Rendered(honest(request).text.rstrip())


def _lenient(source: str, honest: Render, request: RenderRequest) -> Rendered:
    try:
        return honest(request)
    except Exception:
        return Rendered("")


def _severe(source: str, honest: Render, request: RenderRequest) -> Rendered:
    if "x" in honest(request).text:
        raise TemplateRuntimeError("no")
    return honest(request)


def _other_words(source: str, honest: Render, request: RenderRequest) -> Rendered:
    try:
        return honest(request)
    except TemplateRaised as error:
        raise TemplateRaised(error.message + ".") from error


def _no_spans(source: str, honest: Render, request: RenderRequest) -> Rendered:
    return replace(honest(request), generation=())


def _panics(source: str, honest: Render, request: RenderRequest) -> Rendered:
    if "[::-1]" in source:
        raise IndexError("out of bounds")
    return honest(request)


def _refuses(source: str, honest: Render, request: RenderRequest) -> Rendered:
    raise UnsupportedTemplateFeature("no", feature="everything")


BREAKS = {
    "text": _last_space,
    "lenient": _lenient,
    "severe": _severe,
    "message": _other_words,
    "spans": _no_spans,
    "broken": _panics,
    "refused": _refuses,
}


@pytest.mark.parametrize("verdict", BREAKS)
def test_every_kind_of_fault_is_found(verdict: str) -> None:
    from tools.verify.chat import report

    tokens = corpus.templates()
    with_spans = next(name for name in tokens if "endgeneration" in tokens[name])
    names = [*list(tokens)[::10], "llamacpp__Qwen-Qwen3-0.6B", with_spans]
    cases = [
        Case(tokens[name], corpus.request(chat, generation=not continued), f"{name}+{chat}")
        for name in names
        for chat in list(corpus.conversations())[::3]
        for continued in [bool(corpus.conversations()[chat]["continue_final_message"])]
    ]
    honest = report.run(
        Broken(lambda source, render, request: render(request)), report.asked(cases)
    )
    assert not honest.differences
    tally = report.run(Broken(BREAKS[verdict]), report.asked(cases))
    assert verdict in tally.counts
    assert set(tally.counts) <= {"equal", verdict, "spans" if verdict == "text" else verdict}


def test_the_fuzzer_finds_a_needle_and_makes_it_small() -> None:
    from tools.verify.chat.fuzzing.contexts import drawn
    from tools.verify.chat.fuzzing.fuzz import Fuzzer

    def needle(source: str, honest: Render, request: RenderRequest) -> Rendered:
        rendered = honest(request)
        return replace(rendered, text=rendered.text + "!") if "|" in source else rendered

    fuzzer = Fuzzer(Broken(needle), drawn(20, 0), random.Random(0))
    findings = fuzzer.run(["grammar"], 2000, seconds=60)
    assert findings.differences
    small = min((fuzzer.smallest(one, 5) for one in findings.differences[:4]), key=_size)
    assert _size(small) <= 40, small.case.source


def _size(one: object) -> int:
    return len(one.case.source)  # type: ignore[attr-defined]


def test_a_death_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package `minijinja` dies of a long chain: the case is named, and the others go on."""
    pytest.importorskip("minijinja")
    chosen = [case for case in hostile.cases() if "100000 x" in case.name]
    names = [case.name for case in chosen]
    place = [case.name for case in hostile.cases()].index("100000 x not")
    process = ordeal.start("bare", "--start", str(place))
    said = list(ordeal.lines(process))
    assert "100000 x not" in names
    assert said == [{"ready": True}, {"begins": place}]
    assert process.returncode == -signal.SIGSEGV
    assert os.WIFSIGNALED(-process.returncode)


def test_faults_are_told() -> None:
    name = "a string doubled"
    good = ordeal.Answer(name, "limit", feature="memory", seconds=0.2, peak=100, next_right=True)
    assert not ordeal.faults([good], 1.0)
    for bad in (
        replace(good, kind="death"),
        replace(good, kind="broken"),
        replace(good, kind="text"),
        replace(good, seconds=3.0),
        replace(good, peak=5000),
        replace(good, next_right=False),
    ):
        assert ordeal.faults([bad], 1.0), bad
