//! Warnings and origins as JSON, for hosts: texts, integers and none, in lists and dictionaries.

use crate::context::entries;
use crate::prepare::sequence;
use crate::value::Value;
use std::fmt::Write;

pub fn write(value: &Value) -> String {
    let mut out = String::new();
    put(&mut out, value);
    out
}

fn put(out: &mut String, value: &Value) {
    if let Some(entries) = entries(value) {
        out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            put(out, key);
            out.push(':');
            put(out, value);
        }
        out.push('}');
    } else if let Some(items) = sequence(value) {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            put(out, item);
        }
        out.push(']');
    } else if let Some(text) = value.as_str() {
        string(out, text);
    } else if value.is_none() {
        out.push_str("null");
    } else {
        out.push_str(&value.to_string());
    }
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\u{0}'..='\u{1f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
