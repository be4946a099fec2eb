"""Values x filters, tests, methods and operators: thousands of one-liners.

The answers are not recorded: the reference gives them when it is asked. A form is a template with
`@` for the value; the forms name every filter and test of jinja2 3.1.6 and every method that its
sandbox lets through.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pywasmtok.chat.contract import RenderRequest

from .corpus import NOW, PLAIN_CHAT
from .outcomes import Case

# What a template meets: of the context (JSON), or made by its own expressions.
CONTEXT: Mapping[str, Any] = {
    "s_empty": "",
    "s_abc": "abc",
    "s_words": " It's a-b  c_d \n",
    "s_wide": "äß😀 İ",
    "s_html": "<a href='x'>&amp;\"</a>",
    "s_int": "12",
    "s_float": "-3.70",
    "s_format": "%s-%d {0} {a}",
    "s_control": "a\x1cb\x85c\u2028d\x7f\te",
    "i_one": 1,
    "i_minus": -7,
    "i_word": 2**63,
    "i_huge": 2**70,
    "f_half": 2.5,
    "f_one": 1.0,
    "f_small": 1e-07,
    "f_large": 1e16,
    "l_empty": [],
    "l_ints": [3, 1, 2],
    "l_mixed": [1, "1", 1.0, True, None, "b"],
    "l_words": ["b", "A", "c", "a", "b"],
    "l_pairs": [["b", 1], ["a", 2]],
    "l_rows": [{"k": "x", "n": 2}, {"k": "Y", "n": 1}, {"k": "x", "n": 3}],
    "l_deep": [[1, [2]], {"a": [3, {"b": None}]}],
    "d_empty": {},
    "d_plain": {"b": 1, "a": 2, "C": 3},
    "d_named": {"items": 1, "keys": [2], "get": "g", "a b": "c"},
    "d_deep": {"a": {"b": [1, {"c": "x"}]}, "n": None, "t": True, "f": 1.5},
}
OWN: Sequence[str] = (
    "missing",
    "none",
    "true",
    "false",
    "0",
    "(1, 'a')",
    "()",
    "range(4)",
    "('<b>'|safe)",
    "namespace(a=1)",
    "(l_words|map('upper'))",
    "d_plain.items()",
    "{1: 'a', 'k': none}",
)
VALUES: Sequence[str] = (*CONTEXT, *OWN)

FILTERS = """
abs attr('upper') attr('a') attr('items') batch(2) batch(2,'-') batch(linecount=3) capitalize
center center(9) center(width=20) count d d('x') d('x',true) default('x',boolean=true)
default(default_value=1) dictsort dictsort(true) dictsort(by='value') dictsort(reverse=true)
dictsort(false,'key',true) e escape filesizeformat filesizeformat(true) first float float(1.5)
float(default=none) forceescape format format(1,2) format('a',1) format(a=1) groupby('k')
groupby('n',default=0) groupby('k')|map('list') groupby(0) indent indent(2) indent(2,true)
indent(width='--',first=true,blank=true) indent(blank=true) int int(7) int(0,16) int(default=3)
int(base=2) items items|list join join(',') join('-',attribute='k') join(d=none) join(1)
last length list lower map('upper') map('upper')|list map(attribute='k')|list
map(attribute='n')|join(',') map(attribute='z',default='-')|list map(attribute=0)|list
map('default','x')|list map('replace','a','b')|list map()|list map('nosuch')|list max
max(attribute='n') max(case_sensitive=true) min min(attribute='n') pprint pprint|length
reject|list reject('none')|list reject('string')|list rejectattr('k')|list
rejectattr('n','gt',1)|list rejectattr('k','equalto','x')|list replace('a','b')
replace('b','x',1) replace('','-') replace(old='a',new='') reverse reverse|list round round(1)
round(0,'floor') round(1,'ceil') round(precision=2,method='common') round(-1) safe safe|string
select|list select('odd')|list select('string')|list select('in',[1,'b'])|list selectattr('k')|list
selectattr('n','gt',1)|list selectattr('k','defined')|list selectattr('k','==','x')|list
slice(2)|list slice(2,'-')|list sort sort(true) sort(reverse=true,case_sensitive=true)
sort(attribute='n') sort(attribute='k,n') string striptags sum sum(attribute='n') sum(start=5)
title tojson tojson(true) tojson(indent=2) tojson(indent='-') tojson(ensure_ascii=true)
tojson(separators=(',',':')) tojson(sort_keys=true) tojson(indent=0) trim trim('a') trim(chars='<\\x20')
truncate truncate(3) truncate(5,true) truncate(5,true,'..') truncate(5,leeway=0) truncate(length=4,end='')
unique unique|list unique(true)|list unique(attribute='k')|list upper urlencode urlize
urlize(10,true) wordcount wordwrap wordwrap(4) wordwrap(4,false) wordwrap(5,wrapstring='|') xmlattr
xmlattr(false) nosuch
""".split()

TESTS = """
boolean callable defined divisibleby(2) divisibleby(0) eq(1) equalto('abc') escaped even
false filter float ge(1) greaterthan(1) gt(1) in([1,'abc',2.5]) in('abcd') integer iterable le(1)
lessthan(1) lower lt(1) mapping ne(1) none number odd sameas(none) sameas(true) sequence string test
true undefined upper nosuch
""".split()

METHODS = """
capitalize() casefold() center(9) center(9,'*') count('a') count('b',1,3) encode() encode('utf-8')
endswith('c') endswith(('x','\\n')) endswith('b',0,2) expandtabs() expandtabs(4) find('b') find('z')
find('b',1,2) format() format(1,2,a=3) format('x',a='y') format_map({'a':1}) index('b') index('zz') index(2)
isalnum() isalpha() isascii() isdecimal() isdigit() isidentifier() islower() isnumeric()
isprintable() isspace() istitle() isupper() join(['a','b']) join('ab') join([1]) ljust(9) ljust(9,'-')
lower() lstrip() lstrip('a\\x20') maketrans('a','b') partition('-') partition('') removeprefix('a')
removesuffix('c') replace('a','b') replace('a','b',1) rfind('b') rindex('b') rjust(9,'0')
rpartition('-') rsplit() rsplit(None,1) rsplit('b',1) rstrip() rstrip('\\n\\x20') split() split('b')
split('\\x20',1) split(None,1) split(sep='-',maxsplit=1) split('') splitlines() splitlines(true)
startswith('a') startswith(('x','\\x20')) startswith('b',1) strip() strip('a') strip(none) swapcase()
title() translate({97:'b'}) upper() zfill(7) zfill('x')
get('a') get('b',9) get('zz') get('zz',[]) get() items() items()|list items()|length keys()
keys()|list values() values()|list copy() fromkeys('ab') pop('a') update({'a':1}) setdefault('a',1)
clear() popitem() append(1) insert(0,1) extend([1]) remove(1) reverse() sort() count(1)
bit_length() conjugate() as_integer_ratio() hex() nosuch() __len__() __class__
items keys a upper imag real numerator
""".split()
if sys.version_info < (3, 12):
    # Ints have it in newer versions; templates are evaluated as Python 3.11 does it.
    METHODS.append("is_integer()")

BINARY = "+ - * / // % ** ~ == != < <= > >= in and or".split() + ["not in"]
# Both sides: a power, or a repetition, of the larger ones is a matter of limits, not of answers.
SIDES: Sequence[str] = (
    "missing",
    "none",
    "true",
    "0",
    "3",
    "i_minus",
    "i_word",
    "f_half",
    "f_large",
    "s_empty",
    "s_abc",
    "s_format",
    "s_wide",
    "l_ints",
    "l_empty",
    "d_plain",
    "d_named",
    "(1, 'a')",
    "('<b>'|safe)",
    "range(3)",
)

FORMS = """
{{ @ }}
{{ [@] }}
{{ {'k': @} }}
{{ (@,) }}
{{ @ ~ '' }}
{{ -@ }}
{{ +@ }}
{{ not @ }}
{{ @|string|length }}
{{ @[0] }}
{{ @[-1] }}
{{ @['a'] }}
{{ @['items'] }}
{{ @.items }}
{{ @.a }}
{{ @.0 }}
{{ @[none] }}
{{ @[1.0] }}
{{ @[true] }}
{{ @[missing] }}
{{ @[:] }}
{{ @[1:] }}
{{ @[:-1] }}
{{ @[::-1] }}
{{ @[::2] }}
{{ @[-2:9:1] }}
{{ @[2:0:-1] }}
{{ @['a':] }}
{{ @[::0] }}
{{ @[1:none] }}
{{ @[1, 2] }}
{{ @() }}
{{ @(1) }}
{{ 'y' if @ else 'n' }}
{{ 'y' if @ }}
{{ @ and 'y' }}
{{ @ or 'n' }}
{{ @ is defined and @ is not none }}
{{ 1 < @ < 3 }}
{{ @ == @ }}
{{ @ in [@] }}
{{ @ is in [1, 'abc'] }}
{{ @ is sameas @ }}
{% for x in @ %}[{{ x }}]{% endfor %}
{% for x in @ %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{% else %}E{% endfor %}
{% for x in @ %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a','b') }}{% endfor %}
{% for x in @ if x %}{{ x }}{{ loop.revindex }}{% endfor %}
{% for x, y in @ %}{{ x }}={{ y }};{% endfor %}
{% for x in @ %}{{ loop.changed(x) }}{% endfor %}
{% for x in @|list %}{{ x }}{% endfor %}
{% for x in @[::-1] %}{{ x }}{% endfor %}
{% for x in @ recursive %}{{ x }}{{ loop.depth }}{% endfor %}
{% for k, v in @.items() %}{{ k }}{{ v }}{% endfor %}
{% for k, v in @|items %}{{ k }}{{ v }}{% endfor %}
{% for k, v in @|dictsort %}{{ k }}{{ v }}{% endfor %}
{% set x = @ %}{{ x }}{{ x is defined }}
{% set x, y = @ %}{{ x }}{{ y }}
{% set x %}{{ @ }}{% endset %}{{ x|length }}{{ x }}
{% set x | upper %}{{ @ }}{% endset %}{{ x }}
{% set ns = namespace(v=@) %}{% set ns.w = @ %}{{ ns.v }}{{ ns.w }}
{% set ns = namespace(@) %}{{ ns.a }}
{% with x = @ %}{{ x }}{% endwith %}
{% filter upper %}{{ @ }}{% endfilter %}
{% filter trim %} {{ @ }} {% endfilter %}
{% if @ %}y{% elif @ is none %}N{% else %}n{% endif %}
{% macro m(a, b=@) %}{{ a }}{{ b }}{% endmacro %}{{ m(@) }}{{ m(b=1, a=@) }}
{% macro m(a) %}{{ a }}{{ caller(a) }}{% endmacro %}{% call(x) m(@) %}({{ x }}){% endcall %}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(@, k=@) }}
{{ dict(@) }}
{{ dict(a=@) }}
{{ dict(@, a=1) }}
{{ range(@)|list }}
{{ range(@, 3)|list }}
{{ '%s' % @ }}
{{ '%s' % (@,) }}
{{ '%r' % (@,) }}
{{ '%d' % @ }}
{{ '%5.1f|%-4s' % (@, @) }}
{{ '%x' % @ }}
{{ '%(a)s' % @ }}
{{ '{}'.format(@) }}
{{ '{0!r:>9}'.format(@) }}
{{ '{:>8}|{:<8}'.format(@, @) }}
{{ '{:05d}'.format(@) }}
{{ '{:.2f}'.format(@) }}
{{ '{:,}'.format(@) }}
{{ '{0.a}{0[a]}'.format(@) }}
{{ '%s and %s'|format(@, @) }}
{{ ['x', @]|join('-') }}
{{ [@, @]|unique|list }}
{{ [@, @]|sort }}
{{ [@]|map('string')|list }}
{{ [@]|tojson }}
{{ {'k': @}|tojson(indent=2) }}
{{ {'k': @}|items|list }}
{{ raise_exception(@) }}
{{ strftime_now(@) }}
{{ cycler(@, 1).next() }}
{% set j = joiner(@) %}{{ j() }}{{ j() }}
{% raw %}{{ @ }}{% endraw %}
{% generation %}{{ @ }}{% endgeneration %}
{{ @, 1 }}
{{ lipsum is callable }}{{ @ is callable }}
""".strip("\n").split("\n")


def _case(section: str, source: str) -> Case:
    return Case(source, RenderRequest(messages=PLAIN_CHAT, arguments=CONTEXT, now=NOW), section)


def filters() -> Iterator[Case]:
    for value in VALUES:
        for form in FILTERS:
            yield _case("filters", f"{{{{ {value}|{form} }}}}")


def tests() -> Iterator[Case]:
    for value in VALUES:
        for form in TESTS:
            yield _case("tests", f"{{{{ {value} is {form} }}}}{{{{ {value} is not {form} }}}}")


def methods() -> Iterator[Case]:
    for value in VALUES:
        subject = f"({value})" if value[0].isdigit() else value
        for form in METHODS:
            yield _case("methods", f"{{{{ {subject}.{form} }}}}")


def operators() -> Iterator[Case]:
    for left in SIDES:
        for right in SIDES:
            for operator in BINARY:
                if operator in {"*", "**", "//"} and {left, right} & {"i_word", "f_large"}:
                    continue
                yield _case("operators", f"{{{{ {left} {operator} {right} }}}}")


def forms() -> Iterator[Case]:
    for value in VALUES:
        subject = f"({value})" if value[0].isdigit() else value
        for form in FORMS:
            yield _case("forms", form.replace("@", subject))


SECTIONS = {
    "filters": filters,
    "tests": tests,
    "methods": methods,
    "operators": operators,
    "forms": forms,
}
