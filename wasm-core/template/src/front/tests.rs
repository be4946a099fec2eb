//! Whole templates: their text, their mistakes, their bounds.

use super::parse;
use crate::context::parse_json;
use crate::error::{Error, Kind};
use crate::limits::Limits;
use crate::render::{Options, Template};

fn rendered(source: &str) -> Result<String, Error> {
    let template = Template::compile(source, true, &Limits::default())?;
    let variables = parse_json(b"{\"x\": 1, \"y\": {}, \"b\": [1, 2, 3]}", 9)?;
    template.render(variables, &Options::default()).map(|rendered| rendered.text)
}

fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(rendered(source).as_deref(), Ok(*expected), "{source}");
    }
}

fn refused(source: &str) -> Error {
    let parsed = parse(source, &Limits::default(), |_, _| ());
    parsed
        .map(|((), notes)| notes.unsupported.first().cloned().unwrap())
        .unwrap_or_else(|error| error)
}

#[test]
fn white_space_is_jinja2s() {
    check(&[
        ("  {% set a = 1 %}\n x", " x"),
        ("a \x1c{{- 'b' -}}\x1f\n c", "abc"),
        ("a\n  {#- c #}\n  {%+ print 1 +%}\nb\n", "a  1\nb"),
        ("  {% raw %}\n{{ a }} {%- endraw %}\nb", "\n{{ a }}b"),
        ("x{# {{ a #}{#", "x"),
        ("{ {%- if 1 %}{% endif %}", "{"),
        ("{{ {'a': {}} }}", "{'a': {}}"),
        ("{{ 'a\\x0d' }}", "a\r"),
    ]);
}

#[test]
fn names_are_jinja2s() {
    check(&[
        ("{% set a = 1 %}{% for i in b %}{{ a }}{% set a = i %}{{ a }}{% endfor %}{{ a }}", "1112131"),
        ("{% for i in b %}{{ q is defined }}{% set q = 1 %}{% endfor %}", "FalseFalseFalse"),
        ("{% with a = 1, c = a %}{{ a }}{{ c }}{% endwith %}", "1"),
        ("{% if 0 %}{% set x = 2 %}{% endif %}{{ x }}", "1"),
        ("{% macro m() %}{{ z }}{% endmacro %}{% set z = 5 %}{{ m() }}", "5"),
        ("{% set n = namespace() %}{% for i in b %}{% macro m() %}{{ i }}{% endmacro %}\
          {% set n.m = m %}{{ n.m() }}{% endfor %}", "123"),
        ("{% for i in b %}{% set t %}{{ i }}{% if i == 2 %}{% break %}{% endif %}{% endset %}{{ t }}\
          {% else %}E{% endfor %}", "1"),
        ("{% for i in b %}{% continue %}{% else %}E{% endfor %}", "E"),
        ("{% for i in [1, [2, [3]]] recursive %}{{ loop.depth }}{{ loop(i) if i is iterable else i }}\
          {% endfor %}", "11122233"),
        ("{% for i in b if i != 2 %}{{ loop.index }}{{ i }}{{ loop.last }}{% endfor %}", "11False23True"),
        ("{% set n = namespace(k=0) %}{% for i in b if n.k < 2 %}{% set n.k = n.k + 1 %}{{ i }}\
          {% endfor %}", "12"),
        ("{% macro m(a, c=a) %}{{ a }}{{ c }}{{ varargs }}{{ kwargs }}{% endmacro %}\
          {{ m(1) }}{{ m(1, none, 3, k=4) }}{{ m(1, u) }}", "11(){}1None(3,){'k': 4}1(){}"),
        ("{% macro m() %}{{ caller(2) }}{% endmacro %}{% call(v) m() %}{{ v }}{{ x }}{% endcall %}", "21"),
    ]);
}

#[test]
fn mistakes_have_lines() {
    for (source, line) in [
        ("a\n{# two\nlines #}\n{%- if x.y.z %}{% endif %}", 4),
        ("{{ 'a\\n\\nb' }}\n{{ 'c' ~ '\\n' ~ x }}\n{{ y.z }}{{ 'd' }}\n\n{{ nothing.at_all.here }}", 5),
        ("{% macro m() %}\n{{ 1 + 'a' }}{% endmacro %}\n\n{{ m() }}", 2),
    ] {
        let failed = rendered(source).unwrap_err();
        assert_eq!(failed.line, Some(line), "{failed:?}");
    }
}

#[test]
fn mistakes_have_places() {
    let error = refused("ab\n {{ x y }}");
    assert_eq!((error.kind, error.line, error.column), (Kind::Syntax, Some(2), Some(7)));
    assert_eq!(error.message, "expected token 'end of print statement', got 'y'");
    assert_eq!(refused("{{ x|nosuch }}").message, "No filter named 'nosuch'.");
    assert_eq!(
        refused("{% for a in b %}{% generation %}{% break %}{% endgeneration %}{% endfor %}").kind,
        Kind::Syntax
    );
    assert_eq!(refused("{{ (1] }}").message, "unexpected ']', expected ')'");
}

#[test]
fn what_cannot_be_exact_is_named() {
    for (source, feature) in [
        ("{{ '\\N{DASH}' }}", "the escape \\N{}"),
        ("{% autoescape true %}{% endautoescape %}", "the tag `autoescape`"),
        ("{% include 'x' %}", "the tag `include`"),
        ("{% set a = none[:] is defined %}", "a slice of constants"),
        (
            "{% macro m() %}{% set kwargs = kwargs %}{% endmacro %}",
            "a variable named `kwargs` in a macro",
        ),
    ] {
        let error = refused(source);
        assert_eq!((error.kind, error.feature.as_deref()), (Kind::Unsupported, Some(feature)));
        assert_eq!(error.line, Some(1));
    }
}

#[test]
fn arguments_are_named_once() {
    assert_eq!(refused("{{ f(a=1, true=2, a=3) }}").message, "keyword argument repeated: a");
}

#[test]
fn limits_are_named() {
    let limits = Limits::default();
    let nested = |open: &str, close: &str, times: usize| {
        format!("{}1{}", open.repeat(times), close.repeat(times))
    };
    for (source, name) in [
        ("x".repeat(limits.source + 1), "source"),
        (format!("{{{{ {}1 }}}}", "not ".repeat(10_000)), "chain"),
        (format!("{{{{ 1{} }}}}", "+1".repeat(10_000)), "chain"),
        (format!("{{{{ a{} }}}}", ".b".repeat(10_000)), "chain"),
        (format!("{{{{ a{} }}}}", "|trim".repeat(10_000)), "chain"),
        (format!("{{{{ {}1 }}}}", "1 if 0 else ".repeat(10_000)), "chain"),
        (format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(10_000)), "branches"),
        (format!("{{{{ {} }}}}", nested("(", ")", 10_000)), "nesting"),
        (format!("{{{{ {} }}}}", nested("[", "]", 110)), "nesting"),
        (nested("{% if 1 %}", "{% endif %}", 5_000), "nesting"),
    ] {
        let error = parse(&source, &limits, |_, _| ()).unwrap_err();
        assert_eq!((error.kind, error.feature.as_deref()), (Kind::Limit, Some(name)));
    }
}

#[test]
fn mutilated_templates_are_answered() {
    let source = "{% macro m(a, b=1) -%}\n{% for x in a[1:] if x is defined %}{{ loop.index ~ x|e }}{% else %}\
                  {% endfor %}{%- endmacro %}{# c #}{% raw %}{{{% endraw %}{{ m({'k': [1, 'é']}) }}";
    for end in (0..source.len()).filter(|&at| source.is_char_boundary(at)) {
        for start in (0..=end).step_by(7).filter(|&at| source.is_char_boundary(at)) {
            drop(rendered(&source[start..end]));
        }
    }
}
