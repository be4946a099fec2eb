//! Added tokens around a cut.
//!
//! They are found from the left, the longest at the leftmost place. If none that occurs lies across
//! the cut, the search in the whole goes as those in the halves: as long as it looks for a token that
//! begins before the cut it finds what it finds in the first half, and from then on what it finds in
//! the second. It lies across only if two of its characters are those beside the cut.
//!
//! A found token then looks at what is beside it:
//! - `lstrip` takes the white space before it. It takes some across the cut only if `left` is white.
//! - `rstrip` takes the white space behind it, across the cut only if `right` is white, and `left`
//!   is white or ends such a token.
//! - `single_word` asks for its neighbours: the one behind a token that ends at the cut, and the one
//!   before a token that begins there, is missing in a half. A missing one is no word character.
//!
//! llama.cpp's order, the longest first everywhere, asks for the same: what occurs within a half is
//! cut out of it either way.

use crate::definition::AddedToken;
use crate::unicode::{is_rust_word, is_whitespace};
use std::collections::BTreeSet;

/// What the tokens have at their ends and side by side.
#[derive(Debug, Default)]
pub struct Edges {
    /// Sorted.
    pairs: Vec<(char, char)>,
    strips_left: bool,
    strips_right: bool,
    /// Last characters of tokens with `rstrip`.
    before_strip: Vec<char>,
    /// First and last characters of tokens with `single_word`.
    word_starts: Vec<char>,
    word_ends: Vec<char>,
    ends: Vec<char>,
}

impl Edges {
    /// Of tokens with the text that they are found by.
    pub fn new<'a>(tokens: impl Iterator<Item = (&'a AddedToken, &'a str)>) -> Self {
        let mut edges = Self::default();
        let mut pairs = BTreeSet::new();
        for (token, text) in tokens {
            pairs.extend(text.chars().zip(text.chars().skip(1)));
            edges.ends.extend(text.chars().next_back());
            edges.strips_left |= token.lstrip;
            edges.strips_right |= token.rstrip;
            if token.rstrip {
                edges.before_strip.extend(text.chars().next_back());
            }
            if token.single_word {
                edges.word_starts.extend(text.chars().next());
                edges.word_ends.extend(text.chars().next_back());
            }
        }
        for chars in [&mut edges.ends, &mut edges.before_strip, &mut edges.word_ends] {
            chars.sort_unstable();
            chars.dedup();
        }
        edges.pairs = pairs.into_iter().collect();
        edges
    }

    /// Whether a token ends with this character, or takes it along at its end.
    pub fn ends_with(&self, c: char) -> bool {
        self.ends.contains(&c) || (self.strips_right && is_whitespace(c))
    }

    pub fn admit(&self, left: char, right: char) -> bool {
        let white = (is_whitespace(left), is_whitespace(right));
        let across = self.pairs.binary_search(&(left, right)).is_ok();
        let taken_left = self.strips_left && white.0;
        let taken_right =
            self.strips_right && white.1 && (white.0 || self.before_strip.contains(&left));
        let word_behind = is_rust_word(right) && self.word_ends.contains(&left);
        let word_before = is_rust_word(left) && self.word_starts.contains(&right);
        !(across || taken_left || taken_right || word_behind || word_before)
    }
}
