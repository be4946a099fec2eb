//! The steps that look at one character at a time, on strings.

use super::Plain;
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::unicode::{class_of, find, is_whitespace, lowercase as lowercase_of, BERT_CJK, LOWERED};

pub fn lowercase(text: &str) -> Plain {
    if text.is_ascii() {
        return if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Plain::Changed(text.to_ascii_lowercase())
        } else {
            Plain::Same
        };
    }
    rewrite(text, LOWERED, |c, new| {
        let lower = lowercase_of(c);
        new.push(lower.first);
        new.extend(lower.second);
    })
}

pub fn remove(text: &str, flags: u32) -> Plain {
    rewrite(text, flags, |_, _| {})
}

pub fn to_spaces(text: &str, flags: u32) -> Plain {
    if text.chars().all(|c| c == ' ' || !class_of(c).is(flags)) {
        return Plain::Same;
    }
    rewrite(text, flags, |_, new| new.push(' '))
}

pub fn spell_bytes(text: &str) -> Plain {
    let spelled = |byte: u8| CHAR_OF_BYTE[usize::from(byte)];
    if text.bytes().all(|byte| byte.is_ascii() && spelled(byte) == char::from(byte)) {
        return Plain::Same;
    }
    Plain::Changed(text.bytes().map(spelled).collect())
}

pub fn pad_chinese(text: &str) -> Plain {
    rewrite(text, BERT_CJK, |c, new| new.extend([' ', c, ' ']))
}

pub fn strip(text: &str, left: bool, right: bool) -> Plain {
    let mut stripped = text;
    if left {
        stripped = stripped.trim_start_matches(is_whitespace);
    }
    if right {
        stripped = stripped.trim_end_matches(is_whitespace);
    }
    if stripped.len() == text.len() {
        Plain::Same
    } else {
        Plain::Changed(stripped.to_owned())
    }
}

pub fn prepend(text: &str, content: &str) -> Plain {
    if text.is_empty() {
        Plain::Same
    } else if content.is_empty() {
        Plain::Unanchored
    } else {
        Plain::Changed([content, text].concat())
    }
}

/// Writes the characters of the sets in `flags` anew, and copies what is between them.
fn rewrite(text: &str, flags: u32, mut write: impl FnMut(char, &mut String)) -> Plain {
    let mut new = String::new();
    let mut copied = 0;
    while let Some(at) = find(text, copied, flags) {
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        if copied == 0 {
            new.reserve(text.len());
        }
        new.push_str(text.get(copied..at).unwrap_or_default());
        write(c, &mut new);
        copied = at + c.len_utf8();
    }
    if copied == 0 {
        return Plain::Same;
    }
    new.push_str(text.get(copied..).unwrap_or_default());
    Plain::Changed(new)
}
