//! Whole templates, before and after.

use super::{translate, Dialect};
use crate::error::{Error, Kind};
use crate::limits::Limits;
use crate::render::{Options, Template};

fn written(source: &str, dialect: Dialect) -> String {
    let translated = translate(source, dialect, &Limits::default()).unwrap();
    assert_eq!(translated.unsupported, [], "{source}");
    translated.source
}

fn sandbox(source: &str) -> String {
    written(source, Dialect::Sandbox)
}

fn refused(source: &str) -> Error {
    let translated = translate(source, Dialect::Sandbox, &Limits::default());
    translated
        .map(|translated| translated.unsupported.first().cloned().unwrap())
        .unwrap_or_else(|error| error)
}

#[test]
fn white_space_is_jinja2s() {
    assert_eq!(sandbox("  {% set a = 1 %}\n x"), "{% set a = 1 %} x");
    assert_eq!(sandbox("a \x1c{{- 'b' -}}\x1f\n c"), "abc");
    assert_eq!(sandbox("a\n  {#- c #}\n  {%+ print 1 +%}\nb\n"), "a  {{ \n\n1 }}\nb");
    assert_eq!(sandbox("  {% raw %}\n{{ a }} {%- endraw %}\nb"), "\n{{ \"{\" }}{ a }}b");
    assert_eq!(sandbox("x{# {{ a #}{#"), "x");
}

#[test]
fn text_never_opens_a_tag_of_the_crate() {
    assert_eq!(sandbox("{ {%- if 1 %}{% endif %}"), "{{ \"{\" }}{% if 1 %}{% endif %}");
    assert_eq!(sandbox("{{ {'a': {}} }}"), "{{ {\"a\": { } } }}");
}

#[test]
fn operators_are_carried() {
    assert_eq!(sandbox("{{ a ~ b ~ 1 }}"), "{{ a }}{{ b }}{{ 1 }}");
    assert_eq!(sandbox("{{ a + 'x' + b }}"), "{{ a|__text }}x{{ b|__text }}");
    assert_eq!(sandbox("{{ a + 'x'|safe }}"), "{{ a|__add(\"x\"|safe) }}");
    assert_eq!(sandbox("{{ a not in b|list }}"), "{{ not a|__in(b|list) }}");
    assert_eq!(sandbox("{{ 1 < a.b <= 3 }}"), "{{ (1)|__lt(a.b) and a.b|__le(3) }}");
    assert_eq!(sandbox("{{ a == 'x' or a != b }}"), "{{ a == \"x\" or not a|__eq(b) }}");
    assert_eq!(sandbox("{{ (-2) ** a }}"), "{{ (2)|__pow(a)|__neg }}");
    assert_eq!(
        sandbox("{{ x[1:][::2] }}"),
        "{{ x|__slice(1, none, none)|__slice(none, none, 2) }}"
    );
    assert_eq!(
        sandbox("{{ x.items, x['items'] }}"),
        "{{ (x|__attribute(\"items\"), x|__item(\"items\")) }}"
    );
    assert_eq!(
        sandbox("{{ loop.index }}{{ x[k] }}{{ x['k'] }}{{ x['a b'] }}{{ x['k'](1) }}"),
        "{{ loop.index }}{{ x|__item(k) }}{{ x.k }}{{ x[\"a b\"] }}{{ x[\"k\"](1) }}"
    );
    assert_eq!(sandbox("{{ -x|f if 0 }}").find("__missing"), Some(11));
}

#[test]
fn dialects_differ_in_their_carriers() {
    let source = "{{ x.strip()|length }}{% if x == 'a' %}{% endif %}";
    let traced = "{{ x.strip()|length }}{% if x|__eq(\"a\") %}{% endif %}";
    assert_eq!(written(source, Dialect::Traced), traced);
}

#[test]
fn loops_and_blocks_keep_their_scopes() {
    assert_eq!(sandbox("{% for a in b %}{% endfor %}"), "{% for a in b|__iterable %}{% endfor %}");
    let generation = "{% with %}{{ __generation(true) }}x{{ __generation(false) }}{% endwith %}";
    assert_eq!(sandbox("{% generation %}x{% endgeneration %}"), generation);
    assert!(sandbox("{% for a in b %}{% break %}{% else %}E{% endfor %}")
        .contains("namespace(ended=false)"));
    assert!(sandbox("{% with a = 1, b = a %}{% endwith %}")
        .starts_with("{% with __value1 = 1, __value2 = a %}"));
}

#[test]
fn a_tag_stands_on_its_line() {
    let source = "a\n{# two\nlines #}\n{%- if x %}\n\n{{\n y }}{% endif %}";
    let translated = sandbox(source);
    for (line, part) in [(3, "if x"), (6, "y }}")] {
        assert!(
            translated.lines().nth(line).is_some_and(|found| found.contains(part)),
            "{translated}"
        );
    }
}

#[test]
fn what_is_printed_is_not_put_together_before() {
    assert_eq!(sandbox("{{ 'a{' }}{{ '{b' + (x|trim) ~ y }}"), "a{{ \"{\" }}{b{{ x|trim }}{{ y }}");
    assert_eq!(sandbox("{{ x + 1 + 'a' }}"), "{{ x|__add(1)|__text }}a");
    assert_eq!(sandbox("{{ 'a' ~ (1 if x else 2) }}"), "a{{ 1 if x else 2 }}");
    assert_eq!(sandbox("{{ x|safe ~ 'a' }}"), "{{ x|safe|__concat(\"a\") }}");
    assert_eq!(sandbox("{{ 'a\\x0d' }}"), "{{ \"a\\r\" }}");
    let traced = written("{{ 'a' + x }}{{ 'b' }}", Dialect::Traced);
    assert_eq!(traced, "{{ \"a\" + x }}{{ \"b\" }}");
}

/// Lines that a text of the template adds are no lines of the template.
#[test]
fn a_printed_line_break_moves_no_error() {
    let source =
        "{{ 'a\\n\\nb' }}\n{{ 'c' ~ '\\n' ~ x }}\n{{ y.z }}{{ 'd' }}\n\n{{ nothing.at_all.here }}";
    let template = Template::compile(source, Dialect::Sandbox, true, &Limits::default()).unwrap();
    let variables = crate::context::parse_json(b"{\"x\": 1, \"y\": {}}", 9).unwrap();
    let failed = template.render(variables, &Options::default()).unwrap_err();
    assert_eq!(failed.line, Some(5), "{failed:?}");
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
        (
            "{% set n = namespace() %}{% with %}{% macro m() %}{% endmacro %}{% set n.m = m %}{% endwith %}",
            "a macro of a block, kept in a namespace",
        ),
    ] {
        let error = refused(source);
        assert_eq!((error.kind, error.feature.as_deref()), (Kind::Unsupported, Some(feature)));
        assert_eq!(error.line, Some(1));
    }
    for exact in [
        "{% macro m() %}{{ varargs }}{% endmacro %}",
        "{{ 0 < f() < 2 }}",
        "{% for a in b recursive %}{% set c = loop %}{% endfor %}",
        "{% for a in b recursive %}{% else %}{{ loop }}{% endfor %}",
        "{% for a in b %}{% macro m() %}{{ loop }}{% endmacro %}{% endfor %}",
    ] {
        sandbox(exact);
    }
}

#[test]
fn words_of_the_crate_are_names_of_arguments() {
    assert_eq!(sandbox("{{ f(a=1, True=x) }}"), "{{ f(a=1, **{\"True\": x }) }}");
    assert_eq!(sandbox("{{ f(if=1, class=2, if=3) }}"), "{{ f(if=1, class=2, if=3) }}");
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
        (format!("{{{{ {} }}}}", nested("[", "]", 90)), "nesting"),
        (nested("{% if 1 %}", "{% endif %}", 5_000), "nesting"),
    ] {
        let error = translate(&source, Dialect::Sandbox, &limits).unwrap_err();
        assert_eq!((error.kind, error.feature.as_deref()), (Kind::Limit, Some(name)));
    }
}

#[test]
fn mutilated_templates_are_answered() {
    let source = "{% macro m(a, b=1) -%}\n{% for x in a[1:] if x is defined %}{{ loop.index ~ x|e }}{% else %}\
                  {% endfor %}{%- endmacro %}{# c #}{% raw %}{{{% endraw %}{{ m({'k': [1, 'é']}) }}";
    for end in (0..source.len()).filter(|&at| source.is_char_boundary(at)) {
        for start in (0..=end).step_by(7).filter(|&at| source.is_char_boundary(at)) {
            for dialect in [Dialect::Sandbox, Dialect::Traced] {
                drop(translate(&source[start..end], dialect, &Limits::default()));
            }
        }
    }
}
