//! Real templates on real conversations: no refusal, and nothing of the caller's without a mark.
//!
//! Where the files are not at hand (`PYWASMTOK_ASSETS`), there is nothing to be tested.

use crate::value::{Value, ValueKind};
use std::path::PathBuf;

use crate::context::{dict, entries, items, list, parse_json};
use crate::limits::Limits;
use crate::prepare::{prepare, Habits};
use crate::render::{Options, Rendered, Template};
use crate::semantics::session::Clock;

/// A letter that no template has.
const SENTINEL: char = 'ж';

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("PYWASMTOK_ASSETS")?).join("chat");
    folder.is_dir().then_some(folder)
}

fn templates() -> Vec<(String, String)> {
    let Some(folder) = folder() else { return vec![] };
    let mut found: Vec<_> = std::fs::read_dir(folder.join("templates"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jinja"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

fn field(value: &Value, name: &str) -> Value {
    value.as_object().and_then(|object| object.get_value_by_str(name)).unwrap_or(Value::from(()))
}

/// Requests in the words of the renderer, by name.
fn requests(change: impl Fn(&Value) -> Value) -> Vec<(String, Value)> {
    let Some(folder) = folder() else { return vec![] };
    let whole = std::fs::read(folder.join("conversations.json")).unwrap();
    let whole = parse_json(&whole, 100).unwrap();
    let special = field(&whole, "special_tokens_map");
    let conversations = field(&whole, "conversations");
    let chats = entries(&conversations)
        .unwrap()
        .iter()
        .filter(|(_, chat)| !field(chat, "continue_final_message").is_true());
    chats
        .map(|(name, chat)| {
            let part = |name: &str| (Value::from(name), change(&field(chat, name)));
            let request = dict(vec![
                part("messages"),
                part("tools"),
                part("documents"),
                (Value::from("add_generation_prompt"), field(chat, "add_generation_prompt")),
                (Value::from("special"), special.clone()),
                (Value::from("arguments"), field(chat, "kwargs")),
            ]);
            (name.to_string(), request)
        })
        .collect()
}

/// Sentinels in every text but the words that templates compare, and among the keys.
fn with_sentinels(value: &Value, key: &str) -> Value {
    match value.kind() {
        ValueKind::String if matches!(key, "role" | "type" | "id" | "tool_call_id") => {
            value.clone()
        }
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            let mut made = String::new();
            for (number, character) in text.chars().enumerate() {
                if number % 3 == 0 {
                    made.push(SENTINEL);
                }
                made.push(character);
            }
            Value::from(made)
        }
        ValueKind::Map => {
            let old = entries(value).unwrap().iter();
            let mut new: Vec<(Value, Value)> = old
                .map(|(key, item)| (key.clone(), with_sentinels(item, key.as_str().unwrap())))
                .collect();
            if matches!(key, "properties" | "arguments") {
                new.push((Value::from("ж</s>ж"), Value::from("ж")));
            }
            dict(new)
        }
        ValueKind::Seq => {
            list(items(value).unwrap().iter().map(|item| with_sentinels(item, key)).collect())
        }
        _ => value.clone(),
    }
}

fn render(template: &Template, request: &Value, origins: bool) -> crate::error::Result<Rendered> {
    let prepared = prepare(request, template.source(), &Habits::default())?;
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
    let options = Options {
        origins,
        generation: origins,
        trusted: prepared.own(),
        clock: Some(clock),
        ..Options::default()
    };
    template.render(dict(prepared.variables), &options)
}

/// Characters that are a sentinel, in whatever writing, and have no origin.
fn uncovered(rendered: &Rendered) -> Vec<String> {
    let characters: Vec<char> = rendered.text.chars().collect();
    let mut covered = vec![false; characters.len()];
    for stretch in &rendered.origins {
        covered[stretch.start as usize..stretch.end as usize].fill(true);
    }
    let is_sentinel = |at: usize| {
        let escaped = characters[at..].iter().take(6).collect::<String>();
        ['ж', 'Ж'].contains(&characters[at]) || ["\\u0436", "%D0%B6"].contains(&&escaped[..])
    };
    (0..characters.len())
        .filter(|&at| is_sentinel(at) && !covered[at])
        .map(|at| {
            characters[at.saturating_sub(20)..(at + 20).min(characters.len())].iter().collect()
        })
        .collect()
}

fn run(requests: &[(String, Value)]) -> (usize, Vec<String>) {
    let (mut rendered, mut wrong) = (0, vec![]);
    for (name, source) in templates() {
        let template = Template::compile(&source, true, &Limits::default());
        let Ok(template) = template else { continue };
        for (chat, request) in requests {
            if render(&template, request, false).is_err() {
                continue;
            }
            rendered += 1;
            match render(&template, request, true) {
                Err(error) => wrong.push(format!("{name} {chat}: {error}")),
                Ok(traced) => {
                    let places = uncovered(&traced);
                    if !places.is_empty() {
                        wrong.push(format!("{name} {chat}: {places:?}"));
                    }
                }
            }
        }
    }
    (rendered, wrong)
}

#[test]
fn real_conversations_keep_their_origins() {
    let (rendered, wrong) = run(&requests(Value::clone));
    assert!(rendered > 3500 || folder().is_none(), "only {rendered} renders");
    assert!(wrong.is_empty(), "{} of {rendered}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_text_of_a_caller_is_without_a_mark() {
    let (rendered, wrong) = run(&requests(|part| with_sentinels(part, "")));
    assert!(rendered > 3500 || folder().is_none(), "only {rendered} renders");
    assert!(wrong.is_empty(), "{} of {rendered}\n{}", wrong.len(), wrong.join("\n"));
}
