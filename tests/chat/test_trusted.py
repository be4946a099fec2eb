# ruff: noqa: E501  # templates of one line
"""The operator's own templates in this process, by the package `minijinja`: the vectors of the
reference, and what happens on the way through the package."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import small
from assets import ROOT, needs_assets

import pywasmtok
from pywasmtok import errors
from pywasmtok.chat.contract import Rendered, RenderRequest, TemplateLimits

pytest.importorskip("minijinja")

from chat.whole_reference import ReferenceRenderer
from pywasmtok.chat.trusted import TrustedRenderer, renderer

NOW = datetime(2025, 1, 2, 3, 4, 5)
# A macro that is handed to Python, in a list, comes back as a dict: it cannot be called any more.
KNOWN = {("axolotl__jamba", "c17_documents")}


def render(template: str, **arguments: Any) -> str:
    return answer(template, **arguments).text


def answer(template: str, *, generation: bool = False, **arguments: Any) -> Rendered:
    request = RenderRequest(
        [{"role": "user", "content": "x"}], arguments=arguments, now=NOW, generation=generation
    )
    return renderer().compile(template).render(request)


@needs_assets
def test_the_vectors() -> None:
    folder = ROOT / "chat"
    known = json.loads((folder / "conversations.json").read_text(encoding="utf-8"))
    templates: dict[str, str] = {}
    wrong = set()
    count = 0
    for line in (folder / "vectors.jsonl").open(encoding="utf-8"):
        case = json.loads(line)
        name, chat = case["template"], known["conversations"][case["conversation"]]
        if name not in templates:
            templates[name] = (folder / "templates" / f"{name}.jinja").read_bytes().decode()
        flags = {
            flag: case["kwargs"].get(flag, False)
            for flag in ("add_generation_prompt", "continue_final_message")
        }
        request = RenderRequest(
            chat["messages"],
            chat["tools"],
            chat["documents"],
            special_tokens=known["special_tokens_map"],
            arguments=chat["kwargs"],
            now=NOW,
            **flags,
        )
        count += 1
        try:
            text = renderer().compile(templates[name], strict=False).render(request).text
        except errors.TokenizerError as error:
            raised = case.get("error", {}).get("type") == "TemplateError"
            said = isinstance(error, errors.TemplateRaised)
            if "error" not in case or (raised and said and str(error) != case["error"]["message"]):
                wrong.add((name, case["conversation"]))
        else:
            if text != case.get("expected"):
                wrong.add((name, case["conversation"]))
    assert count > 5000
    assert wrong == KNOWN


LINES = (
    "{{ x }}|{{ x is defined }}|{{ x | length }}|{{ x | default('d') }}|{{ x is iterable }}",
    "{{ d }}|{{ d.a }}|{{ d.items() | list }}|{{ d['items'] }}|{{ 'items' in d }}|{{ 'b' in d }}",
    "{{ d | tojson }}|{{ d | tojson(indent=2) }}|{{ [1.0, 'é'] | tojson(true) }}|{{ 'é' | tojson }}",
    "{{ f }}|{{ small }}|{{ 1e-7 }}|{{ large }}|{{ [f, small] }}|{{ f | string }}|{{ f % 2 }}",
    "{{ f | int }}|{{ '2.5' | float }}|{{ '7' | int + 1 }}|{{ 'x' | int(3) }}|{{ -5 | abs }}",
    "{{ none is sequence }}|{{ {} is sequence }}|{{ 's' is sequence }}|{{ f is number }}",
    "{% for c in 'ab' %}{{ c }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for c in x %}never{% else %}empty{% endfor %}",
    "{{ '\x1c a \x1f'.strip() }}|{{ '\x1ca' | trim }}|{{ 'a\x1cb'.split() }}|{{ 'a b'.split(' ') }}",
    "{{ 'a%s' % 'b' }}|{{ '%s-%d' % ('x', 3) }}|{{ '{}:{a}'.format(1, a=2) }}|{{ '%s' | format(3) }}",
    "{{ 'a\nb\n' | indent }}|{{ 'a\n\nb' | indent(2, true, true) }}|{{ 'aXa' | replace('a', 'b', 1) }}",
    "{{ l | map('upper') | join(',') }}|{{ l | select('equalto', 'b') | list }}|{{ l | reverse | list }}",
    "{{ l[::-1] }}|{{ l[1:] }}|{{ 'abc'[-1] }}|{{ [][::-1] }}|{{ l | first }}|{{ l | last }}",
    "{{ m | selectattr('role', 'equalto', 'user') | map(attribute='n') | list }}",
    "{{ m | rejectattr('role', 'defined') | list }}|{{ m | map(attribute='q', default=0) | list }}",
    "{{ 'it\\'s a-b' | title }}|{{ 'ab' | capitalize }}|{{ 'B' | lower }}|{{ ['b', 'A'] | sort }}",
    "{{ {'b': 1, 'A': 2} | dictsort }}|{{ [1, 1, 'a', 'A'] | unique | list }}",
    "{{ '<' ~ ('<b>' | safe) ~ '&' }}|{{ ('<' | safe) + 'a<' }}",
    "{% set ns = namespace(a=[]) %}{% for i in range(3) %}{% set ns.a = ns.a + [i] %}{% endfor %}{{ ns.a }}",
    "{{ strftime_now('%Y-%m-%d') }}|{{ 3 // 2 }}|{{ -7 % 3 }}|{{ 2 < 3 < 4 }}|{{ 'a' < 'b' }}",
    "{{ d.get('a') }}|{{ d.get('q', 'w') }}|{{ d.keys() | list }}|{{ d.nothing }}|{{ d['a'] }}",
    "{{ basic[x] is defined }}|{{ basic['a'] is defined }}|{{ basic[d.a] | default('no') }}",
    "{% macro f(a, b='q') %}[{{ a }}{{ b }}]{% endmacro %}{{ f('z') }}{{ f(b=1, a=2) }}",
    "{{ true }}|{{ none }}|{{ [none, true, 'it'] }}|{{ 'a' if x else 'b' }}|{{ (x or 'y') }}",
    "a\r\nb\r{% raw %}\n{{ x }}{% endraw %}|{# c #}\n  {% if true %}\n y\n  {% endif %}\n",
    "{{ 1 == 1.0 }}|{{ [1] == [1.0] }}|{{ f == 5 }}|{{ f != 5.0 }}|{{ none == x }}|{{ -1.5 }}|{{ -f }}",
    "{{ 0.1 + 0.2 }}|{{ 1e16 + 1 }}|{{ f / 2 }}|{{ f - 1 }}|{{ 2 ** 70 }}|{{ large + 1 }}|{{ f // 2 }}",
    "{{ '{name}'.format(name='x') }}|{{ x | default(5, boolean=true) }}|{{ '' | default('e', true) }}",
    "{% for i in l %}{{ loop.previtem is defined }}{{ loop.previtem }}{% endfor %}",
    "{{ messages[0].name is defined }}|{{ x is undefined }}|{{ d.a is defined }}|{{ none is defined }}",
    "{{ l + ['d'] }}|{{ 'a' + 'b' + l[0] }}|{{ 2 * 3 - 1 }}|{{ -2 ** 2 }}|{{ (1, 2) + (3,) }}",
    "{{ '<a \"\\'&>' | e }}|{{ ('<' | safe) | escape }}|{{ ('<' | e) ~ '<' }}|{{ 'a b' | center(9) }}|",
    "{{ 'one two three four' | truncate(12) }}|{{ 'one two three four' | truncate(9, true, '', 0) }}",
    "{{ 'one two, three' | wordcount }}|{{ 'one two-three four\n\nfive' | wordwrap(7) }}|{{ 'abcdef' | wordwrap(4, false) }}",
    "{{ 'a b&c/d' | urlencode }}|{{ {'a': 1, 'b': 'x y/'} | urlencode }}|{{ [('é', none)] | urlencode }}|{{ f | urlencode }}",
    "{{ {'class': 'a', 'id': none, 'x': '<\"'} | xmlattr }}|{{ {'a': 1} | xmlattr(false) }}|{{ {} | xmlattr }}",
    "{{ d | attr('a') }}|{{ d | attr('keys') is defined }}",
    "{{ ['\u200b', 'é\xa0', '🌶'] }}|{{ {'a': ('\ufeff', 1.0)} }}|{{ [none, [1.5, 'it\\'s']] }}|{{ [] }}",
    "{{ 'short' | truncate(2) }}",
    "{{ raise_exception('Näh: ' ~ 3) }}",
    "{{ x.y.z }}",
    "{{ none | list }}",
    "{% for a in none %}{% endfor %}",
    "{{ x | tojson }}",
    "{{ x | attr('a') is defined }}",
    "{{ x > 1 }}",
    "{{ none + 1 }}",
    "{{ l.append(1) }}",
    "{{ 'a' | nothing }}",
    "{{ 'a' is nothing }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ d.__class__ }}",
    "{{ 'a'.nothing() }}",
)
DATA: dict[str, Any] = {
    "d": {"a": 1, "items": [1, 2.0, None, True], "n": {"x": 1e16}},
    "f": 5.0,
    "small": 1e-7,
    "large": 2**100,
    "l": ["a", "b", "c"],
    "m": [{"role": "user", "n": 1}, {"role": "x", "n": 2}, {"n": 3}],
    "basic": {"a": "b"},
}


@pytest.mark.parametrize("template", LINES)
def test_one_line(template: str) -> None:
    request = RenderRequest([{"role": "user", "content": "x"}], arguments=DATA, now=NOW)
    try:
        expected = ReferenceRenderer().compile(template).render(request).text
    except errors.TemplateError as error:
        with pytest.raises(errors.TemplateError) as caught:
            renderer().compile(template, strict=False).render(request)
        if isinstance(error, errors.TemplateRaised):
            assert str(caught.value) == str(error)  # noqa: PT017
        return
    assert renderer().compile(template).render(request).text == expected


def test_generation_spans() -> None:
    template = "a{% generation %} b {% endgeneration %}{% for i in [1, 2] %}{% generation %}{{ i }}{% endgeneration %},{% endfor %}"
    seen = answer(template, generation=True, said="\U000f0000\U000f0001")
    expected = ReferenceRenderer().compile(template)
    request = RenderRequest([{"role": "user", "content": "x"}], generation=True)
    assert seen == expected.render(request)
    assert answer(template).generation == ()
    # A mark that somebody has written is no mark.
    forged = answer("{% generation %}{{ s }}{% endgeneration %}", generation=True, s="\U000f0000")
    assert forged.generation == ((0, 1),)
    assert forged.text == "\U000f0000"


def test_limits_are_typed() -> None:
    loop = "{% for i in range(90000) %}{% for j in range(90000) %}x{% endfor %}{% endfor %}"
    for template, limits, feature in (
        (loop, TemplateLimits(fuel=100_000), "fuel"),
        ("{{ 'x' * 100 }}", TemplateLimits(output=99), "output"),
        ("x" * 100, TemplateLimits(source=99), "source"),
    ):
        request = RenderRequest([{"role": "user", "content": "x"}])
        with pytest.raises(errors.TemplateLimitExceeded) as caught:
            renderer().compile(template, limits=limits).render(request)
        assert caught.value.feature == feature


def test_errors_are_typed() -> None:
    for template, kind in (
        ("{% if %}", errors.TemplateSyntaxError),
        ("{{ none + 1 }}", errors.TemplateRuntimeError),
        ("{{ [1][:] | tojson(indent='a', nothing=1) }}", errors.TemplateRuntimeError),
        ("{{ raise_exception('a') }}", errors.TemplateRaised),
        ("{{ {'a b': 1} | xmlattr }}", errors.TemplateRuntimeError),
        ("{{ [1] | random }}", errors.UnsupportedTemplateFeature),
        ("{{ 'a' | urlize }}", errors.UnsupportedTemplateFeature),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", errors.TemplateRuntimeError),
    ):
        with pytest.raises(kind):
            render(template)
    with pytest.raises(errors.TemplateError, match="where text comes from"):
        renderer().compile("x").render(RenderRequest([{"role": "user"}], origins=True))


def test_the_callers_data_is_not_changed() -> None:
    data = {"l": [1], "d": {"a": 1}}
    for template in ("{{ l.append(2) }}", "{{ d.update({'b': 2}) }}", "{{ l.pop() }}"):
        with pytest.raises(errors.TemplateError):
            render(template, **data)
    assert data == {"l": [1], "d": {"a": 1}}


def test_templates_are_kept_and_shared() -> None:
    own = TrustedRenderer()
    first = own.compile("{{ n }}")
    assert own.compile("{{ n }}") is first
    assert own.compile("{{ n }}", limits=TemplateLimits(output=9)) is not first

    def one(number: int) -> str:
        request = RenderRequest([{"role": "user"}], arguments={"n": number})
        return own.compile("{{ n }}").render(request).text

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(one, range(200))) == [str(number) for number in range(200)]
    for number in range(100):
        own.compile(f"{number}")
    assert own.compile("{{ n }}") is not first


def test_it_serves_what_the_program_gave(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    tok = pywasmtok.create_tokenizer_with_chat_template(tmp_path, "{{ messages[0].content }}!")
    chat = [{"role": "user", "content": "Hello"}]
    trusted = tok.apply_chat_template(chat, renderer="minijinja")
    assert trusted == tok.apply_chat_template(chat)
    text = tok.apply_chat_template(
        chat, renderer="minijinja", tokenize=False, continue_final_message=True
    )
    assert text == "Hello"
    # What came with the call goes to the sandbox, whoever is named.
    given = tok.apply_chat_template(
        chat, renderer="minijinja", tokenize=False, chat_template="{{ 1.0 | tojson }}"
    )
    assert given == "1.0"
