//! `Strip`: takes up to `start` leading and up to `stop` trailing characters off each token.
//!
//! The reference panics where the token is too short for that: nothing but the character, and
//! fewer of it than `stop`, or fewer than both ends together want. Here nothing is left of it.

use crate::decode::output::stage::Parts;
use crate::error::Result;
use crate::saved::{damaged, put_number, Reader};

/// A state that was tampered with may not ask for more characters than a text could have.
const MOST_HELD: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct Strip {
    pub content: char,
    pub start: usize,
    pub stop: usize,
}

impl Strip {
    pub fn apply<'t>(&self, token: &'t str) -> &'t str {
        let (start, stop) = self.lengths(token);
        token.get(start..token.len() - stop).unwrap_or_default()
    }

    /// How many bytes go at the start and at the end.
    pub fn lengths(&self, token: &str) -> (usize, usize) {
        let mut rest = token;
        for _ in 0..self.start {
            match rest.strip_prefix(self.content) {
                Some(shorter) => rest = shorter,
                None => break,
            }
        }
        let start = token.len() - rest.len();
        for _ in 0..self.stop {
            match rest.strip_suffix(self.content) {
                Some(shorter) => rest = shorter,
                None => break,
            }
        }
        (start, token.len() - start - rest.len())
    }
}

/// Leading characters are dropped as they come; trailing ones are held back until something else
/// shows that they were none.
#[derive(Debug)]
pub struct StripMachine {
    strip: Strip,
    /// How many leading characters of this token were dropped.
    dropped: usize,
    /// No more will be: another character came, or that was all.
    inside: bool,
    /// How many characters may be trailing ones: at most `stop`.
    held: usize,
    scratch: String,
}

impl StripMachine {
    pub fn new(strip: Strip) -> Self {
        Self { strip, dropped: 0, inside: false, held: 0, scratch: String::new() }
    }

    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        let rest = self.without_leading(part);
        if self.strip.stop == 0 {
            if !rest.is_empty() {
                out(rest, false)?;
            }
        } else if !rest.is_empty() {
            self.hold_trailing(rest, out)?;
        }
        if ends {
            self.dropped = 0;
            self.inside = false;
            self.held = 0;
            out("", true)?;
        }
        Ok(())
    }

    /// The list has ended: what is held back was trailing.
    pub fn flush(&mut self) {
        self.held = 0;
    }

    fn without_leading<'p>(&mut self, part: &'p str) -> &'p str {
        let mut rest = part;
        while !self.inside && !rest.is_empty() {
            match rest.strip_prefix(self.strip.content) {
                Some(shorter) if self.dropped < self.strip.start => {
                    self.dropped += 1;
                    rest = shorter;
                }
                _ => self.inside = true,
            }
        }
        rest
    }

    fn hold_trailing(&mut self, rest: &str, out: &mut Parts<'_>) -> Result<()> {
        let body = rest.trim_end_matches(self.strip.content);
        let mut trailing = rest.get(body.len()..).unwrap_or_default().chars().count();
        self.scratch.clear();
        if body.is_empty() {
            trailing = trailing.saturating_add(self.held);
        } else {
            self.scratch.extend(std::iter::repeat_n(self.strip.content, self.held));
            self.scratch.push_str(body);
        }
        self.held = trailing.min(self.strip.stop);
        self.scratch.extend(std::iter::repeat_n(self.strip.content, trailing - self.held));
        out(&self.scratch, false)
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.push(self.inside.into());
        put_number(out, self.dropped as u64);
        put_number(out, self.held as u64);
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.inside = from.flag()?;
        self.dropped = from.size()?;
        self.held = from.size()?;
        if self.dropped > self.strip.start || self.held > self.strip.stop || self.held > MOST_HELD {
            return Err(damaged());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Strip;

    #[test]
    fn each_end_has_its_own_count() {
        let strip = Strip { content: '_', start: 1, stop: 2 };
        assert_eq!(strip.apply("__a___"), "_a_");
        assert_eq!(strip.apply("a_b"), "a_b");
        assert_eq!(strip.apply("a"), "a");
    }

    #[test]
    fn nothing_is_left_where_the_reference_panics() {
        assert_eq!(Strip { content: '_', start: 0, stop: 1 }.apply(""), "");
        assert_eq!(Strip { content: '_', start: 0, stop: 3 }.apply("__"), "");
        assert_eq!(Strip { content: '_', start: 1, stop: 1 }.apply("_"), "");
    }
}
