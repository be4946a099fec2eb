//! Runs the reference's vectors through the renderer and says which differ.
//!
//!     PYWASMTOK_CHAT=<folder with vectors.jsonl, conversations.json, templates/> \
//!         cargo run --release -p pywasmtok-template --example vectors [name of a template]

use pywasmtok_template::value::Value;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;

use pywasmtok_template::context::{dict, entries, parse_json};
use pywasmtok_template::error::Kind;
use pywasmtok_template::limits::Limits;
use pywasmtok_template::prepare::{cut, prepare, Habits};
use pywasmtok_template::render::{Options, Template};
use pywasmtok_template::semantics::session::Clock;

const DEPTH: usize = 128;
const SHOWN: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::var("PYWASMTOK_CHAT")?;
    let folder = Path::new(&folder);
    let only = std::env::args().nth(1);
    let conversations = parse_json(&std::fs::read(folder.join("conversations.json"))?, DEPTH)?;
    let vectors = std::fs::read_to_string(folder.join("vectors.jsonl"))?;
    let mut report = Report::default();
    let mut templates: HashMap<String, Result<Template, String>> = HashMap::new();
    for line in vectors.lines() {
        let vector = parse_json(line.as_bytes(), DEPTH)?;
        let name = text(&vector, "template")?;
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        if !templates.contains_key(&name) {
            let path = folder.join("templates").join(format!("{name}.jinja"));
            let source = String::from_utf8(std::fs::read(path)?)?;
            let made = Template::compile(&source, true, &Limits::default());
            templates.insert(name.clone(), made.map_err(|error| format!("compile: {error}")));
        }
        let conversation = text(&vector, "conversation")?;
        let case = conversations.get_attr("conversations")?.get_attr(&conversation)?;
        let special = conversations.get_attr("special_tokens_map")?;
        let template = templates.get(&name).ok_or("no template")?;
        let got = match template {
            Ok(template) => render(template, &case, special, &vector),
            Err(error) => Err((Kind::Syntax, error.clone())),
        };
        report.judge(&format!("{name} {conversation}"), &vector, got)?;
    }
    report.print();
    Ok(())
}

fn text(value: &Value, name: &str) -> Result<String, Box<dyn Error>> {
    let found = value.get_attr(name)?;
    found.as_str().map(str::to_owned).ok_or_else(|| format!("{name} is no text").into())
}

type Got = Result<String, (Kind, String)>;

fn render(template: &Template, case: &Value, special: Value, vector: &Value) -> Got {
    let failed = |error: pywasmtok_template::error::Error| (error.kind, error.to_string());
    let given = vector.get_attr("kwargs").unwrap_or_default();
    let setting = |name: &str| given.get_attr(name).unwrap_or_default();
    let request = dict(vec![
        (Value::from("messages"), case.get_attr("messages").unwrap_or_default()),
        (Value::from("tools"), case.get_attr("tools").unwrap_or_default()),
        (Value::from("documents"), case.get_attr("documents").unwrap_or_default()),
        (Value::from("add_generation_prompt"), setting("add_generation_prompt")),
        (Value::from("special"), special),
        (Value::from("arguments"), arguments(&given)),
    ]);
    let continues = setting("continue_final_message");
    let field = continues.as_str().unwrap_or_default();
    let habits = Habits { continues: continues.is_true().then_some(field), ..Habits::default() };
    let prepared = prepare(&request, template.source(), &habits).map_err(failed)?;
    let clock = Clock {
        year: 2025,
        month: 1,
        day: 2,
        hour: 3,
        minute: 4,
        second: 5,
        microsecond: 0,
        zone: None,
    };
    let options = Options { clock: Some(clock), ..Options::default() };
    let rendered = template
        .render(dict(prepared.variables), &options)
        .map_err(|error| (error.kind, error.to_string()))?;
    let mut text = rendered.text;
    if let Some(last) = prepared.last {
        cut(&mut text, &last).map_err(failed)?;
    }
    Ok(text)
}

/// What is no parameter of the call is a variable of the template.
fn arguments(given: &Value) -> Value {
    let own = ["add_generation_prompt", "continue_final_message"];
    let others = entries(given).unwrap_or_default().iter();
    dict(
        others
            .filter(|(name, _)| !name.as_str().is_some_and(|name| own.contains(&name)))
            .cloned()
            .collect(),
    )
}

#[derive(Default)]
struct Report {
    texts: usize,
    texts_equal: usize,
    errors: usize,
    errors_raised: usize,
    raised: usize,
    raised_equal: usize,
    differences: Vec<String>,
    reasons: BTreeMap<String, usize>,
}

impl Report {
    fn judge(&mut self, name: &str, vector: &Value, got: Got) -> Result<(), Box<dyn Error>> {
        let expected = vector.get_attr("expected")?;
        if let Some(expected) = expected.as_str() {
            self.texts += 1;
            match got {
                Ok(got) if got == expected => self.texts_equal += 1,
                Ok(got) => {
                    let at = got.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
                    let near = |text: &str| {
                        let tail = text.as_bytes().get(at.saturating_sub(30)..).unwrap_or_default();
                        let short = tail.get(..90).unwrap_or(tail);
                        String::from_utf8_lossy(short).into_owned()
                    };
                    self.differs(
                        name,
                        "text",
                        &format!("{:?}\n   not {:?}", near(&got), near(expected)),
                    );
                }
                Err((kind, message)) => {
                    self.differs(name, &format!("{kind:?} {message}"), "raised here only");
                }
            }
            return Ok(());
        }
        self.errors += 1;
        let error = vector.get_attr("error")?;
        let message = text(&error, "message")?;
        let raises = text(&error, "type")? == "TemplateError";
        if raises {
            self.raised += 1;
        }
        match got {
            Ok(_) => self.differs(name, "rendered here only", &message),
            Err((kind, got)) => {
                self.errors_raised += 1;
                if raises && kind == Kind::Raised && got == message {
                    self.raised_equal += 1;
                } else if raises {
                    self.differs(name, "message", &format!("{kind:?} {got:?}, not {message:?}"));
                }
            }
        }
        Ok(())
    }

    fn differs(&mut self, name: &str, reason: &str, more: &str) {
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
        self.differences.push(format!("{name}: {reason}: {more}"));
    }

    fn print(&self) {
        for difference in self.differences.iter().take(SHOWN) {
            println!("{difference}");
        }
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons.iter().take(SHOWN) {
            println!("{count:5} {reason}");
        }
        println!("texts {} of {}", self.texts_equal, self.texts);
        println!("errors {} of {}", self.errors_raised, self.errors);
        println!("messages of raise_exception {} of {}", self.raised_equal, self.raised);
    }
}
