//! `continue_final_message`: a mark behind the last message, and the cut at it after the render.

use super::messages::{find, set, REASONING};
use super::request::{sequence, wrong};
use crate::context::{dict, entries, list, tuple};
use crate::error::Result;
use crate::semantics::operators::compare::equal;
use crate::value::{Tuple, Value};

const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

type Message = Vec<(Value, Value)>;

/// Marks what is continued, as transformers 5 does it; answers the text without the mark.
pub fn mark(chat: &mut [Value], field: &str, source: &str) -> Result<String> {
    let key = if field.is_empty() { "content" } else { field };
    let (slot, mut message) = last(chat)?;
    let Some(value) = find(&message, key).filter(|value| !value.is_none()).cloned() else {
        return Err(wrong(&format!(
            "continue_final_message is set but the final message has no \"{key}\" to continue!"
        )));
    };
    // The reasoning stands under several names, of which a template reads one.
    let fields: Vec<&str> = if REASONING.contains(&key) {
        let same = |name: &&str| {
            find(&message, name).is_some_and(|other| equal(other, &value) == Ok(true))
        };
        REASONING.into_iter().filter(same).collect()
    } else {
        vec![key]
    };
    if !fields.iter().any(|name| source.contains(name)) {
        return Err(wrong(&format!(
            "continue_final_message is set to \"{key}\" but this is not an accepted field in the \
             chat_template"
        )));
    }
    let text = mark_value(&mut message, &value, &fields)?;
    *slot = dict(message);
    Ok(text)
}

/// The same as 4.57 does it: the content only, and no question whether the template reads it.
pub fn mark_content(chat: &mut [Value]) -> Result<String> {
    let (slot, mut message) = last(chat)?;
    let value = find(&message, "content").cloned().ok_or_else(|| wrong("'content'"))?;
    let text = mark_value(&mut message, &value, &["content"])?;
    *slot = dict(message);
    Ok(text)
}

fn last(chat: &mut [Value]) -> Result<(&mut Value, Message)> {
    let slot = chat
        .last_mut()
        .ok_or_else(|| wrong("continue_final_message is set but the conversation is empty!"))?;
    let message = entries(slot).ok_or_else(|| wrong("the final message is no object"))?.to_vec();
    Ok((slot, message))
}

/// Puts the mark behind a string, or behind the last text of a list of blocks, in every field.
fn mark_value(message: &mut Message, value: &Value, fields: &[&str]) -> Result<String> {
    let (marked, text) = match sequence(value) {
        Some(blocks) => {
            let mut blocks = blocks.to_vec();
            let text = mark_block(&mut blocks)?;
            let is_tuple = value.downcast_object_ref::<Tuple>().is_some();
            (if is_tuple { tuple(blocks) } else { list(blocks) }, text)
        }
        None => {
            let text = value.as_str().ok_or_else(no_text)?;
            (Value::from(format!("{text}{TAG}")), text.to_owned())
        }
    };
    for name in fields {
        set(message, name, marked.clone());
    }
    Ok(text)
}

fn mark_block(blocks: &mut [Value]) -> Result<String> {
    for slot in blocks.iter_mut().rev() {
        let Some(block) = entries(slot) else {
            // `"text" in block`, and then `block["text"]`: nothing but a dictionary has both.
            let holds = slot.as_str().is_none_or(|text| text.contains("text"));
            let skipped = sequence(slot)
                .is_some_and(|items| !items.iter().any(|item| item.as_str() == Some("text")));
            if holds && !skipped {
                return Err(no_text());
            }
            continue;
        };
        if let Some(text) = find(block, "text") {
            let text = text.as_str().ok_or_else(no_text)?.to_owned();
            let mut block = block.to_vec();
            set(&mut block, "text", Value::from(format!("{text}{TAG}")));
            *slot = dict(block);
            return Ok(text);
        }
    }
    Err(wrong(
        "continue_final_message is set but we could not find any text to continue in the final \
         message!",
    ))
}

fn no_text() -> crate::error::Error {
    wrong("continue_final_message is set but what is to be continued is no text")
}

/// Cuts a rendered text at the mark.
pub fn cut(text: &mut String, last: &str) -> Result<()> {
    let mark = TAG.trim_end();
    let found = text.rfind(mark).filter(|_| text.contains(strip(last)));
    let Some(at) = found else {
        return Err(wrong(
            "continue_final_message is set but the final message does not appear in the chat after \
             applying the chat template! This can happen if the chat template deletes portions of \
             the final message. Please verify the chat template and final message in your chat to \
             ensure they are compatible.",
        ));
    };
    // A template that trims has taken the blank of the mark, and those before it in the message.
    let trimmed = text.get(at..).is_some_and(|rest| !rest.starts_with(TAG));
    text.truncate(at);
    if trimmed {
        text.truncate(text.trim_end_matches(is_space).len());
    }
    Ok(())
}

/// `str.strip()`.
fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.isspace()` of one character.
fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}
