//! What markupsafe does to HTML.

use crate::python::fault::{push, Fault, Outcome};
use crate::python::text::split;

pub fn escape(text: &str, cap: usize) -> Outcome<String> {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => push(&mut out, "&amp;", cap)?,
            '>' => push(&mut out, "&gt;", cap)?,
            '<' => push(&mut out, "&lt;", cap)?,
            '\'' => push(&mut out, "&#39;", cap)?,
            '"' => push(&mut out, "&#34;", cap)?,
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Without tags and comments, white space collapsed, entities resolved.
pub fn striptags(text: &str) -> Outcome<String> {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let tag = rest.get(start..).unwrap_or("");
        let end = if tag.starts_with("<!--") {
            tag.get(4..).and_then(|inside| inside.find("-->")).map(|at| at + 7)
        } else {
            tag.find('>').map(|at| at + 1)
        };
        let Some(end) = end else { break };
        kept.push_str(rest.get(..start).unwrap_or(""));
        rest = tag.get(end..).unwrap_or("");
    }
    kept.push_str(rest);
    unescape(&split::split(&kept, None, -1)?.join(" "))
}

/// HTML 5 knows 2,231 names; the five of XML and the space are resolved, others are refused.
pub fn unescape(text: &str) -> Outcome<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(rest.get(..at).unwrap_or(""));
        let entity = rest.get(at + 1..).unwrap_or("");
        match entity.chars().next() {
            Some(c) if c == '#' || c.is_ascii_alphabetic() => {
                let (text, length) = resolved(entity)?;
                out.push_str(&text);
                rest = entity.get(length..).unwrap_or("");
            }
            _ => {
                out.push('&');
                rest = entity;
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The text of an entity and how many bytes of `entity` it took.
fn resolved(entity: &str) -> Outcome<(String, usize)> {
    if let Some(number) = entity.strip_prefix('#') {
        return Ok(numbered(number)?.unwrap_or_else(|| ("&#".to_owned(), 1)));
    }
    for (name, text) in [
        ("amp;", "&"),
        ("lt;", "<"),
        ("gt;", ">"),
        ("quot;", "\""),
        ("apos;", "'"),
        ("nbsp;", "\u{a0}"),
    ] {
        if entity.starts_with(name) {
            return Ok((text.to_owned(), name.len()));
        }
    }
    Err(Fault::unsupported("names of HTML entities other than amp, lt, gt, quot, apos and nbsp"))
}

fn numbered(number: &str) -> Outcome<Option<(String, usize)>> {
    let (digits, base) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    let length = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    if length == 0 {
        return Ok(None);
    }
    let code = u32::from_str_radix(digits.get(..length).unwrap_or(""), base).unwrap_or(u32::MAX);
    let end = length + usize::from(digits.as_bytes().get(length) == Some(&b';'));
    let taken = 1 + (number.len() - digits.len()) + end;
    let text = match code {
        0x20..=0x7e | 0xa0..=0xd7ff | 0xe000..=0xfdcf => char::from_u32(code),
        9 | 10 => char::from_u32(code),
        _ => None,
    };
    match text {
        Some(text) => Ok(Some((text.to_string(), taken))),
        None => Err(Fault::unsupported("numbers of HTML entities that HTML 5 replaces or drops")),
    }
}
