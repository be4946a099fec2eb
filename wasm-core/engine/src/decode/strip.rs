//! `Strip`: takes up to `start` leading and up to `stop` trailing characters off each token.
//!
//! The reference panics where the token is too short for that: nothing but the character, and
//! fewer of it than `stop`, or fewer than both ends together want. Here nothing is left of it.

use super::stage::{Sink, Stage};
use crate::error::Result;

#[derive(Debug, Clone, Copy)]
pub struct Strip {
    pub content: char,
    pub start: usize,
    pub stop: usize,
}

impl Strip {
    pub fn apply<'t>(&self, token: &'t str) -> &'t str {
        let mut rest = token;
        for _ in 0..self.start {
            match rest.strip_prefix(self.content) {
                Some(shorter) => rest = shorter,
                None => break,
            }
        }
        for _ in 0..self.stop {
            match rest.strip_suffix(self.content) {
                Some(shorter) => rest = shorter,
                None => break,
            }
        }
        rest
    }
}

impl Stage for Strip {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        out(self.apply(token))
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
