//! `find`, `count`, `startswith`, `replace`, `join`. Places count characters, as in Python.

use crate::python::fault::{push, Outcome};
use crate::python::numbers::integer::at_least_zero;

/// Where a search begins and ends; a negative place counts from the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Range {
    pub start: Option<i64>,
    pub end: Option<i64>,
}

/// The byte at which a character begins.
fn byte_of(text: &str, place: usize) -> usize {
    if text.is_ascii() {
        return place.min(text.len());
    }
    text.char_indices().nth(place).map_or(text.len(), |(at, _)| at)
}

fn length(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().count()
}

/// A bound of a search as a place from the beginning.
pub fn place(given: Option<i64>, absent: usize, length: usize) -> usize {
    match given {
        None => absent,
        Some(back) if back < 0 => length.saturating_sub(at_least_zero(back.saturating_neg())),
        Some(given) => at_least_zero(given),
    }
}

/// The part to search and the place where it begins; none if it begins after its end.
fn window(text: &str, range: Range) -> Option<(&str, usize)> {
    if range.start.is_none() && range.end.is_none() {
        return Some((text, 0));
    }
    let length = length(text);
    let start = place(range.start, 0, length);
    let end = place(range.end, length, length).min(length);
    if start > end {
        return None;
    }
    Some((text.get(byte_of(text, start)..byte_of(text, end))?, start))
}

pub fn find(text: &str, wanted: &str, range: Range) -> Option<usize> {
    let (part, start) = window(text, range)?;
    let at = part.find(wanted)?;
    Some(start + length(part.get(..at)?))
}

pub fn rfind(text: &str, wanted: &str, range: Range) -> Option<usize> {
    let (part, start) = window(text, range)?;
    let at = part.rfind(wanted)?;
    Some(start + length(part.get(..at)?))
}

pub fn count(text: &str, wanted: &str, range: Range) -> usize {
    let Some((part, _)) = window(text, range) else { return 0 };
    if wanted.is_empty() {
        return length(part) + 1;
    }
    part.matches(wanted).count()
}

pub fn startswith(text: &str, prefix: &str, range: Range) -> bool {
    window(text, range).is_some_and(|(part, _)| part.starts_with(prefix))
}

pub fn endswith(text: &str, suffix: &str, range: Range) -> bool {
    window(text, range).is_some_and(|(part, _)| part.ends_with(suffix))
}

/// A negative `most` replaces all. An empty `old` is found before each character and at the end.
pub fn replace(text: &str, old: &str, new: &str, most: i64, cap: usize) -> Outcome<String> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut out = String::with_capacity(text.len().min(cap));
    let mut from = 0;
    for (at, found) in text.match_indices(old).take(most) {
        push(&mut out, text.get(from..at).unwrap_or(""), cap)?;
        push(&mut out, new, cap)?;
        from = at + found.len();
    }
    push(&mut out, text.get(from..).unwrap_or(""), cap)?;
    Ok(out)
}

pub fn join<'a>(
    separator: &str,
    parts: impl IntoIterator<Item = &'a str>,
    cap: usize,
) -> Outcome<String> {
    let mut out = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            push(&mut out, separator, cap)?;
        }
        push(&mut out, part, cap)?;
    }
    Ok(out)
}
