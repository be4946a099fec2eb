//! What transformers 5 does to messages before a template sees them.

use super::request::wrong;
use crate::context::{dict, entries};
use crate::error::Result;
use crate::semantics::repr::repr;
use crate::value::Value;

/// Names a message's reasoning is passed under; the first is what templates read, mostly.
pub const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Drops keys whose value is None (at the top of each message only), and puts reasoning under the
/// names that templates look for.
pub fn tidy(chat: &mut [Value]) -> Result<()> {
    for message in chat {
        let Some(given) = entries(message) else {
            return Err(wrong(&format!(
                "Chat messages should be dicts, dataclasses or pydantic models, but got {}.",
                repr(message).unwrap_or_default()
            )));
        };
        if !given.iter().any(is_untidy) {
            continue;
        }
        let reasoning = reasoning(given).cloned();
        let mut kept: Vec<(Value, Value)> =
            given.iter().filter(|(_, value)| !value.is_none()).cloned().collect();
        if let Some(reasoning) = reasoning {
            // Python's `{"thinking": r, **message, "reasoning_content": r}`: order counts.
            if find(&kept, "thinking").is_none() {
                kept.insert(0, (Value::from("thinking"), reasoning.clone()));
            } else {
                let (mine, others): (Vec<_>, Vec<_>) =
                    kept.into_iter().partition(|(key, _)| key.as_str() == Some("thinking"));
                kept = mine.into_iter().chain(others).collect();
            }
            set(&mut kept, "reasoning_content", reasoning);
        }
        *message = dict(kept);
    }
    Ok(())
}

/// Most messages have no such entry, and are looked through once.
fn is_untidy((key, value): &(Value, Value)) -> bool {
    value.is_none() || key.as_str().is_some_and(|key| REASONING.contains(&key))
}

/// The first of the aliases that is not None.
fn reasoning(message: &[(Value, Value)]) -> Option<&Value> {
    REASONING.iter().find_map(|name| find(message, name).filter(|value| !value.is_none()))
}

pub fn find<'a>(message: &'a [(Value, Value)], name: &str) -> Option<&'a Value> {
    message.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

pub fn set(message: &mut Vec<(Value, Value)>, name: &str, value: Value) {
    match message.iter_mut().find(|(key, _)| key.as_str() == Some(name)) {
        Some(entry) => entry.1 = value,
        None => message.push((Value::from(name), value)),
    }
}
