//! `split`, `rsplit`, `splitlines`, `partition`. A negative `most` is no bound.

use crate::python::fault::{Fault, Outcome};
use crate::python::text::classes::is_space;

fn bound(most: i64) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}

pub fn split<'a>(text: &'a str, separator: Option<&str>, most: i64) -> Outcome<Vec<&'a str>> {
    match separator {
        None => Ok(split_space(text, bound(most))),
        Some("") => Err(Fault::value_error("empty separator")),
        Some(separator) => Ok(text.splitn(bound(most).saturating_add(1), separator).collect()),
    }
}

fn split_space(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let end = if parts.len() < most { rest.find(is_space) } else { None };
        let (part, tail) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, ""));
        parts.push(part);
        rest = tail.trim_start_matches(is_space);
    }
    parts
}

pub fn rsplit<'a>(text: &'a str, separator: Option<&str>, most: i64) -> Outcome<Vec<&'a str>> {
    let mut parts = match separator {
        None => rsplit_space(text, bound(most)),
        Some("") => return Err(Fault::value_error("empty separator")),
        Some(separator) => {
            let mut parts = Vec::new();
            let mut rest = text;
            while parts.len() < bound(most) {
                let Some((left, right)) = rest.rsplit_once(separator) else { break };
                parts.push(right);
                rest = left;
            }
            parts.push(rest);
            parts
        }
    };
    parts.reverse();
    Ok(parts)
}

fn rsplit_space(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if parts.len() >= most {
            parts.push(rest);
            break;
        }
        let part = rest.rsplit(is_space).next().unwrap_or(rest);
        parts.push(part);
        let left = rest.len() - part.len();
        rest = rest.get(..left).unwrap_or("").trim_end_matches(is_space);
    }
    parts
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub fn splitlines(text: &str, keep_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_line_end(c)) else {
            lines.push(rest);
            break;
        };
        let mut end = at + c.len_utf8();
        if c == '\r' && rest.as_bytes().get(end) == Some(&b'\n') {
            end += 1;
        }
        lines.push(rest.get(..if keep_ends { end } else { at }).unwrap_or(""));
        rest = rest.get(end..).unwrap_or("");
    }
    lines
}

/// What is before, the separator, what is after.
pub fn partition<'a>(text: &'a str, separator: &'a str) -> Outcome<[&'a str; 3]> {
    if separator.is_empty() {
        return Err(Fault::value_error("empty separator"));
    }
    Ok(match text.split_once(separator) {
        Some((left, right)) => [left, separator, right],
        None => [text, "", ""],
    })
}

pub fn rpartition<'a>(text: &'a str, separator: &'a str) -> Outcome<[&'a str; 3]> {
    if separator.is_empty() {
        return Err(Fault::value_error("empty separator"));
    }
    Ok(match text.rsplit_once(separator) {
        Some((left, right)) => [left, separator, right],
        None => ["", "", text],
    })
}
