//! Upper, lower, title case and folding, with the characters that become several.

use crate::python::text::classes::{is_case_ignorable, is_cased, is_lower, is_upper};
use crate::python::text::tables as t;

type One = [(u32, u32, u32, i32)];
type Many = [(u32, &'static str)];

fn convert(c: char, one: &One, many: &Many, out: &mut String) {
    let code = c as u32;
    let after = one.partition_point(|run| run.0 <= code);
    if let Some(&(first, last, step, difference)) = after.checked_sub(1).and_then(|i| one.get(i)) {
        if code <= last && (code - first).is_multiple_of(step) {
            let to = code.checked_add_signed(difference).and_then(char::from_u32);
            out.push(to.unwrap_or(c));
            return;
        }
    }
    match many.binary_search_by_key(&code, |entry| entry.0) {
        Ok(found) => out.push_str(many.get(found).map_or("", |entry| entry.1)),
        Err(_) => out.push(c),
    }
}

fn push_upper(c: char, out: &mut String) {
    convert(c, &t::UPPER_ONE, &t::UPPER_MANY, out);
}

fn push_title(c: char, out: &mut String) {
    convert(c, &t::TITLE_ONE, &t::TITLE_MANY, out);
}

/// A sigma is final after a cased character and not before one; what is case-ignorable between
/// them does not count.
fn push_lower(text: &str, at: usize, c: char, out: &mut String) {
    if c != '\u{3a3}' {
        convert(c, &t::LOWER_ONE, &t::LOWER_MANY, out);
        return;
    }
    let (before, after) = text.split_at_checked(at).unwrap_or(("", ""));
    let cased_before = before.chars().rev().find(|&c| !is_case_ignorable(c)).is_some_and(is_cased);
    let cased_after = after.chars().skip(1).find(|&c| !is_case_ignorable(c)).is_some_and(is_cased);
    out.push(if cased_before && !cased_after { '\u{3c2}' } else { '\u{3c3}' });
}

pub fn upper(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_upper(c, &mut out));
    out
}

pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    text.char_indices().for_each(|(at, c)| push_lower(text, at, c, &mut out));
    out
}

pub fn casefold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| convert(c, &t::FOLD_ONE, &t::FOLD_MANY, &mut out));
    out
}

pub fn capitalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if at == 0 {
            push_title(c, &mut out);
        } else {
            push_lower(text, at, c, &mut out);
        }
    }
    out
}

pub fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_cased = false;
    for (at, c) in text.char_indices() {
        if after_cased {
            push_lower(text, at, c, &mut out);
        } else {
            push_title(c, &mut out);
        }
        after_cased = is_cased(c);
    }
    out
}

pub fn swapcase(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if is_upper(c) {
            push_lower(text, at, c, &mut out);
        } else if is_lower(c) {
            push_upper(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

/// jinja2's own `title`: only what follows one of a few characters begins a word.
pub fn title_words(text: &str) -> String {
    let separates = |c: char| crate::python::text::classes::is_space(c) || "-({[<".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = separates(first);
        let end = rest.find(|c| separates(c) != kind).unwrap_or(rest.len());
        let (item, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        push_upper(first, &mut out);
        out.push_str(&lower(item.get(first.len_utf8()..).unwrap_or("")));
        rest = tail;
    }
    out
}
