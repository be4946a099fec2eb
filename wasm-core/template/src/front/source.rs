//! The text that is lexed, and the way back from an offset in it to a line and a column.

use std::borrow::Cow;

use crate::error::{Error, Kind};

/// What Python's `re` calls `\s`: it has U+001C to U+001F beside Unicode's white space.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Offset of the first character at or after `from` that is no white space.
pub fn skip_space(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.char_indices().find(|&(_, c)| !is_space(c)).map_or(text.len(), |(at, _)| from + at)
}

/// `\r\n` and `\r` as `\n`, and without the one newline that ends a file.
pub fn normalize(source: &str) -> Cow<'_, str> {
    let mut text = if source.contains('\r') {
        Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(source)
    };
    if text.ends_with('\n') {
        match &mut text {
            Cow::Owned(owned) => {
                owned.pop();
            }
            Cow::Borrowed(borrowed) => *borrowed = borrowed.strip_suffix('\n').unwrap_or(borrowed),
        }
    }
    text
}

/// A normalised source. Lines and columns of it are those of the original: only line ends differ.
pub struct Source<'s> {
    pub text: &'s str,
    /// Offsets of the first byte of each line.
    lines: Vec<usize>,
}

impl<'s> Source<'s> {
    pub fn new(text: &'s str) -> Self {
        let starts =
            text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1);
        Self { text, lines: std::iter::once(0).chain(starts).collect() }
    }

    /// From 1.
    pub fn line(&self, at: usize) -> u32 {
        let line = self.lines.partition_point(|&start| start <= at);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// From 1, in characters.
    fn column(&self, at: usize) -> u32 {
        let line = self.lines.partition_point(|&start| start <= at);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..at).map_or(0, |text| text.chars().count());
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }

    pub fn error(&self, kind: Kind, message: impl Into<String>, at: usize) -> Error {
        Error::new(kind, message).at(self.line(at), self.column(at))
    }

    pub fn syntax(&self, message: impl Into<String>, at: usize) -> Error {
        self.error(Kind::Syntax, message, at)
    }

    pub fn unsupported(&self, feature: impl Into<String>, at: usize) -> Error {
        let feature = feature.into();
        self.error(Kind::Unsupported, format!("{feature} cannot be rendered exactly"), at)
            .named(feature)
    }

    pub fn limit(&self, name: &str, bound: usize, at: usize) -> Error {
        let message = format!("the template passes the limit of {bound} for `{name}`");
        self.error(Kind::Limit, message, at).named(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_one_kind() {
        assert_eq!(normalize("a\r\nb\rc\n"), "a\nb\nc");
        assert_eq!(normalize("a\n\n"), "a\n");
        assert_eq!(normalize("a\n\r"), "a\n");
        assert_eq!(normalize("\r\n"), "");
    }

    #[test]
    fn places_count_characters() {
        let source = Source::new("é\nab{{ x }}");
        let error = source.syntax("no", 5);
        assert_eq!((error.line, error.column), (Some(2), Some(3)));
    }
}
