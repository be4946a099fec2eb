//! The parts of a request, and the variables that are made of them.

use super::{continuation, messages};
use crate::context::{entries, items, list};
use crate::error::{Error, Kind, Result};
use crate::value::Value;

/// Whose habits: transformers 5, or 4.57.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    #[default]
    Hf5,
    Hf457,
}

/// How a request is to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habits<'a> {
    pub profile: Profile,
    /// Which field of the last message is continued; empty: the content.
    pub continues: Option<&'a str>,
    /// Whether the spans of generation blocks are asked for.
    pub generation: bool,
}

#[derive(Debug)]
pub struct Prepared {
    /// Each name once: strings, in no particular order.
    pub variables: Vec<(Value, Value)>,
    /// How many of them are the caller's; the others are the tokenizer's own words.
    callers: usize,
    /// What is continued, without the mark that now stands behind it.
    pub last: Option<String>,
}

impl Prepared {
    /// Names of those variables that are the tokenizer's own words, not the caller's.
    #[must_use]
    pub fn own(&self) -> Vec<String> {
        let names = self.variables.get(self.callers..).unwrap_or_default().iter();
        names.filter_map(|(name, _)| name.as_str().map(str::to_owned)).collect()
    }
}

#[derive(Default)]
struct Parts {
    messages: Option<Value>,
    tools: Option<Value>,
    documents: Option<Value>,
    add_generation_prompt: Option<Value>,
    special: Option<Value>,
    arguments: Option<Value>,
}

/// The variables of a template whose text is `source`.
pub fn prepare(request: &Value, source: &str, habits: &Habits<'_>) -> Result<Prepared> {
    let parts = parts(request)?;
    let prompt = parts.add_generation_prompt.unwrap_or_else(|| Value::from(false));
    let mut chat = match parts.messages.as_ref().and_then(sequence) {
        Some(chat) => chat.to_vec(),
        None => return Err(wrong("messages must be a list")),
    };
    if chat.is_empty() {
        return Err(wrong(
            "Cannot apply chat template to an empty conversation. Provide at least one message.",
        ));
    }
    if habits.continues.is_some() {
        if prompt.is_true() {
            return Err(wrong(
                "continue_final_message and add_generation_prompt are not compatible. Use \
                 continue_final_message when you want the model to continue the final message, and \
                 add_generation_prompt when you want to add a header that will prompt it to start a \
                 new assistant message instead.",
            ));
        }
        if habits.generation {
            return Err(wrong(
                "continue_final_message is not compatible with return_assistant_tokens_mask.",
            ));
        }
    }
    require_dicts(
        parts.tools.as_ref(),
        "Tools should either be a JSON schema, or a callable function with type hints and a \
         docstring suitable for auto-conversion to a schema.",
    )?;
    require_dicts(
        parts.documents.as_ref(),
        "Documents should be a list of dicts with 'title' and 'text' keys!",
    )?;
    let mut last = None;
    if habits.profile == Profile::Hf5 {
        messages::tidy(&mut chat)?;
        if let Some(field) = habits.continues {
            last = Some(continuation::mark(&mut chat, field, source)?);
        }
    } else if habits.continues.is_some() {
        last = Some(continuation::mark_content(&mut chat)?);
    }
    let fixed = [
        ("messages", list(chat)),
        ("tools", or_none(parts.tools)),
        ("documents", or_none(parts.documents)),
        ("add_generation_prompt", prompt),
    ];
    let mut variables: Vec<(Value, Value)> =
        fixed.into_iter().map(|(name, value)| (Value::from(name), value)).collect();
    add(&mut variables, parts.arguments.as_ref(), "arguments")?;
    let callers = variables.len();
    add(&mut variables, parts.special.as_ref(), "special")?;
    Ok(Prepared { variables, callers, last })
}

/// Undefined is what a missing value would be; a template is promised none.
fn or_none(part: Option<Value>) -> Value {
    part.unwrap_or_else(|| Value::from(()))
}

fn parts(request: &Value) -> Result<Parts> {
    let mut parts = Parts::default();
    for (name, value) in entries(request).ok_or_else(|| wrong("a request is an object"))? {
        let part = match name.as_str() {
            Some("messages") => &mut parts.messages,
            Some("tools") => &mut parts.tools,
            Some("documents") => &mut parts.documents,
            Some("add_generation_prompt") => &mut parts.add_generation_prompt,
            Some("special") => &mut parts.special,
            Some("arguments") => &mut parts.arguments,
            _ => return Err(wrong(&format!("a request has no part {name:?}"))),
        };
        *part = Some(value.clone());
    }
    Ok(parts)
}

/// Appends the variables whose names are still free.
fn add(variables: &mut Vec<(Value, Value)>, more: Option<&Value>, part: &str) -> Result<()> {
    let Some(more) = more else { return Ok(()) };
    for (name, value) in entries(more).ok_or_else(|| wrong(&format!("{part} is no object")))? {
        if name.as_str().is_none() {
            return Err(wrong(&format!("{part}: {name:?} is no name")));
        }
        if !variables.iter().any(|(known, _)| known.as_str() == name.as_str()) {
            variables.push((name.clone(), value.clone()));
        }
    }
    Ok(())
}

fn require_dicts(list: Option<&Value>, message: &str) -> Result<()> {
    match list {
        None => Ok(()),
        Some(list) if list.is_none() => Ok(()),
        Some(list) => match sequence(list) {
            Some(items) if items.iter().all(|item| entries(item).is_some()) => Ok(()),
            _ => Err(wrong(message)),
        },
    }
}

/// The items of a list or of a tuple.
pub fn sequence(value: &Value) -> Option<&[Value]> {
    items(value)
        .or_else(|| value.downcast_object_ref::<crate::value::Tuple>().map(|tuple| &tuple[..]))
}

pub fn wrong(message: &str) -> Error {
    Error::new(Kind::Context, message)
}
