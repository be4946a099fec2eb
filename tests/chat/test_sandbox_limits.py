"""Hostile templates: each ends in a typed error, and the next render is right."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable

import pytest
from host.test_helpers import wait_for

from pywasmtok import errors
from pywasmtok._host.calls import ticker
from pywasmtok._host.template import core as template_core
from pywasmtok._host.template import pool as template_pool
from pywasmtok._host.template.instance import TemplateInstance
from pywasmtok.chat.contract import RenderRequest, TemplateLimits
from pywasmtok.chat.rendering.sandbox import renderer
from tools.build.core import ROOT

REQUEST = RenderRequest([{"role": "user", "content": "Hi"}], arguments={"x": "a" * 1000})
SPIN = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
DOUBLE = (
    "{% set ns = namespace(x=x) %}"
    "{% for i in range(40) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x|length }}"
)
# Lists are no text: no bound of the renderer's own counts what they hold.
HOARD = (
    "{% set ns = namespace(l=[]) %}"
    "{% for i in range(90000) %}{% set ns.l = [ns.l, [1, 2, 3, 4, 5, 6, 7, 8] * 90] %}{% endfor %}"
)
NEST = "{% set ns = namespace(l=[]) %}" + (
    "{% for i in range(90000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l == ns.l }}"
)


def limited(source: str, **limits: object) -> str:
    """The name of the limit."""
    chosen = TemplateLimits(**{"fuel": 1 << 62, "deadline": 60.0, **limits})  # type: ignore[arg-type]
    template = renderer().compile(source, limits=chosen)
    with pytest.raises(errors.TemplateLimitExceeded) as caught:
        template.render(REQUEST)
    assert renderer().compile("{{ messages[0].content }}").render(REQUEST).text == "Hi"
    # The same template, too, is as good as before.
    with pytest.raises(errors.TemplateLimitExceeded):
        template.render(REQUEST)
    return caught.value.feature or ""


def test_time() -> None:
    # The first one may have to compile the renderer itself.
    renderer().compile("x").render(REQUEST)
    began = time.monotonic()
    assert limited(SPIN, deadline=0.1) == "deadline"
    assert time.monotonic() - began < 60


def test_fuel() -> None:
    assert limited(SPIN, fuel=10_000) == "fuel"


def test_memory() -> None:
    assert limited(HOARD) == "memory"
    assert limited(DOUBLE, output=1 << 31) == "memory"


def test_output() -> None:
    assert limited(DOUBLE) == "output"
    assert limited("{{ x }}", output=999) == "output"


def test_stack() -> None:
    assert limited(NEST) == "stack"


def test_more_memory_than_an_instance_has() -> None:
    with pytest.raises(errors.InvalidArgument, match="134217728 bytes of memory at most"):
        renderer().compile("x", limits=TemplateLimits(memory=(128 << 20) + 1))


def test_a_request_that_is_too_large_for_the_memory() -> None:
    template = renderer().compile("{{ x|length }}", limits=TemplateLimits(memory=8 << 20))
    for size in (6 << 20, 7 << 20, 20 << 20):
        with pytest.raises(errors.TemplateLimitExceeded) as caught:
            template.render(RenderRequest([{}], arguments={"x": "a" * size}))
        assert caught.value.feature == "memory"
    assert template.render(RenderRequest([{}], arguments={"x": "a" * 1000})).text == "1000"


def test_an_instance_that_has_no_room_left_is_not_the_templates_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = template_pool.shared.pool(TemplateLimits().memory)
    template = renderer().compile("{{ messages[0].content }}!")
    template.render(REQUEST)
    full = errors.TemplateLimitExceeded("full", feature="memory")
    real = TemplateInstance.render

    def render(self: TemplateInstance, *rest: object) -> str:
        if not self.fresh:
            raise full
        return real(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(TemplateInstance, "render", render)
    monkeypatch.setattr(TemplateInstance, "compile", _quiet(TemplateInstance.compile))
    assert template.render(REQUEST).text == "Hi!"
    assert pool is template_pool.shared.pool(TemplateLimits().memory)


def _quiet(compile_: Callable[..., bytes]) -> Callable[..., bytes]:
    """Compiles without counting as used."""

    def compile_quietly(self: TemplateInstance, *rest: object) -> bytes:
        fresh = self.fresh
        notes = compile_(self, *rest)
        self.fresh = fresh
        return notes

    return compile_quietly


def test_many_templates_in_one_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[tuple[int, int]] = []
    real = TemplateInstance.compile

    def counted(self: TemplateInstance, *rest: object) -> bytes:
        made = real(self, *rest)  # type: ignore[arg-type]
        kept.append((len(self._templates), self._sources))
        return made

    monkeypatch.setattr(TemplateInstance, "compile", counted)
    templates = [renderer().compile(f"{{{{ x|length }}}} {n}") for n in range(150)]
    for _ in range(2):
        for number, template in enumerate(templates):
            assert template.render(REQUEST).text == f"1000 {number}"
    large = [renderer().compile("{# " + "x" * 200_000 + f"{n} #}}{n}") for n in range(8)]
    assert [one.render(REQUEST).text for one in large] == list("01234567")
    # The oldest ones have gone.
    assert max(count for count, _ in kept) == 64
    assert 800_000 < max(size for _, size in kept) <= 1 << 20


def test_threads() -> None:
    template = renderer().compile("{{ messages[0].content }}{{ x|length }}")
    spin = renderer().compile(SPIN, limits=TemplateLimits(deadline=0.05, fuel=1 << 62))
    wrong: list[object] = []

    def work(number: int) -> None:
        for _ in range(100):
            answer = template.render(RenderRequest([{"content": number}], arguments={"x": "abc"}))
            if answer.text != f"{number}3":
                wrong.append(answer)

    def attack() -> None:
        for _ in range(5):
            try:
                wrong.append(spin.render(REQUEST))
            except errors.TemplateLimitExceeded as error:
                if error.feature != "deadline":
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    threads.append(threading.Thread(target=attack))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_ticker_sleeps_and_wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticker, "_LINGER", 0.05)
    one = ticker.Ticker()
    assert one.asleep
    for _ in range(2):
        one.begin(60)
        assert not one.asleep
        one._longest = 0.05
        wait_for(lambda: one.asleep)


def test_ticks_are_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Engine:
        ticks = 0

        def increment_epoch(self) -> None:
            self.ticks += 1

    engine, one = Engine(), ticker.Ticker()
    one.watch(engine.increment_epoch)
    monkeypatch.setattr(ticker, "PERIOD", 0.001)
    monkeypatch.setattr(ticker, "_LINGER", 0.05)
    real = time.sleep
    monkeypatch.setattr(time, "sleep", lambda _: real(0.1))
    one.begin(0.2)
    wait_for(lambda: one.asleep)
    # All that were due until then.
    assert engine.ticks >= 250


def test_bounds_of_stacks() -> None:
    kib = 1024
    bound = template_core._bound
    assert [bound(size * kib) for size in (8192, 512, 511, 256, 255, 128)] == [
        size * kib for size in (256, 256, 128, 128, 64, 64)
    ]
    assert bound(None) == 256 * kib
    with pytest.raises(errors.HostUnsupported, match="127 KiB"):
        bound(127 * kib)


CHILD = """
import sys, threading
from pywasmtok import errors
from pywasmtok.chat.contract import RenderRequest, TemplateLimits
from pywasmtok.chat.rendering.sandbox import renderer

NEST = {nest!r}
REQUEST = RenderRequest([dict(role="user", content="Hi")])
deep = "x"
for _ in range(3000):
    deep = [deep]

def one(source, request):
    try:
        return renderer().compile(source, limits=TemplateLimits(fuel=1 << 62)).render(request).text
    except errors.TemplateError as error:
        return error.kind

def work():
    kinds = [one(source, REQUEST) for source in (
        NEST,
        "{{% macro m() %}}{{{{ m() }}}}{{% endmacro %}}{{{{ m() }}}}",
        "{{% for a in [1] recursive %}}{{{{ loop([1]) }}}}{{% endfor %}}",
        "{{% set n = namespace() %}}{{% set n.n = n %}}{{{{ n }}}}{{{{ n|tojson }}}}",
        "{{{{ " + "(" * 20000 + " }}}}",
        "{{{{ " + "not " * 20000 + "x }}}}",
        "{{{{ 1" + "+1" * 20000 + " }}}}",
        "{{{{ x" + ".a" * 20000 + " }}}}",
        "{{{{ x" + "|trim" * 20000 + " }}}}",
        "{{% if x %}}" + "{{% elif x %}}" * 20000 + "{{% endif %}}",
        "{{% if x %}}" * 2000 + "{{% endif %}}" * 2000,
    )]
    kinds.append(one("{{{{ x }}}}", RenderRequest([dict()], arguments=dict(x=deep))))
    kinds.append(one("{{{{ messages[0].content }}}}", REQUEST))
    print(*kinds)

threading.stack_size({stack} * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("stack", [128, 256, 512, 8192])
def test_deep_templates_on_small_stacks(stack: int) -> None:
    code = CHILD.format(nest=NEST, stack=stack)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *kinds, last = done.stdout.split()
    assert last == "Hi"
    assert len(kinds) == 12
    assert set(kinds) <= {"template_limit", "template_runtime", "template_syntax"}, kinds
    assert kinds[0] == kinds[-1] == "template_limit"


FORK = """
import os, sys
from pywasmtok import errors
from pywasmtok.chat.contract import RenderRequest, TemplateLimits
from pywasmtok.chat.rendering.sandbox import renderer

REQUEST = RenderRequest([dict(role="user", content="Hi")])
spin = renderer().compile({spin!r}, limits=TemplateLimits(deadline=0.2, fuel=1 << 62))

def work():
    try:
        spin.render(REQUEST)
    except errors.TemplateLimitExceeded as error:
        assert error.feature == "deadline", error
    else:
        raise AssertionError
    assert renderer().compile("{{{{ messages[0].content }}}}").render(REQUEST).text == "Hi"

work()
child = os.fork()
work()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
def test_deadlines_in_a_child_process() -> None:
    code = FORK.format(spin=SPIN)
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
