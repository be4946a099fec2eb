//! Values as Python has them: print, compare, cut, count. Every answer is jinja2's in
//! transformers' environment.
#![allow(clippy::unwrap_used)]

use pywasmtok_template::context::parse_json;
use pywasmtok_template::error::{Error, Kind};
use pywasmtok_template::limits::Limits;
use pywasmtok_template::render::{Options, Template};
use pywasmtok_template::semantics::session::Clock;

const CONTEXT: &str = r#"{
    "n": null, "t": true, "i": 5, "f": 2.5, "small": 1e-7, "large": 1e16, "nan": NaN,
    "inf": Infinity, "big": 1361129467683753853853498429727072845824,
    "s": "abc", "e": "", "odd": "it's \"\u007f\u2028\u00e9\ud83d\ude00",
    "l": [1, "x", null, [2.0]], "el": [], "d": {"b": 1, "a": [true], "items": 2},
    "many": {"j": 0, "i": 1, "h": 2, "g": 3, "f": 4, "e": 5, "d": 6, "c": 7, "b": 8, "a": 9}
}"#;

fn rendered(source: &str, options: &Options) -> Result<String, Error> {
    let template = Template::compile(source, true, &Limits::default())?;
    let variables = parse_json(CONTEXT.as_bytes(), 128)?;
    template.render(variables, options).map(|rendered| rendered.text)
}

fn agree(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let got = rendered(source, &Options::default());
        assert_eq!(got.as_deref(), Ok(*expected), "{source}");
    }
}

fn refuse(kind: Kind, sources: &[&str]) {
    for source in sources {
        let got = rendered(source, &Options::default()).map_err(|error| error.kind);
        assert_eq!(got, Err(kind), "{source}");
    }
}

#[test]
fn prints() {
    agree(&[
        ("{{ n }}{{ t }}{{ u }}|{{ [u] }}", "NoneTrue|[Undefined]"),
        ("{{ small }} {{ large }} {{ nan }} {{ -inf }}", "1e-07 1e+16 nan -inf"),
        ("{{ [small, large, 1.0] }}", "[1e-07, 1e+16, 1.0]"),
        (
            "{{ big }} {{ [-big] }}",
            "1361129467683753853853498429727072845824 [-1361129467683753853853498429727072845824]",
        ),
        ("{{ [odd] }}", "['it\\'s \"\\x7f\\u2028\u{e9}\u{1f600}']"),
        ("{{ l }}{{ d }}", "[1, 'x', None, [2.0]]{'b': 1, 'a': [True], 'items': 2}"),
        ("{{ (1,) }}{{ () }}{{ (1, 'a') }}", "(1,)()(1, 'a')"),
        ("{{ [s|safe] }}", "[Markup('abc')]"),
        ("{{ range(3) }}{{ range(5, 0, -2) }}", "range(0, 3)range(5, 0, -2)"),
        ("{{ d.items() }}", "dict_items([('b', 1), ('a', [True]), ('items', 2)])"),
        ("{{ namespace(a='x') }}", "<Namespace {'a': 'x'}>"),
        ("{% macro m(a) %}{% endmacro %}{{ m }}", "<Macro 'm'>"),
        ("{% for x in l %}{{ loop if loop.first }}{% endfor %}", "<LoopContext 1/4>"),
    ]);
}

#[test]
fn writes_json() {
    agree(&[
        ("{{ d|tojson }}", r#"{"b": 1, "a": [true], "items": 2}"#),
        (
            "{{ [1.0, small, nan, -inf, big] |tojson }}",
            "[1.0, 1e-07, NaN, -Infinity, 1361129467683753853853498429727072845824]",
        ),
        ("{{ odd|tojson }}", "\"it's \\\"\u{7f}\u{2028}\u{e9}\u{1f600}\""),
        ("{{ odd|tojson(true) }}", "\"it's \\\"\\u007f\\u2028\\u00e9\\ud83d\\ude00\""),
        ("{{ d|tojson(indent=1) }}", "{\n \"b\": 1,\n \"a\": [\n  true\n ],\n \"items\": 2\n}"),
        (
            "{{ d|tojson(indent='-', sort_keys=true, separators=(';', '=')) }}",
            "{\n-\"a\"=[\n--true\n-];\n-\"b\"=1;\n-\"items\"=2\n}",
        ),
        ("{{ dict([(1, 2), (none, 3), (1.5, 4)])|tojson }}", r#"{"1": 2, "null": 3, "1.5": 4}"#),
        ("{{ el|tojson(indent=2) }}{{ {}|tojson(indent=2) }}", "[]{}"),
        ("{{ ('<'|safe)|tojson ~ '&' }}", "\"<\"&"),
    ]);
    refuse(
        Kind::Runtime,
        &[
            "{{ u|tojson }}",
            "{{ [u]|tojson }}",
            "{{ range(3)|tojson }}",
            "{{ d.items()|tojson }}",
            "{{ l|map('string')|tojson }}",
            "{{ namespace()|tojson }}",
            "{{ {(1,): 2}|tojson }}",
            "{{ d|tojson(indent=1.5) }}",
            "{{ d|tojson(separators=',') }}",
            "{{ {1: 2, 'a': 3}|tojson(sort_keys=true) }}",
        ],
    );
    refuse(Kind::Limit, &["{{ d|tojson(indent=10**9) }}"]);
}

#[test]
fn compares() {
    agree(&[
        (
            "{{ 1 == t }}{{ 1.0 == 1 }}{{ big > inf }}{{ big > f }}{{ -big < 1 }}",
            "TrueTrueFalseTrueTrue",
        ),
        ("{{ t == 1 }}{{ [1, 2] < [1, 3] }}{{ (1,) == [1] }}", "TrueTrueFalse"),
        ("{{ nan == nan }}{{ nan < 1 }}{{ nan >= 1 }}", "FalseFalseFalse"),
        ("{{ 'b' in s }}{{ 'items' in d }}{{ 'keys' in d }}{{ 1 in u }}", "TrueTrueFalseFalse"),
        ("{{ d.values() == d.values() }}{{ d.items() == d.items() }}", "FalseTrue"),
        ("{{ namespace(a=1) == namespace(a=1) }}{{ namespace(a=1) == {'a': 1} }}", "FalseFalse"),
        (
            "{% set n = namespace() %}{% set n.a = n %}{{ n == n }}{{ n == namespace() }}",
            "TrueFalse",
        ),
        ("{{ range(3) == [0, 1, 2] }}", "False"),
        ("{{ 2.0 in [1, 2] }}{{ n in l }}{{ 3 in range(4) }}", "TrueTrueTrue"),
        ("{{ 9007199254740993 > 9007199254740992.0 }}", "True"),
    ]);
    refuse(
        Kind::Runtime,
        &[
            "{{ u > 1 }}",
            "{{ s < 1 }}",
            "{{ n < n }}",
            "{{ d < d }}",
            "{{ 1 in s }}",
            "{{ 1 in n }}",
            "{{ el in d }}",
            "{{ 'a' in namespace(a=1) }}",
        ],
    );
}

#[test]
fn cuts() {
    agree(&[
        ("{{ s[1:] }}{{ s[::-1] }}{{ s[-2:] }}{{ s[5:1:-1] }}|{{ s[:-5:-2] }}", "bccbabcc|ca"),
        ("{{ e[::-1] }}{{ el[::-1] }}{{ el[-3:2:-2] }}", "[][]"),
        ("{{ odd[-1:] }}{{ odd[::-6] }}", "\u{1f600}\u{1f600}s"),
        (
            "{{ l[1:3] }}{{ (1, 2, 3)[::2] }}{{ range(9)[1:7:2] }}",
            "['x', None](1, 3)range(1, 7, 2)",
        ),
        (
            "{{ range(0)[::-1] }}{{ l[t:] }}{{ l[:big]|length }}",
            "range(-1, -1, -1)['x', None, [2.0]]4",
        ),
        ("{{ [('<'|safe)[:1]] }}", "[Markup('<')]"),
    ]);
    refuse(
        Kind::Runtime,
        &["{{ u[1:] }}", "{{ n[1:] }}", "{{ d[1:] }}", "{{ l[s:] }}", "{{ l[::0] }}"],
    );
}

#[test]
fn counts() {
    agree(&[
        ("{{ 7 // -2 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -f % 2 }}", "-423.01.5"),
        (
            "{{ 1 / 3 }}{{ i / 1 }}{{ 2 ** -1 }}{{ 2 ** 100 }}",
            "0.33333333333333335.00.51267650600228229401496703205376",
        ),
        ("{{ 10000000000000000000000001 / 3 }}", "3.3333333333333333e+24"),
        ("{{ 0 / 9223372036854775808 }}{{ 0 / -9223372036854775808 }}", "0.0-0.0"),
        ("{{ 'ab' * 2 }}{{ 2 * [1] }}{{ s * -1 }}{{ (1,) * t }}", "abab[1, 1](1,)"),
        ("{{ t + t }}{{ -t }}{{ +t }}", "2-11"),
        ("{{ ('<'|safe) + '&' }}{{ '&' + ('<'|safe) }}", "<&amp;&amp;<"),
        ("{{ '%s-%03d' % (s, 7) }}{{ 'a' ~ n ~ 1.0 }}", "abc-007aNone1.0"),
        ("{{ l + [2] }}{{ (1,) + (2,) }}", "[1, 'x', None, [2.0], 2](1, 2)"),
    ]);
    refuse(
        Kind::Runtime,
        &[
            "{{ u + 1 }}",
            "{{ s + 1 }}",
            "{{ l + (1,) }}",
            "{{ 1 / 0 }}",
            "{{ 1 % 0 }}",
            "{{ s - s }}",
            "{{ d + d }}",
            "{{ 0 ** -1 }}",
        ],
    );
    refuse(Kind::Unsupported, &["{{ big + 1 }}", "{{ 2 ** 200 }}", "{{ (-8) ** 0.5 }}"]);
    refuse(Kind::Limit, &["{{ s * 10**9 }}", "{{ [0] * 10**9 }}"]);
}

#[test]
fn walks() {
    agree(&[
        ("{% for c in 'ab' %}{{ c }}{{ loop.last }}{% endfor %}", "aFalsebTrue"),
        ("{% for k in d %}{{ k }},{% endfor %}{% for x in u %}{% endfor %}", "b,a,items,"),
        ("{% for k in many %}{{ k }}{{ many[k] }}{% endfor %}", "j0i1h2g3f4e5d6c7b8a9"),
        ("{% set g = l|map('string') %}{{ g|list }}{{ g|list }}", "['1', 'x', 'None', '[2.0]'][]"),
        ("{% for x in l|select %}{{ loop.length }}{% endfor %}", "333"),
    ]);
    refuse(Kind::Runtime, &["{% for x in n %}{% endfor %}", "{% for x in 1 %}{% endfor %}"]);
}

#[test]
fn looks_up() {
    agree(&[
        ("{{ d.items is callable }}{{ d['items'] }}{{ d.a }}{{ d.nope }}", "True2[True]"),
        ("{{ d.items()[0] }}{{ (l|map('string'))[0] }}|{{ dict([(1, 2)])[t] }}", "|2"),
        ("{{ l[-1] }}{{ l[9] }}{{ s[0] }}{{ s[true] }}{{ s['upper']() }}", "[2.0]abABC"),
        ("{{ d.__class__ }}{{ s.__class__ }}{{ u.__class__ }}|{{ (1).real }}", "|1"),
        ("{% set ns = namespace(items=1) %}{{ ns.items }}", "1"),
        ("{% macro m(a, b=1) %}{% endmacro %}{% set ns = namespace(m=m) %}{{ ns.m(1) }}", ""),
    ]);
    refuse(Kind::Runtime, &["{{ u.a }}", "{{ u['a'] }}", "{{ d.nope.a }}", "{{ s.nope() }}"]);
}

#[test]
fn knows_the_functions() {
    agree(&[
        (
            "{{ dict(a=1) }}{{ dict([(1, 2)], b=3) }}{{ dict.fromkeys('ab') }}",
            "{'a': 1}{1: 2, 'b': 3}{'a': None, 'b': None}",
        ),
        (
            "{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}",
            "1212",
        ),
        ("{% set j = joiner('-') %}{{ j() }}a{{ j() }}b", "a-b"),
        ("{{ range(2, 8, 3)|list }}{{ range(1)[-1] }}", "[2, 5]0"),
    ]);
    refuse(
        Kind::Runtime,
        &[
            "{{ range(1000000) }}",
            "{{ range('a') }}",
            "{{ range(1, 2, 0) }}",
            "{{ namespace(_a=1) }}",
            "{{ cycler() }}",
            "{{ dict(1) }}",
        ],
    );
    refuse(
        Kind::Unsupported,
        &["{{ l|map('string') }}", "{{ range }}", "{{ strftime_now('%Y') }}"],
    );
}

#[test]
fn raises_in_the_words_of_the_template() {
    for source in [
        "{{ raise_exception('No: \"x\" (line 3)') }}",
        "{% macro m() %}{{ raise_exception('No: \"x\" (line 3)') }}{% endmacro %}{{ (m() ~ 'a')|upper }}",
        "{% for x in l %}{% set y %}{{ raise_exception('No: \"x\" (line 3)') }}{% endset %}{% endfor %}",
    ] {
        let error = rendered(source, &Options::default()).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (Kind::Raised, "No: \"x\" (line 3)"));
    }
}

#[test]
fn stops_at_its_bounds() {
    let bounded = |limits: Limits, source: &str| {
        let error = rendered(source, &Options { limits, ..Options::default() }).unwrap_err();
        (error.kind, error.feature.unwrap_or_default())
    };
    let output = Limits { output: 100, ..Limits::default() };
    let loops = "{% for i in range(50) %}{{ s }}{% endfor %}";
    assert_eq!(bounded(output, loops), (Kind::Limit, "output".to_owned()));
    let fuel = Limits { fuel: 100, ..Limits::default() };
    assert_eq!(bounded(fuel, loops), (Kind::Limit, "fuel".to_owned()));
    let deep = "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}";
    assert_eq!(bounded(Limits::default(), deep), (Kind::Limit, "depth".to_owned()));
    let calls = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
    assert_eq!(bounded(Limits::default(), calls), (Kind::Limit, "recursion".to_owned()));
}

#[test]
fn tells_the_time() {
    let clock = Clock {
        year: 999,
        month: 12,
        day: 31,
        hour: 0,
        minute: 4,
        second: 5,
        microsecond: 7,
        zone: None,
    };
    let options = Options { clock: Some(clock), ..Options::default() };
    let cases = [
        ("%d %b %Y", "31 Dec 999"),
        ("%A %a %B %j %U %W %V %G %g %u %w", "Tuesday Tue December 365 52 52 01 1000 00 2 2"),
        ("%c|%x|%X|%r|%p|%P", "Tue Dec 31 00:04:05 999|12/31/99|00:04:05|12:04:05 AM|AM|am"),
        ("%-d %_H %03e %10B %-3M %^a %#p %C", "31  0 031   December   4 TUE am 9"),
        ("%f %z%Z|%10z|%10N|%Ey %Oy %EB", "000007 ||      %10N|99 99 %EB"),
        ("%+R %^#\u{e9} %E% %s x%", "%+R %^#\u{c9} % -30610310155 x%"),
    ];
    for (format, expected) in cases {
        let source = format!("{{{{ strftime_now('{format}') }}}}");
        assert_eq!(rendered(&source, &options).as_deref(), Ok(expected), "{format}");
    }
}
