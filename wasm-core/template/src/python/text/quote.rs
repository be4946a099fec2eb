//! Text in quotes (`repr`), and text in addresses.

use crate::python::fault::{push, Outcome};
use crate::python::text::classes::is_printable;

/// `repr` of a text.
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => push_escape(c, &mut out),
        }
    }
    out.push(quote);
    out
}

fn push_escape(c: char, out: &mut String) {
    let code = c as u32;
    out.push_str(&match code {
        0..=0xff => format!("\\x{code:02x}"),
        0x100..=0xffff => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    });
}

/// What `ascii` makes of a `repr`.
pub fn ascii(repr: &str) -> String {
    let mut out = String::with_capacity(repr.len());
    for c in repr.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            push_escape(c, &mut out);
        }
    }
    out
}

/// Percent signs for what may not stand in an address; `query` also quotes `/` and writes spaces
/// as plus signs.
pub fn url(text: &str, query: bool, cap: usize) -> Outcome<String> {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                out.push(char::from(byte));
            }
            b'/' if !query => out.push('/'),
            b' ' if query => out.push('+'),
            _ => push(&mut out, &format!("%{byte:02X}"), cap)?,
        }
    }
    Ok(out)
}
