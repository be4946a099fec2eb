"""Templates and conversations that attack the process that renders them.

Each has ended jinja2, the package `minijinja` or a build of the crate of that name: by the stack, by memory, or
by an endless loop. The rendered text does not matter. The process must survive, an answer must come
in time, and the next render must be right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pywasmtok.chat.contract import RenderRequest

from ..corpus import NOW, PLAIN_CHAT

SET = '{% set ns=namespace(x="aaaaaaaaaa",l=[]) %}'
BIG = "b" * 50_000


@dataclass(frozen=True)
class Hostile:
    name: str
    source: Callable[[], str]
    arguments: Callable[[], Mapping[str, Any]] = dict
    messages: Callable[[], Sequence[Any]] = lambda: PLAIN_CHAT
    must_fail: bool = True
    """Whether only an error is right: some of these, an engine may well answer."""

    def request(self) -> RenderRequest:
        return RenderRequest(messages=self.messages(), arguments=self.arguments(), now=NOW)


def _lists(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


def _dicts(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def _endless() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


def _loop(times: int, body: str) -> str:
    return f"{{% for i in range({times}) %}}{body}{{% endfor %}}"


def _grow(times: int, body: str, rest: str = "") -> str:
    return SET + _loop(times, f"{{% set {body} %}}") + rest


# The rows of the table of attacks, in its order: name, template, whether it must fail.
_ROWS: Sequence[tuple[str, str, bool]] = (
    ("range of a billion, looped", "{% for i in range(10**9) %}{% endfor %}", True),
    ("range of a billion, listed", "{{ range(10**9)|list|length }}", True),
    ("ranges inside each other", _loop(99_999, _loop(99_999, "")), True),
    ("a string times a billion", "{{ ('a'*10**9)|length }}", True),
    ("thirty long strings kept", _grow(30, "ns.l = ns.l + ['a'*99000000]"), True),
    ("a list times a billion", "{{ ([0]*10**9)|length }}", True),
    ("a string doubled", _grow(33, "ns.x = ns.x ~ ns.x"), True),
    ("a string doubled by plus", _grow(33, "ns.x = ns.x + ns.x"), True),
    ("a list doubled", SET + "{% set ns.l=[1] %}" + _loop(40, "{% set ns.l=ns.l+ns.l %}"), True),
    ("a macro that calls itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", True),
    (
        "a macro that calls itself twice",
        "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(40) }}",
        True,
    ),
    (
        "a recursive loop without end",
        "{% set l=[1] %}{% for i in l recursive %}{{ loop(l) }}{% endfor %}",
        True,
    ),
    ("a tower of powers", "{{ (9**9**9)|string|length }}", True),
    ("a lower tower of powers", "{{ 9**9**7 }}", True),
    ("a wide percent format", "{{ ('%999999999d'|format(1))|length }}", True),
    ("a wide percent operator", "{{ ('%999999999d' % 1)|length }}", True),
    ("a long precision", "{{ ('%.999999999f' % 1)|length }}", True),
    ("a wide brace format", "{{ ('{:>999999999}'.format(1))|length }}", True),
    ("a long brace precision", "{{ ('{:.999999999f}'.format(1.5))|length }}", True),
    ("center", "{{ ('a'|center(10**9))|length }}", True),
    ("ljust", "{{ ('a'.ljust(10**9))|length }}", True),
    ("zfill", "{{ ('a'.zfill(10**9))|length }}", True),
    ("expandtabs", "{{ ('\\t'.expandtabs(10**9))|length }}", True),
    ("indent", "{{ ('a\nb'|indent(10**9))|length }}", True),
    ("an indented tojson", "{{ ({'a':1}|tojson(indent=10**9))|length }}", True),
    ("lipsum", "{{ lipsum(n=100000)|length }}", True),
    ("slice", "{{ ([1]|slice(10**9)|list)|length }}", True),
    ("batch", "{{ ([1]|batch(10**9,'x')|list)|length }}", True),
    ("truncate by a huge length", "{{ 'aaaa'|truncate(9223372036854775807) }}", False),
    ("wordwrap by nothing", "{{ 'aaaa'|wordwrap(0) }}", False),
    ("int of a huge base", "{{ 'zz'|int(0, 99999) }}", False),
    (
        "replace that swells",
        "{{ (('a'*90000000)|replace('a','b'*39))|length }}",
        True,
    ),
    ("replace of nothing", "{{ (('a'*4000000).replace('', 'b'*1000))|length }}", True),
    ("join that swells", "{{ ((range(99999)|list)|join('b'*90000))|length }}", True),
    ("a large output", _loop(99_999, "{{ big }}"), True),
    ("a namespace in itself, printed", "{% set ns=namespace() %}{% set ns.a=ns %}{{ ns }}", False),
    (
        "a namespace in itself, as JSON",
        "{% set ns=namespace() %}{% set ns.a=ns %}{{ ns|tojson }}",
        True,
    ),
    (
        "namespaces in themselves, compared",
        "{% set a=namespace() %}{% set b=namespace() %}{% set a.x=b %}{% set b.x=a %}"
        "{% set a.y=[a] %}{% set b.y=[a] %}{{ a == b }}{{ [a, [b]] == [b, [a]] }}",
        False,
    ),
    ("lists in lists, built", _grow(90_000, "ns.l = [ns.l]"), False),
    ("lists in lists, printed", _grow(90_000, "ns.l = [ns.l]", "{{ ns.l }}"), True),
    ("lists in lists, compared", _grow(90_000, "ns.l = [ns.l]", "{{ ns.l == [ns.l] }}"), False),
    ("lists in lists, as JSON", _grow(90_000, "ns.l = [ns.l]", "{{ ns.l|tojson }}"), True),
    ("lists in lists, hashed", _grow(90_000, "ns.l = (ns.l,)", "{{ {ns.l: 1} }}"), True),
    ("dicts in dicts, printed", _grow(90_000, "ns.l = {'a': ns.l}", "{{ ns.l }}"), True),
    ("a string grown slowly", _grow(90_000, 'ns.x = ns.x + "a"'), False),
    ("a list grown slowly", _grow(20_000, "ns.l = ns.l + [i]"), False),
    ("a list grown longer", _grow(99_000, "ns.l = ns.l + [i]", "{{ ns.l[5] }}"), False),
    ("split again and again", _loop(100, '{% set x = s.split("a") %}'), False),
    ("sort again and again", _loop(200, "{% set x = range(99999)|sort %}"), False),
    ("the caller's list changed", "{{ messages.append(1) }}", True),
    ("a generator of generators", SET + _loop(90_000, "{% set ns.l = ns.l|map('list') %}"), False),
    (
        "a generator of generators, walked",
        SET + _loop(90_000, "{% set ns.l = ns.l|select %}") + "{{ ns.l|list }}",
        False,
    ),
    ("groups without end", _loop(3000, "{% set x = range(999)|groupby('a')|list %}"), False),
    ("products of filters", "{{ range(99999)|map('string')|join|urlencode|wordcount }}", False),
    ("tabs", "{{ ('\\t'*9000000)|indent(1000)|length }}", True),
    ("many names", "".join(f"{{% set v{i} = {i} %}}" for i in range(8000)), False),
    ("an endless elif", "{% if 0 %}" + "{% elif 0 %}" * 20_000 + "{% endif %}", True),
)


def _chains(times: int) -> list[tuple[str, str]]:
    """One thing after the other, or inside the other: parsers fall down these stairs."""
    n = times
    return [
        ("(", "{{ " + "(" * n + "1" + ")" * n + " }}"),
        ("[", "{{ " + "[" * n + "]" * n + " }}"),
        ("{", "{{ " + "{'a':" * n + "1" + "}" * n + " }}"),
        ("not", "{{ " + "not " * n + "1 }}"),
        ("-", "{{ " + "-" * n + "1 }}"),
        ("- -", "{{ " + "- " * n + "1 }}"),
        ("+1", "{{ 1" + "+1" * n + " }}"),
        ("*1", "{{ 1" + "*1" * n + " }}"),
        ("**1", "{{ 1" + "**1" * n + " }}"),
        ("~1", "{{ 1" + "~1" * n + " }}"),
        ("%3", "{{ 1" + "%3" * n + " }}"),
        ("<1", "{{ 1" + "<1" * n + " }}"),
        ("==1", "{{ 1" + "==1" * n + " }}"),
        ("in", "{{ 1" + " in x" * n + " }}"),
        ("and", "{{ 1" + " and 1" * n + " }}"),
        ("or", "{{ 1" + " or 1" * n + " }}"),
        (".a", "{{ a" + ".a" * n + " }}"),
        ("[0]", "{{ a" + "[0]" * n + " }}"),
        ("[a[", "{{ " + "a[" * n + "0" + "]" * n + " }}"),
        ("[1:]", "{{ a" + "[1:]" * n + " }}"),
        ("()", "{{ a" + "()" * n + " }}"),
        ("a(", "{{ " + "a(" * n + ")" * n + " }}"),
        (".strip()", "{{ 'a'" + ".strip()" * n + " }}"),
        ("|trim", "{{ 'a'" + "|trim" * n + " }}"),
        ("is defined", "{{ 1" + " is defined" * n + " }}"),
        ("if else", "{{ " + "1 if 0 else " * n + "1 }}"),
        ("literals side by side", "{{ " + "'a' " * n + "}}"),
        ("elements", "{{ [" + "1," * n + "] }}"),
        ("pairs", "{{ {" + "'a':1," * n + "} }}"),
        ("arguments", "{{ dict(" + ",".join(f"a{i}=1" for i in range(n)) + ") }}"),
        ("targets", "{% set " + "a," * n + "b = 1 %}"),
        ("if", "{% if 1 %}" * n + "{% endif %}" * n),
        ("for", "{% for a in [1] %}" * n + "{% endfor %}" * n),
        ("macro", "{% macro m() %}" * n + "{% endmacro %}" * n),
        ("with", "{% with %}" * n + "{% endwith %}" * n),
        ("filter", "{% filter trim %}" * n + "{% endfilter %}" * n),
        ("set block", "{% set a %}" * n + "{% endset %}" * n),
        ("generation", "{% generation %}" * n + "{% endgeneration %}" * n),
        ("call", "{% call m() %}" * n + "{% endcall %}" * n),
        ("if, never closed", "{% if 1 %}" * n),
        ("elif", "{% if 0 %}" + "{% elif 0 %}" * n + "{% endif %}"),
        ("for else", "{% for a in [] %}{% else %}" * n + "{% endfor %}" * n),
        ("{{", "{{" * n),
        ("{%", "{%" * n),
        ("{#", "{#" * n),
        ("#}", "#}" * n),
        ("raw", "{% raw %}" * n),
        ("quotes", "{{ " + "'" * n + " }}"),
        ("backslashes", "{{ '" + "\\" * n + "' }}"),
        ("escapes", "{{ '" + "\\x41\\u0041\\n" * (n // 4) + "'|length }}"),
        ("digits", "{{ " + "9" * n + " }}"),
        ("digits of a fraction", "{{ 1." + "9" * n + "e5 }}"),
        ("a long name", "{{ " + "a" * n + " }}"),
        ("line ends", "\r\n" * n),
        ("tags", "{{ 1 }}" * n),
        ("comments", "{# a #}" * n),
        ("blanks in a tag", "{{ " + " " * n + "1 }}"),
        ("minus signs at tags", "{{- 1 -}}  " * n),
    ]


def _deep() -> list[Hostile]:
    """Data, not templates: tool schemas are untrusted, too."""
    show = "{{ x }}"
    return [
        Hostile("lists 900 deep, as JSON", lambda: "{{ x|tojson }}", lambda: {"x": _lists(900)}),
        Hostile("lists 5,000 deep", lambda: show, lambda: {"x": _lists(5_000)}),
        Hostile("lists 100,000 deep", lambda: show, lambda: {"x": _lists(100_000)}),
        Hostile("dicts 100,000 deep", lambda: show, lambda: {"x": _dicts(100_000)}),
        Hostile("a message 100,000 deep", lambda: show, messages=lambda: [_dicts(100_000)]),
        Hostile("a list in itself", lambda: show, lambda: {"x": _endless()}),
        Hostile("a lone surrogate", lambda: show, lambda: {"x": "\ud800"}),
        Hostile("a lone surrogate as a key", lambda: show, lambda: {"x": {"\udfff": 1}}),
        Hostile("a lone surrogate in the template", lambda: "a\udc80"),
        Hostile(
            "data 120 deep",
            lambda: "{{ x|tojson }}{{ x }}",
            lambda: {"x": _lists(110)},
            must_fail=False,
        ),
        Hostile("20 MB of text", lambda: show, lambda: {"x": "a" * 20_000_000}),
        Hostile("a number of 5,000 digits", lambda: show, lambda: {"x": 10**4200}, must_fail=False),
        Hostile(
            "a wide dictionary",
            lambda: "{{ x|length }}",
            lambda: {"x": {str(i): i for i in range(50_000)}},
            must_fail=False,
        ),
        Hostile(
            "keys that are numbers",
            lambda: show,
            lambda: {"x": {1: 2, None: 3, 2.5: 4}},
            must_fail=False,
        ),
        Hostile(
            "NaN and infinities",
            lambda: show,
            lambda: {"x": [float("nan"), float("inf")]},
            must_fail=False,
        ),
        Hostile("bytes", lambda: show, lambda: {"x": b"abc"}, must_fail=False),
        Hostile("messages that are no dicts", lambda: show, messages=lambda: [1, "a"]),
        Hostile("a null character", lambda: "\0{{ x }}\0", lambda: {"x": "\0"}, must_fail=False),
        Hostile("a variable named like a carrier", lambda: "{{ __concat }}{{ x.__slice(1,2,3) }}"),
    ]


def _table() -> list[Hostile]:
    large = {"big": BIG, "s": "xa" * 1_000_000}
    return [
        Hostile(name, partial(str, source), lambda: large, must_fail=must_fail)
        for name, source, must_fail in _ROWS
    ]


def _stairs() -> list[Hostile]:
    return [
        Hostile(f"{times} x {name}", partial(str, source), must_fail=False)
        for times in (300, 3_000, 30_000, 100_000)
        for name, source in _chains(times)
    ]


def cases() -> list[Hostile]:
    return [*_table(), *_deep(), *_stairs()]
