"""What no known template has, and jinja2 renders."""

from __future__ import annotations

from .conversations import user
from .extras import Row, chat


def rare() -> list[Row]:
    """Right is the text, and right is a refusal that names the construct."""
    one = chat(user("Hi"))
    return [
        ("named-character", "a character by its name", "{{ '\\N{BULLET}' }}", one),
        (
            "autoescape",
            "a block that escapes",
            "{% autoescape true %}{{ '<' }}{% endautoescape %}",
            one,
        ),
        ("octal", "octal escapes", "{{ '\\101\\60' }}", one),
        ("long-escape", "an escape of eight digits", "{{ '\\U0001F336' }}", one),
        ("unknown-escape", "an escape that is none", "{{ '\\d\\/' }}", one),
        ("big-power", "a power beyond machine numbers", "{{ 2 ** 200 }}", one),
        ("big-product", "a product beyond machine numbers", "{{ (2 ** 70) * (2 ** 70) }}", one),
        ("scoped", "a block with a scope", "{% block a scoped %}x{% endblock %}", one),
        (
            "set-do",
            "an argument list with stars",
            "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}",
            one,
        ),
        ("urlize", "links in text", "{{ 'see https://example.com now' | urlize }}", one),
        ("self", "a block by its name", "{% block a %}x{% endblock %}{{ self.a() }}", one),
        ("bytes", "bytes of a text", "{{ 'a'.encode() }}", one),
        ("format-map", "a text formatted by a mapping", "{{ '{a}'.format_map({'a': 1}) }}", one),
        ("number-keys", "numbers and none as keys", "{{ {1: 'one', 2.5: 'x', none: 'n'} }}", one),
        (
            "json-keys",
            "the same in json",
            "{{ {1: 'a', none: 'b', true: 'c', 2.5: 'd'} | tojson }}",
            one,
        ),
        ("translate", "characters by a table", "{{ 'tr'.translate({116: 'T'}) }}", one),
        (
            "more-arguments",
            "arguments that a macro does not name",
            "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}",
            one,
        ),
        (
            "block",
            "a block of a template that nothing extends",
            "{% block title %}inside{% endblock %}",
            one,
        ),
        ("mapping-keys", "one and true as keys of one mapping", "{{ {1: 'a', true: 'b'} }}", one),
        ("translated", "text for translators", "{% trans %}a{% endtrans %}", one),
        (
            "variable-method",
            "a method by a name in a variable",
            "{% set k = 'items' %}{{ {}[k] is defined }}",
            one,
        ),
    ]
