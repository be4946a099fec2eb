"""What the fuzzers and the matrix found: the smallest case of each, against the live reference."""

from __future__ import annotations

import pytest

from pywasmtok.chat.contract import RenderRequest
from pywasmtok.chat.rendering.sandbox import SandboxRenderer

from .environment import needs_reference

pytestmark = needs_reference

MACRO = "{% macro m(a, b=1) %}[{{ b }}]{% endmacro %}"
GROUPS = "{% set g = [{'a': 2, 'b': 'x'}, {'a': 1, 'b': 'y'}, {'a': 2, 'b': 'z'}]|groupby('a') %}"
SIZES = (
    "{{ 'hi</think>yo'.rfind('</think>', 0, N) }}{{ 'aba'.find('a', 1, N) }}{{ 'aa'.find('a', N) }}"
    "{{ 'aba'.count('a', M, N) }}{{ 'ab'.endswith('b', 0, N) }}{{ 'ab'.startswith('a', M) }}"
    "{{ [1, 2, 1].index(1, 1, N) }}{{ (1, 2, 1).index(1, M) }}{{ 'ab'[M:N] }}{{ [1, 2][:N] }}"
)
LENGTHS = "{{ 'a b'|wordwrap(N) }}{{ [1, 2]|batch(N)|list }}{{ '{:.N}'.format('abc') }}"
ARGUMENTS = {"d": {"a": 1, "k": 2}, "l": ["x", "y"], "big": 2**63, "huge": 2**128}


def outcomes(source: str) -> tuple[object, object]:
    from tools.verify.chat.outcomes import Case, observe
    from tools.verify.chat.reference import Reference

    case = Case(source, RenderRequest([{"role": "user", "content": "Hi"}], arguments=ARGUMENTS))
    return observe(Reference(), case), observe(SandboxRenderer(), case)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 0 / big }}",
        # Views and generators have no index.
        "{{ d.items()[0] }}|{{ d.items().0 }}|{{ (l|map('upper'))[0] }}",
        # 1, 1.0 and True are one key.
        "{{ {1: 'a', 'k': none}[true] }}{{ {true: 'a'}[1.0] }}{{ {d.a: 1, 1: 2, true: 3} }}",
        # A namespace equals itself only, and has no order.
        "{% set n = namespace(a=1) %}{{ n == n }}{{ n == namespace(a=1) }}{{ n in [n] }}",
        "{% set n = namespace(a=1) %}{{ [n, namespace(a=1), n]|unique|list|length }}",
        "{{ [namespace(a=1), namespace(a=1)]|sort }}",
        "{% set ns = namespace() %}{% set ns._a = 1 %}{{ ns._a }}",
        # The names of a macro's parameters are a tuple, under whatever name it is called.
        MACRO + "{{ m.arguments }}{{ m['arguments'] }}{{ m|attr('arguments') }}",
        MACRO + "{% set f = m %}{{ f.arguments }}{{ [m]|map(attribute='arguments')|list }}",
        "{{ {l: 1} }}",
        "{{ {d: 1} }}",
        "{{ {(1, l): 1} }}",
        "{% set x = {'a'.split(): 1} %}",
        "{{ d|tojson(true, l) }}",
        "{{ 1|tojson(true, [1]) }}",
        "{{ 0.25 ** 1.5 }} {{ 4 ** -2 }} {{ 2 ** 0.5 }}",
        "{% for x in l %}{{ loop|length }}{{ loop|count }}{% endfor %}",
        # Printed part by part, a sum is what it is as a whole.
        "{{ 'a' ~ none ~ 1.0 ~ l ~ nothing ~ 'b{' ~ '{c' ~ '\\n' ~ (1 if d else 2) }}",
        "{{ 'a' + d.nothing }}",
        "{{ d.a + 'a' }}",
        "{{ 'a' + l[0] + 'b' + (l[1]|upper) }}{{ l[0] + l[1] + 'c' }}",
        "{% set x %}{{ 'a{' + l[0] }}{% endset %}{{ x }}{{ x|length }}",
        "{% macro f() %}{{ '{%' + l[1] + '{#' }}{% endmacro %}{{ f() ~ f()|length }}",
        # Words that are values elsewhere may be names of arguments.
        "{{ dict(True=1, false=2, None=3, not=4, a=5) }}{{ namespace(none=1).none }}",
        "{{ '{True}{not}'.format(True=1, not=2) }}{{ '%(false)s'|format(false=3) }}",
        "{{ nothing(True=4) }}",
        "{{ d(True=4) }}",
        # A key in brackets is no name of a method, and nothing else is found under it.
        "{% macro m(a) %}<{{ a }}>{% endmacro %}{% set o = {'say': m, 'a b': m} %}"
        "{{ o['say'](1) }}{{ (o['say'])(2) }}{{ o['a b'](3) }}",
        "{{ d['a'] }}{{ d['k']['x'] is defined }}{{ 'text'['role'] is defined }}{{ d['_a'] }}"
        "{{ l['role'] is defined }}{{ d['a b'] }}{{ d[''] }}{{ (1, 2)['x'] }}{{ none['true'] }}"
        "{{ 1['x'] }}{{ 1.5['x'] }}{{ true['x'] }}{{ [1]['x'] }}{{ (d if d else l)['k'] }}",
        "{% for x in l %}{{ loop['index'] }}{{ loop['last'] }}{{ loop['nextitem'] }}{% endfor %}",
        "{{ namespace(a=1)['a'] }}{{ {'self': 1}['self'] }}{{ {'loop': 1}['loop'] }}",
        "{{ nothing['x'] }}",
        "{{ d['x']() }}",
        "{{ 'a'['x']() }}",
        # `in` and `recursive` are names of variables, too: a comma ends no list of targets.
        "{% for k,in() %}{% endfor %}",
        "{% for a, in l %}{% endfor %}",
        "{% for in l %}{% endfor %}",
        "{% for (a,) in [[1]] %}{{ a }}{% endfor %}{% for x in l, recursive %}{{ x }}{% endfor %}",
        # jinja2 never sees what a constant in front decides.
        "{{ 'b' or ()|get }}{{ 'b' or l|get(1) }}{{ 'b' or l is foo }}{{ 1 == 2 and ()|get }}",
        "{{ ('b' or ()|get)|upper }}{{ '' and ()|get }}",
        "{{ '' or ()|get }}",
        "{{ l and ()|get }}",
        # What is trimmed is a part of a text, and mostly the whole of it.
        "{{ ' a '|trim }}|{{ 'a'|trim }}|{{ 'é\\u2003'|trim }}|{{ 5|trim }}|{{ 'aba'|trim('a') }}",
        "{{ ('<'|e)|trim + '<' }}{{ (' <'|safe).strip() ~ '<' }}{{ ('<'|e|string) + '<' }}",
        "{{ 'x'.strip() }}{{ ' x'.lstrip() }}{{ 'x '.rstrip() }}{{ none|string }}{{ 'x'|string }}",
        MACRO + "{{ m(1, true=4) }}",
        "{{ 'a'|default(None=4) }}",
        # Beside a word of Python a name may come twice, or may be unpacked as well.
        "{{ dict(class=1, class=2) }}{{ dict(a=1, class=3, a=2) }}",
        "{{ dict(class=1, **{'class': 2}) }}",
        "{{ dict(a=1, true=3, a=2) }}",
        "{{ dict(self=1) }}",
        "{{ namespace(self=1).self }}",
        "{{ dict(**{'self': 1}) }}",
        "{{ 'a' in d }}{{ 'b' in d }}{{ 1 in d }}{{ l[true] }}{{ l[-1] }}{{ l[9] }}"
        "{{ not 'a' in d }}",
        # jinja2 folds these into an undefined value.
        "{{ {'a': 1}[:1] }}",
        "{{ none[1:] }}",
        "{{ 'abc'['a':] }}",
        # A name that an inner scope reads before it is given a value.
        "{% for i in [1] %}[{{ d }}]{% endfor %}{% set d = 1 %}{{ d }}",
        "{% with %}[{{ d }}]{% endwith %}{% set d = 1 %}{{ d }}",
        "{% for j in [1, 2] %}{% for i in [1] %}[{{ d }}]{% endfor %}{% set d = j %}{% endfor %}",
        # `loop` is one object in all passes, whatever it is called, and ends with the last pass.
        "{% set ns = namespace() %}{% for i in l %}{{ ns.o == loop if i == 'y' }}"
        "{% set ns.o = loop %}{% endfor %}{% for i in l %}{{ ns.o == loop }}{% endfor %}"
        "{{ ns.o.index }}{{ ns.o.last }}{{ ns.o.revindex0 }}{{ ns.o.nextitem is defined }}",
        "{% for i in l %}{% set o = [loop] %}{% for k in 'ab' %}{{ o[0].index }}{{ loop.index }}"
        "{% if k == 'a' %}{% continue %}{% endif %}{{ o[0].cycle(1, 2) }}{% endfor %}{% endfor %}",
        "{% for i in [[[]], []] recursive %}{{ loop(*[i]) }}{{ loop(iterable=i) }}.{% endfor %}",
        "{% for i in [[[]], []] recursive %}{{ loop(i, 3) }}{% endfor %}",
        "{% for i in [[[]], []] recursive %}{% set o = loop %}{{ o(none) }}{% endfor %}",
        "{% for i in l %}{{ loop.cycle() }}{% endfor %}",
        "{% for i in l %}{% set o = loop %}{{ o.cycle(1, a=2) }}{% endfor %}",
        "{% for i in l %}{% with %}{% set z = i %}{% if i == 'x' %}{% continue %}{% endif %}"
        "{% macro f() %}{{ loop.index }}{{ z }}{% endmacro %}{{ f() }}{% endwith %}{% endfor %}",
        "{% for i in [[]] recursive %}{{ loop(i) }}{% else %}{{ loop }}{{ caller }}e{% endfor %}",
        # A macro takes `caller` where only a macro inside of it reads the name.
        "{% macro w() %}{% macro i() %}{% macro j() %}{{ caller() }}{% endmacro %}{% call j() %}J"
        "{% endcall %}{% endmacro %}{% call i() %}I{% endcall %}{% endmacro %}"
        "{% call w() %}B{% endcall %}",
        "{% macro w() %}{% macro i() %}{{ caller }}{% endmacro %}{{ i() }}{% endmacro %}"
        "{{ w(caller=1) }}{{ w.caller }}",
        "{% with () = u %}x{% endwith %}{% with a, b = d %}{{ b }}{{ a }}{% endwith %}",
        "{% with a, b = 3 %}{% endwith %}",
        # A namespace keeps no attribute with an underscore, whatever gives it.
        "{% set n = namespace() %}{% set n._a %}x{% endset %}",
        "{% for in in l %}{{ in }}{% endfor %}",
        # When a block ends, jinja2 empties its names, for macros that were made in it as well.
        "{% set n = namespace() %}{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}"
        "{% set n.m = m %}{{ n.m() }}{% endfor %}{% for i in l %}{{ n.m() }}{% endfor %}",
        "{% set n = namespace() %}{% macro w() %}{% set n.c = caller %}{% endmacro %}"
        "{% for i in l %}{% call w() %}{{ i }}{% endcall %}{{ n.c() }}{% endfor %}",
        "{% set n = namespace() %}{% for i in l %}{% set z = i %}"
        "{% macro m() %}{{ z }}.{% endmacro %}{% set n.m = m %}{{ n.m() }}{% endfor %}{{ n.m() }}",
        "{% macro w(a=caller) %}{{ a }}{% endmacro %}{% call w() %}B{% endcall %}",
        "{% macro w(a=caller) %}{{ a() }}{{ caller() }}{% endmacro %}{% call w() %}B{% endcall %}",
        "{% set n = namespace() %}{% for i in l %}{% set n.o = loop %}{% endfor %}"
        "{{ n.o.previtem }}{{ n.o.index }}{{ n.o.last }}",
        "{% for i in l %}{{ loop.changed(i) }}{{ loop.changed(1) }}{{ loop.previtem }}{% endfor %}",
        "{% for a, b in [l, l, 'pq'] if a != 'z' %}{{ loop.nextitem }}{{ loop.length }}"
        "{% endfor %}",
        "{% for i in l %}{% for k in l if loop.first %}{{ k }}{% endfor %}{% endfor %}",
        # A default is for what was not given: undefined is a value.
        MACRO + "{% set f = m %}{{ f(1, u) }}{{ f(1) }}{{ f(1, 2) }}{{ m(1, u) }}",
        MACRO + "{{ [m][0](1, b=u) }}",
        MACRO + "{% for f in [m] %}{{ f(1, l[7]) }}{% endfor %}",
        MACRO + "{% macro g(f) %}{{ f(1, u) }}{% endmacro %}{{ g(m) }}",
        MACRO + "{% set ns = namespace(f=m) %}{{ ns.f(1, u) }}",
        MACRO + "{% set f = m %}{{ f(*l) }}{{ m(**{'b': 3}) }}",
        MACRO + "{% if u %}{% macro m(a, b) %}{{ b }}{% endmacro %}{% endif %}{{ m(1, u) }}",
        # A text and what is undefined are unpacked as any sequence is.
        "{% for () in [u] %}x{% endfor %}",
        "{% set a, () = 1, u %}x",
        "{% for a, b in ['pq'] %}{{ b }}{{ a }}{% endfor %}",
        "{% set (a, b), c = 'pq', 1 %}{{ c }}{{ b }}",
        "{% set a, b = 'pqr' %}",
        # The items of a group have names, however they are asked for.
        GROUPS
        + "{{ g|map(attribute='list')|map('length')|list }}{{ g|map(attribute='grouper')|list }}"
        "{{ g[0]['list'] }}{{ g[0]['grouper'] }}{{ g[0].list }}{{ g[0][1] }}{{ g[0]['x'] }}",
        GROUPS
        + "{{ g|sort(attribute='grouper', reverse=true) }}{{ g|unique(attribute='grouper')|list }}"
        "{{ g|selectattr('grouper', 'eq', 1)|list }}{{ g|rejectattr('grouper', 'eq', 1)|list }}",
        GROUPS + "{{ g|join(',', attribute='grouper') }}{{ g|max(attribute='grouper') }}"
        "{{ g|groupby('grouper') }}{{ g|map(attribute='list.0.b')|list }}{{ (1, 2)['list'] }}",
        # Bounds, widths and counts that 32 bits do not hold.
        *(
            SIZES.replace("N", str(size)).replace("M", str(-size))
            for size in (2**32, 2**32 + 1, 2**63, 2**64)
        ),
        *(LENGTHS.replace("N", str(size)) for size in (2**32, 2**32 + 1, 2**63 - 1)),
        # A method or an attribute of jinja2's own objects is a value, too.
        "{% for x in [1, 2, 2] %}{% set c = loop.cycle %}{% set o = loop.changed %}"
        "{{ c('a', 'b') }}{{ o(x) }}{{ loop.changed is defined }}{{ loop['cycle'] is callable }}"
        "{{ c == loop.cycle }}{{ loop.next is defined }}"
        "{{ loop|attr('cycle') is callable }}{% endfor %}",
        "{% set c = cycler(1, 2) %}{% set f = c.next %}{{ f() }}{{ f() }}{{ f() }}{{ c.current }}"
        "{% set r = c.reset %}{{ r() }}{{ c.current }}{{ c.changed is defined }}"
        "{{ c['next']() }}{{ c['reset']() }}{{ c['none'] }}",
        "{% for x in [1, 1] %}{{ loop['changed'](x) }}{{ loop['cycle'](3, 4) }}{% endfor %}",
        "{{ range(1, 9, 3).start }}{{ range(3).stop }}{{ range(3).step }}{{ range(3)['stop'] }}"
        "{{ {'stop': 1}.stop }}{{ {'next': 2}.next }}{{ d.mapping is defined }}{{ l.reset }}",
        MACRO + "{{ m.explicit_caller }}{{ m['explicit_caller'] }}{{ m.caller }}",
        "{% set f = d.keys().isdisjoint %}{{ f(l) }}{{ f(['a']) }}{{ 'a'.unescape is defined }}",
        "{% set f = ('<'|e).unescape %}{{ f() }}{{ ('<b>x'|safe).striptags is callable }}"
        "{% set f = (''|safe).escape %}{{ f('<') }}",
        # A view is asked as its dictionary is.
        "{% set v = dict(range(40)|batch(2)) %}{{ 4.0 in v.keys() }}{{ v[true + 1] }}{{ 5 in v }}"
        "{{ (4, 5) in v.items() }}{{ (4, 6) in v.items() }}{{ 4 in v.items() }}"
        "{{ 5 in v.values() }}{{ v == dict(v.items()) }}{{ v.keys() == dict(v).keys() }}"
        "{{ v.items() == v.keys() }}{{ v[none] is defined }}{{ v['4'] is defined }}"
        "{{ (v, 4) in v.values() }}",
        "{{ l in d.keys() }}",
        "{{ (l, 1) in d.items() }}",
        "{{ [1, 1.0, (1, 2), true, 2, (1, 2.0), none, 'a', none, -0.0, 0, 'a']|unique|list }}"
        "{{ [d.items, d.items, d.keys]|unique|list|length }}{{ [u, u, ()]|unique|list|length }}",
        # Keys and items compare as sets do.
        "{% set e = dict(d, z=1) %}{{ d.keys() < e.keys() }}{{ d.keys() <= d.keys() }}"
        "{{ e.keys() > d.keys() }}{{ e.items() >= d.items() }}{{ d.keys() > d.items() }}"
        "{{ {'b': 1}.keys() <= d.keys() }}{{ [d.keys(), e.keys()]|max }}"
        "{{ d.items() < e.items() }}",
        "{{ d.keys() < l }}",
        "{{ d.values() <= d.values() }}",
        "{{ d.items() < {'a': 1, 'k': [l]}.items() }}",
        "{{ ((-(2**126)) * 2) is divisibleby(-1) }}{{ ((-(2**126)) * 2) is divisibleby(3) }}"
        "{{ huge is divisibleby(3.0) }}{{ 2.5 is divisibleby(huge) }}",
        "{{ 15|round(2**63) }}{{ 1.5|round(2**63) }}{{ 1.5|round(-(2**63) - 1) }}"
        "{{ 1.5|round(huge) }}",
        "{{ 1.5|round('a') }}",
        # `textwrap` wants True itself for lines that end behind hyphens, and only compares a width.
        "{{ 'hello World-Wide'|wordwrap(2, false, '|', 1) }}"
        "{{ 'hello World-Wide ab'|wordwrap(9, true, '|', 1) }}",
        "{{ 'hello World-Wide'|wordwrap(80 / 2) }}{{ 'a b c'|wordwrap(3.5, true, '|') }}"
        "{{ 'hello World'|wordwrap(2.5, false, '|') }}{{ 'a b'|wordwrap(huge) }}",
        "{{ 'hello World'|wordwrap(2.5) }}",
        "{{ 'hello World'|wordwrap(-0.5) }}",
        "{{ 'hello World'|wordwrap(l) }}",
        "{{ ''|wordwrap(l) }}|{{ ''|wordwrap(2, wrapstring='<'|safe) + '<' }}",
        # The indentation of a text is not looked at.
        "{{ 'a'|tojson(indent=1.5) }}{{ ('<'|e)|tojson(indent=l) }}{{ 'a'|tojson(indent=2) }}",
        "{{ l|tojson(indent=1.5) }}",
        "{% set n = 1 %}{% set n.a = 2 %}",
        "{% set __a = 1 %}{{ __a }}{% set if = 2 %}",
    ],
)
def test_is_the_reference(source: str) -> None:
    from tools.verify.chat.outcomes import compare

    expected, found = outcomes(source)
    assert compare(expected, found) == "equal", f"{expected}\n{found}"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "feature"),
    [
        # Walking over `loop` takes the items from the loop.
        ("{% for x in l %}{{ 1 in loop }}{% endfor %}", "loop"),
        ("{% for x in l %}{{ loop|list }}{% endfor %}", "loop"),
        # Behind a block jinja2 shows its own mark for what was a parameter there.
        (
            "{% set n = namespace() %}{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}"
            "{% set n.m = m %}{% endfor %}{{ n.m() }}",
            "a macro of a block that reads its names behind it",
        ),
        # Floats would say that it is divisible.
        ("{{ huge is divisibleby(9007199254740993) }}", "remainder beyond 128 bits"),
        ("{{ (2**126 - 1 + 2**126)|round(-38) }}", "rounding beyond 128 bits"),
        ("{{ (d.keys() - ['a'])|list }}", "a set"),
        ("{{ (l - d.items())|length }}", "a set"),
        ("{{ d.keys().mapping }}", "the mapping of a view"),
        ("{{ d.items()['mapping'].a }}", "the mapping of a view"),
        # The last digit is another one in another C library.
        ("{{ 2.5 ** 2.5 }}", "power"),
    ],
)
def test_is_refused_by_name(source: str, feature: str) -> None:
    _, found = outcomes(source)
    assert (found.kind, found.feature) == ("refused", feature)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [2**32, 2**32 + 1, 2**63 - 1])
@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a'.center(N) }}",
        "{{ 'a'|center(N) }}",
        "{{ 'a'.ljust(N) }}",
        "{{ 'a'.rjust(N) }}",
        "{{ 'a'.zfill(N) }}",
        "{{ 'a'|indent(N) }}",
        "{{ [1]|batch(N, 0)|list }}",
        "{{ [1]|slice(N)|list }}",
    ],
)
def test_what_no_memory_holds_is_past_a_limit(source: str, size: int) -> None:
    from tools.verify.chat.outcomes import Case, observe

    request = RenderRequest([{"role": "user", "content": "x"}])
    case = Case(source.replace("N", str(size)), request)
    assert observe(SandboxRenderer(), case).kind == "limit"


BUFFERED = {
    "macro": "{% macro m() %}12{% generation %}XY{% endgeneration %}34{% endmacro %}ab{{ m() }}cd",
    "set": "{% set x %}12{% generation %}XY{% endgeneration %}{% endset %}ab{{ x }}cd",
    "recursive": "{% for x in [1] recursive %}1{% generation %}XY{% endgeneration %}2{% endfor %}b",
    "call": "{% macro m() %}1{{ caller() }}{% endmacro %}"
    "a{% call m() %}2{% generation %}XY{% endgeneration %}{% endcall %}",
}


@pytest.mark.parametrize("name", BUFFERED)
def test_a_generation_block_in_a_buffer_is_where_its_text_is(name: str) -> None:
    """The reference counts what was written out before, and names other characters."""
    from tools.verify.chat.reference import Reference

    request = RenderRequest([{"role": "user", "content": "x"}], generation=True)
    here = SandboxRenderer().compile(BUFFERED[name]).render(request)
    assert [here.text[start:end] for start, end in here.generation] == ["XY"]
    there = Reference().compile(BUFFERED[name]).render(request)
    assert there.text == here.text
    assert [there.text[start:end] for start, end in there.generation] != ["XY"]
