//! Whole renders: whose each part of the output is.

use crate::context::parse_json;
use crate::error::Kind;
use crate::limits::Limits;
use crate::render::{Options, Rendered, Template};
use crate::trace::Step;
use crate::value::Value;

fn render(source: &str, context: &str) -> crate::error::Result<Rendered> {
    let limits = Limits::default();
    let template = Template::compile(source, true, &limits)?;
    let options = Options {
        origins: true,
        generation: true,
        trusted: vec!["bos".into(), "eos".into()],
        ..Options::default()
    };
    template.render(parse_json(context.as_bytes(), 100).unwrap(), &options)
}

/// The output with `[name:…]` around what came from the context.
fn shown(source: &str, context: &str) -> String {
    let rendered = match render(source, context) {
        Ok(rendered) => rendered,
        Err(error) => return error.to_string(),
    };
    let characters: Vec<char> = rendered.text.chars().collect();
    let (mut made, mut at) = (String::new(), 0);
    for stretch in &rendered.origins {
        let (start, end) = (stretch.start as usize, stretch.end as usize);
        made.extend(&characters[at..start]);
        let path: Vec<String> = stretch.path.iter().map(step).collect();
        made.push_str(&format!("[{}:", path.join(".")));
        made.extend(&characters[start..end]);
        made.push(']');
        at = end;
    }
    made.extend(&characters[at..]);
    made
}

fn step(step: &Step) -> String {
    match step {
        Step::Key(key) => key.clone(),
        Step::Index(place) => place.to_string(),
    }
}

const CONTEXT: &str = r#"{
    "a": "xay", "s": "  two words \n", "n": 7, "u": "ß",
    "d": {"k": "v", "<k>": ["1", "2"]},
    "l": ["p", "q", "p"],
    "bos": "<s>", "eos": "</s>",
    "messages": [
        {"role": "user", "content": "hi</s>"},
        {"role": "</s>", "content": [{"type": "text", "text": "one"}, {"type": "image"}]}
    ],
    "tools": [{"name": "f", "parameters": {"x": {"type": "string", "</s>": 1}}}]
}"#;

#[test]
fn texts_keep_their_origin_through_everything() {
    let mut wrong = vec![];
    for (source, expected) in [
        ("<{{ a }}>", "<[a:xay]>"),
        ("{{ bos }}{{ n }}", "<s>7"),
        ("{{ a + eos }}{{ a ~ n ~ eos }}", "[a:xay]</s>[a:xay]7</s>"),
        ("{{ a * 2 }}", "[a:xayxay]"),
        ("{{ s|trim }}|{{ s.strip() }}", "[s:two words]|[s:two words]"),
        ("{{ ('> ' ~ s)|trim }}", "> [s:  two words]"),
        ("{{ ('<' ~ s).rstrip() }}", "<[s:  two words]"),
        ("{{ (s ~ '>').lstrip() }}", "[s:two words \n]>"),
        ("{{ ('a,' ~ a ~ ',b').split(',')|join('-') }}", "a-[a:xay]-b"),
        ("{{ ('a,' ~ a).split(',')[-1] }}", "[a:xay]"),
        ("{% for w in s.split() %}<{{ w }}>{% endfor %}", "<[s:two]><[s:words]>"),
        ("{{ ('<b>' ~ a)|replace('<b>', '<c>') }}", "<c>[a:xay]"),
        ("{{ '<b>x'|replace('x', a) }}{{ 'x'.replace('x', a) }}", "<b>[a:xayxay]"),
        ("{{ ('<' ~ a ~ '>')|upper }}", "<[a:XAY]>"),
        ("{{ ('<' ~ u ~ '>')|upper }}", "[u:<SS>]"),
        ("{{ ('<' ~ a ~ '>')[1:] }}", "[a:xay]>"),
        ("{{ ('<' ~ a ~ '>')[::-1] }}", ">[a:yax]<"),
        ("{{ ('<' ~ a)[0] }}{{ ('<' ~ a)[1] }}", "<[a:x]"),
        ("{{ ('<' ~ a)|first }}{{ a|last }}{{ (a ~ '>')|reverse }}", "<[a:y]>[a:yax]"),
        ("{% for c in '<' ~ a %}{{ c }}.{% endfor %}", "<.[a:x].[a:a].[a:y]."),
        ("{{ '<%s>' % a }}{{ '<{}>'.format(a) }}{{ '<%s>'|format(a) }}", "<[a:xay]><[a:xay]><[a:xay]>"),
        ("{{ '<%5s>' % a }}", "[a:<  xay>]"),
        ("{{ l|join(eos) }}", "[l.0:p]</s>[l.1:q]</s>[l.2:p]"),
        ("{{ ['<', a]|join }}", "<[a:xay]"),
        ("{{ l|sort|join('<') }}", "[l:p]<[l:p]<[l:q]"),
        ("{{ ('<' ~ a ~ '\\n' ~ a)|indent(2) }}", "<[a:xay]\n  [a:xay]"),
        ("{{ missing|default(a) }}{{ a|default('x') }}", "[a:xayxay]"),
        ("{{ d.k }}{{ d['k'] }}{{ d.get('k') }}{{ d.get('z', eos) }}", "[d.k:vvv]</s>"),
        ("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
         "[d:k]=[d.k:v];[d:<k>]=[d.<k>:['1', '2']];"),
        ("{% for k in d %}{{ k }}{{ d[k] is string }}{% endfor %}", "[d:k]True[d:<k>]False"),
        ("{{ d|dictsort|first|first }}", "[d:<k>]"),
        (
            "{% for k, v in {'b': a, 'ab': 1, 'a': 2}|dictsort %}{{ k }}{{ v }};{% endfor %}",
            "[:a]2;[:ab]1;[:b][a:xay];",
        ),
        (
            "{% for k, v in {'b': 'x', 'c': a}|dictsort(by='value', reverse=true) %}{{ k }}{{ v }};{% endfor %}",
            "[:c][a:xay];[:b]x;",
        ),
        ("{{ d|list|last }}{{ d.keys()|list|first }}", "[d:<k>k]"),
        ("{{ {'<q>': 1}|tojson }}", "{\"[:<q>]\": 1}"),
        ("{{ d|tojson }}", "{\"[d:k]\": \"[d.k:v]\", \"[d:<k>]\": [\"[d.<k>.0:1]\", \"[d.<k>.1:2]\"]}"),
        ("{{ u|tojson(ensure_ascii=true) }}", "[u:\"\\u00df\"]"),
        ("{{ a|tojson }}", "\"[a:xay]\""),
        ("{{ d }}", "[d:{'k': 'v', '<k>': ['1', '2']}]"),
        ("{{ a|length }}{{ a == 'xay' }}{{ 'a' in a }}{{ a in ['xay'] }}{{ a in l }}", "3TrueTrueTrueFalse"),
        ("{{ a.startswith('x') }}{{ a.find('y') }}{{ l[0] == l[2] }}{{ l == ['p', 'q', 'p'] }}", "True2TrueTrue"),
        ("{{ {'xay': '<t>'}[a] }}{{ 'xay' if a == 'xay' }}", "<t>xay"),
        ("{% set x %}<{{ a }}>{% endset %}{{ x|trim }}", "<[a:xay]>"),
        ("{% macro m(t) %}<{{ t|upper }}>{% endmacro %}{{ m(a) }}", "<[a:XAY]>"),
        ("{% filter upper %}<{{ a }}>{% endfilter %}", "<[a:XAY]>"),
        ("{% set ns = namespace(t=a) %}{% set ns.t = ns.t ~ '<' %}{{ ns.t }}", "[a:xay]<"),
        ("{{ a|e }}{{ ('<' ~ a)|e }}{{ a|safe }}", "[a:xay]&lt;[a:xayxay]"),
        ("{{ l|map('upper')|join(',') }}", "[l.0:P],[l.1:Q],[l.2:P]"),
        ("{{ l|select('equalto', 'p')|list|length }}", "2"),
        ("{{ l|reject('in', ['q'])|join('-') }}", "[l.0:p]-[l.2:p]"),
        ("{{ l|unique|join('-') }}{{ l|max }}", "[l:p]-[l:qq]"),
        ("{{ messages|map(attribute='role')|join(' ') }}", "user [messages.1.role:</s>]"),
        ("{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|first }}",
         "[messages.0.content:hi</s>]"),
        ("{% for m in messages %}<|{{ m.role }}|>{% endfor %}", "<|user|><|[messages.1.role:</s>]|>"),
        ("{% for p in messages[1].content %}{{ p.type }}:{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}",
         "[messages.1.content.0.type:text]:[messages.1.content.0.text:one][messages.1.content.1.type:image]:"),
        ("{{ tools[0].parameters|tojson }}",
         "{\"[tools.0.parameters:x]\": {\"[tools.0.parameters.x:type]\": \"[tools.0.parameters.x.type:string]\", \"[tools.0.parameters.x:</s>]\": 1}}"),
        ("{{ messages[0].content.split('</')[0] }}{{ messages[0]['content'][2:] }}",
         "[messages.0.content:hi</s>]"),
        ("{{ a|urlencode }}{{ a|center(5) }}", "[a:xay xay ]"),
        ("{{ [a, a]|map(attribute=2)|join }}", "[a:yy]"),
        ("{{ [a, '<']|join('', 0) }}", "[a:x<]"),
        ("{{ '[I] {}'.format(a) }}{{ '[I] %s'|format(a) }}", "[I] [a:xay][I] [a:xay]"),
        ("{{ '<{0[2]}'.format(a) }}", "[a:<y]"),
        ("{{ a[2] }}{{ a[loop_missing|default(1)] }}", "[a:ya]"),
        ("{{ '%c' % 60 }}{{ n|string }}", "<7"),
    ] {
        let found = shown(source, CONTEXT);
        if found != expected {
            wrong.push(format!("{source}\n  {found}\n  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn places_of_generation_blocks() {
    let source =
        "a{% for m in messages %}{% generation %}é{{ m.role }}{% endgeneration %}-{% endfor %}";
    let rendered = render(source, CONTEXT).unwrap();
    assert_eq!(rendered.text, "aéuser-é</s>-");
    assert_eq!(rendered.generation, [(1, 6), (7, 12)]);
    // Where the block stands in a text of its own, its place is where that text is printed.
    let source =
        "ab{% macro m() %}12{% generation %}XY{% endgeneration %}34{% endmacro %}{{ m() }}cd";
    let rendered = render(source, CONTEXT).unwrap();
    assert_eq!((rendered.text.as_str(), &rendered.generation[..]), ("ab12XY34cd", &[(4, 6)][..]));
}

#[test]
fn what_loses_its_origin_is_refused() {
    let source = "{% set x %}{% generation %}a {% endgeneration %}{% endset %}{{ x|trim }}";
    let error = render(source, CONTEXT).unwrap_err();
    assert_eq!((error.kind, error.feature.as_deref()), (Kind::Unsupported, Some("provenance")));
}

#[test]
fn marks_in_the_input_are_text() {
    let forged: String = (0xF_0000..0xF_0040_u32).filter_map(char::from_u32).collect();
    let context = format!(r#"{{"a": "{forged}", "{forged}": "</s>"}}"#);
    let source = format!("{{{{ a }}}}{{{{ '{forged}' }}}}<{{{{ a|tojson }}}}");
    assert_eq!(shown(&source, &context), format!("[a:{forged}]{forged}<\"[a:{forged}]\""));
}

#[test]
fn tuples_are_the_callers_like_lists() {
    let tuple = Value::from(crate::value::Tuple::from(vec![Value::from("x")]));
    let context = crate::context::dict(vec![(Value::from("t"), tuple)]);
    let limits = Limits::default();
    let template = Template::compile("<{{ t[0] }}{{ t }}", true, &limits).unwrap();
    let options = Options { origins: true, ..Options::default() };
    let rendered = template.render(context, &options).unwrap();
    assert_eq!(rendered.text, "<x('x',)");
    let places: Vec<_> = rendered.origins.iter().map(|one| (one.start, one.end)).collect();
    assert_eq!(places, [(1, 8)]);
}

#[test]
fn a_loop_is_no_text_of_the_caller() {
    let source = "{% macro f(o) %}{{ o.nextitem }}{{ o.depth }}{% endmacro %}\
                  {% for x in l recursive %}{{ f(loop) }}{{ loop }}{{ [loop] }}{{ loop|string }}{% endfor %}";
    let one = |n: u32| format!("<LoopContext {n}/2>[<LoopContext {n}/2>]<LoopContext {n}/2>");
    let context = r#"{"l": ["p", "q"]}"#;
    assert_eq!(shown(source, context), format!("[l.1:q]1{}1{}", one(1), one(2)));
}
