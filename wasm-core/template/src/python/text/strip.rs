//! `strip` and what removes affixes.

use crate::python::text::classes::is_space;

/// The characters to strip; white space where none are given.
fn stripped(chars: Option<&str>) -> impl Fn(char) -> bool + '_ {
    move |c| chars.map_or_else(|| is_space(c), |chars| chars.contains(c))
}

pub fn strip<'a>(text: &'a str, chars: Option<&str>) -> &'a str {
    text.trim_matches(stripped(chars))
}

pub fn lstrip<'a>(text: &'a str, chars: Option<&str>) -> &'a str {
    text.trim_start_matches(stripped(chars))
}

pub fn rstrip<'a>(text: &'a str, chars: Option<&str>) -> &'a str {
    text.trim_end_matches(stripped(chars))
}

pub fn removeprefix<'a>(text: &'a str, prefix: &str) -> &'a str {
    text.strip_prefix(prefix).unwrap_or(text)
}

pub fn removesuffix<'a>(text: &'a str, suffix: &str) -> &'a str {
    text.strip_suffix(suffix).unwrap_or(text)
}
