//! One-liners with jinja2's answers: the smallest that were answered otherwise once, and one of
//! each rule that is easy to lose.

use crate::error::Kind;
use crate::limits::Limits;
use crate::render::{Options, Template};

fn answer(source: &str) -> Result<String, Kind> {
    let template = Template::compile(source, true, &Limits::default());
    let variables = crate::context::dict(Vec::new());
    let rendered = template.and_then(|template| template.render(variables, &Options::default()));
    rendered.map(|rendered| rendered.text).map_err(|error| error.kind)
}

fn check(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        let source = format!("{{{{ {expression} }}}}");
        assert_eq!(answer(&source).as_deref(), Ok(*expected), "{source}");
    }
}

fn check_kind(kind: Kind, expressions: &[&str]) {
    for expression in expressions {
        let source = format!("{{{{ {expression} }}}}");
        assert_eq!(answer(&source), Err(kind), "{source}");
    }
}

#[test]
fn methods_of_texts() {
    check(&[
        ("'\\x1c a '.strip()", "a"),
        ("\"it's\".title()", "It'S"),
        ("'a b c'.split(maxsplit=1)", "['a', 'b c']"),
        ("'abc'.find('c', -1)", "2"),
        ("'abc'.startswith(('x', 'a'))", "True"),
        ("'a,b'.partition(',')", "('a', ',', 'b')"),
        ("'-'.join(['a', 'b'])", "a-b"),
        ("('<'|safe).join(['&'])", "&amp;"),
        ("('a'|safe).replace('a', '<')", "&lt;"),
        ("('<b>x'|safe).striptags()", "x"),
        ("'%s|%5.1f|%-3d|%%' % ('a', 2.25, 7)", "a|  2.2|7  |%"),
        ("'%(k)s' % {'k': [1]}", "[1]"),
        ("'a' % []", "a"),
        ("('%s'|safe) % '<'", "&lt;"),
    ]);
    check_kind(
        Kind::Runtime,
        &[
            "'a'.split('')",
            "'a'.upper(1)",
            "'a'.index('b')",
            "'-'.join([1])",
            "'a'.nope()",
            "'a' % 1",
            "'%d' % 'a'",
            "'a'.splitlines(['x'])",
        ],
    );
    check_kind(Kind::Unsupported, &["'a'.encode()", "'a'.translate({})"]);
}

#[test]
fn formats_in_the_sandbox() {
    check(&[
        ("'{} {}'.format(1, 'b')", "1 b"),
        ("'{:>{w}}'.format('a', w=3)", "  a"),
        ("'{a[b]}{a.b}'.format(a={'b': 1})", "11"),
        ("'{!r:>5}'.format('a')", "  'a'"),
        ("'{0.__class__}'.format(1)", ""),
        ("('<{}>'|safe).format('&')", "<&amp;>"),
        ("'{a}'.format_map({'a': 1})", "1"),
        ("'{:,}'.format(1234567)", "1,234,567"),
    ]);
    check_kind(
        Kind::Runtime,
        &["'{}{0}'.format(1)", "'{'.format(1)", "'{:5}'.format(none)", "'{b}'.format(a=1)"],
    );
}

#[test]
fn what_changes_a_value_is_refused() {
    check_kind(
        Kind::Runtime,
        &[
            "[1].append(2)",
            "{}.update({})",
            "[2, 1].sort()",
            "{'a': 1}.pop('a')",
            "'a'.__len__()",
            "'a'._x()",
        ],
    );
    check(&[("[1].append is defined", "False"), ("{'a': 1}.copy()", "{'a': 1}")]);
}

#[test]
fn methods_of_containers_and_numbers() {
    check(&[
        ("{'a': 1}.get('b', 2)", "2"),
        ("{'b': 1, 'a': 2}.items()", "dict_items([('b', 1), ('a', 2)])"),
        ("{'b': 1}.keys()|list", "['b']"),
        ("[1, 2, 1].count(1)", "2"),
        ("[1, 2].index(2)", "1"),
        ("(5).bit_length()", "3"),
        ("(0.75).as_integer_ratio()", "(3, 4)"),
        ("{}.fromkeys('ab', 0)", "{'a': 0, 'b': 0}"),
    ]);
    check_kind(Kind::Runtime, &["[1].index(2)", "{}.get([])", "range(3).index(1, 1)"]);
}

#[test]
fn filters_of_sequences() {
    check(&[
        ("[3, 1, 2]|sort(true)", "[3, 2, 1]"),
        ("['b', 'A', 'a']|sort", "['A', 'a', 'b']"),
        ("['b', 'A', 'a']|sort(case_sensitive=true)", "['A', 'a', 'b']"),
        ("[none, none]|sort", "[None, None]"),
        ("[{'a': 'X'}, {'a': 'x'}]|groupby('a')", "[('X', [{'a': 'X'}, {'a': 'x'}])]"),
        ("([{'a': 1}]|groupby('a')|first).grouper", "1"),
        ("['x', 'X', 1, true]|unique|list", "['x', 1]"),
        ("[1, 2, 3]|batch(2, 0)|list", "[[1, 2], [3, 0]]"),
        ("[1, 2]|batch('x')|list", "[[1, 2]]"),
        ("[1, 2, 3]|slice(2)|list", "[[1, 2], [3]]"),
        ("0|select|list", "[]"),
        ("[1, 2]|map('nope')|list|length if false else 1", "1"),
        ("undefined_name|map('upper')|list", "[]"),
        ("('ab'|safe)|list", "['a', 'b']"),
        ("['x'|safe]|map('last')|list", "[Markup('x')]"),
        ("{'b': 1, 'A': 2}|dictsort", "[('A', 2), ('b', 1)]"),
        ("[0.1, 0.2]|sum", "0.30000000000000004"),
        ("[]|min is undefined", "True"),
        ("'abc'|reverse", "cba"),
    ]);
    check_kind(
        Kind::Runtime,
        &[
            "[1, 'a']|sort",
            "[none, none]|min",
            "[1]|sort('x')",
            "5|select|list",
            "none|items|list",
            "[1]|map(attribute='a.b')|list",
            "[1]|slice(0)|list",
            "[1]|select|length",
        ],
    );
    check_kind(Kind::Limit, &["[1]|slice(10**9)|list", "[1]|batch(10**9, 0)|list"]);
}

#[test]
fn filters_of_texts() {
    check(&[
        ("'a\\n\\nb\\n'|indent(2)", "a\n\n  b\n"),
        ("'<\\n<'|indent('>'|safe)", "<\n>&lt;"),
        ("'foo bar baz qux'|truncate(9)", "foo..."),
        ("'short'|truncate(3.5)", "short"),
        ("'it\\'s (a-b)'|title", "It's (A-B)"),
        ("'a b'|urlencode", "a%20b"),
        ("{'a': 'b c', 'd': '/'}|urlencode", "a=b+c&d=%2F"),
        ("{'a': '<', 'b': none}|xmlattr", " a=\"&lt;\""),
        ("'well--known'|wordwrap(6)", "well--\nknown"),
        ("\"<'>\"|e", "&lt;&#39;&gt;"),
        ("'aaa'|replace('a', 'b', 2)", "bba"),
        ("5|center(4)", " 5  "),
    ]);
    check_kind(Kind::Runtime, &["5|indent", "'a b c d'|truncate(1)", "{'a b': 1}|xmlattr"]);
    check_kind(
        Kind::Limit,
        &["'a'|center(10**9)", "'a'|indent(10**9, true)", "'%999999999d'|format(1)"],
    );
    check_kind(Kind::Unsupported, &["[1]|random", "'a'|urlize"]);
}

#[test]
fn filters_of_numbers() {
    check(&[
        ("'42.7'|int", "42"),
        ("'0x1F'|int(0, 16)", "31"),
        ("'x'|int(7)", "7"),
        ("2.5|round", "2.0"),
        ("25|round(-1)", "20"),
        ("42.55|round(1, 'floor')", "42.5"),
        ("(2**70)|abs", "1180591620717411303424"),
        ("1234567|filesizeformat", "1.2 MB"),
        ("1e16", "1e+16"),
        ("0.01|string", "0.01"),
    ]);
    check_kind(Kind::Runtime, &["'a'|abs", "'a'|round", "undefined_name|int", "1e999|int"]);
}

#[test]
fn tests_of_values() {
    check(&[
        ("undefined_name is iterable", "True"),
        ("undefined_name is callable", "True"),
        ("{} is sequence", "True"),
        ("none is iterable", "False"),
        ("true is number", "True"),
        ("true is integer", "False"),
        ("3.0 is odd", "True"),
        ("-3 is odd", "True"),
        ("'upper' is filter", "True"),
        ("'A' is upper", "True"),
        ("1 is sameas 1", "True"),
        ("1 is sameas true", "False"),
        ("'a' is in 'abc'", "True"),
    ]);
    check_kind(
        Kind::Runtime,
        &["'a' is odd", "1 is lt('a')", "[] is filter", "1 is divisibleby(0)"],
    );
    check_kind(Kind::Unsupported, &["'ab' is sameas 'ab'"]);
}
