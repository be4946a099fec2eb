//! Values as JSON, for hosts: keys that are no strings become strings, as Python's `json` does it.

use crate::context::entries;
use crate::error::{Error, Kind, Result};
use crate::prepare::sequence;
use crate::python::float::repr as float_repr;
use crate::semantics::numbers::float;
use minijinja::value::ValueKind;
use minijinja::Value;
use std::fmt::Write;

pub fn write(value: &Value) -> Result<String> {
    let mut out = String::new();
    put(&mut out, value)?;
    Ok(out)
}

fn put(out: &mut String, value: &Value) -> Result<()> {
    if let Some(entries) = entries(value) {
        out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            match key.as_str() {
                Some(key) => string(out, key),
                None => string(out, &scalar(key)?),
            }
            out.push(':');
            put(out, value)?;
        }
        out.push('}');
    } else if let Some(items) = sequence(value) {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            put(out, item)?;
        }
        out.push(']');
    } else if let Some(text) = value.as_str() {
        string(out, text);
    } else {
        out.push_str(&scalar(value)?);
    }
    Ok(())
}

fn scalar(value: &Value) -> Result<String> {
    Ok(match value.kind() {
        ValueKind::None | ValueKind::Undefined => "null".to_owned(),
        ValueKind::Bool => value.is_true().to_string(),
        // Integers of any size print as they are, whatever holds them.
        ValueKind::Number | ValueKind::Plain => match float(value) {
            Some(number) if number.is_nan() => "NaN".to_owned(),
            Some(number) if number.is_infinite() && number > 0.0 => "Infinity".to_owned(),
            Some(number) if number.is_infinite() => "-Infinity".to_owned(),
            Some(number) => float_repr(number),
            None => value.to_string(),
        },
        kind => return Err(Error::new(Kind::Context, format!("a {kind} has no JSON"))),
    })
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
