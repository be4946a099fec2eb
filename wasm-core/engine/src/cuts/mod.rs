//! Where a text may be cut so that both parts have, one after the other, the ids of the whole.
//!
//! A cut is decided by the characters around it and holds in every text that has them there:
//! `encode(a + b) == encode(a) + continue(b)`, without what the post-processor adds. `continue` is
//! `encode` without the prefix that some files put in front of a text (`Prepend`, `Metaspace`); for
//! the others it is the same. It is proved step by step, each step taking the two halves for granted
//! that the one before it left:
//!
//! - **Added tokens** are found by their text. None of them has the two characters side by side, so
//!   none lies across. What they look at outside (white space that `lstrip` and `rstrip` take along,
//!   the neighbours of a `single_word`) is the same for both halves: see [`edges`].
//! - **Normalizers** work on both halves apart: character by character, or on parts that end at the
//!   cut. What the two characters become is carried along. `Prepend` is why `continue` exists.
//! - **Pre-tokenizers**: no match of any step crosses the cut, and none in the first half sees the
//!   end of it (shown for any pattern by [`crate::split::regex::borders`], not for a list of known
//!   ones). If a step also always ends a piece there, the halves never meet again. Otherwise the
//!   pieces of the whole are those of the halves, with the last and the first of them joined.
//! - **Models** see one piece at a time, so they need no argument where a piece ends at the cut.
//!   Where the cut is inside a piece, no token may have what the two characters became side by side
//!   ([`crate::model::bpe::spaced`]). A sum of scores over a whole piece is rounded differently
//!   when it starts elsewhere, so Unigram models have no cuts inside a piece.
//! - **Post-processing** comes after all of it. Truncation and padding look at the whole: a file that
//!   does either has no cuts.
//!
//! Whatever is not known to keep this has no cuts, and says so.

pub mod edges;
pub mod search;
#[cfg(test)]
mod tests;

pub use search::Search;

/// The two characters at a border, and what became of them on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub left: char,
    pub right: char,
    /// The four characters around the border are printable ASCII, as far as there are so many, and
    /// have stayed so: each is a cluster of its own, whatever stands beside it.
    pub plain: bool,
    /// A step always ends a piece here.
    pub cut: bool,
    /// Something is put in front of a text, which the second half must do without.
    pub prefixed: bool,
    /// The character behind `right`.
    pub behind: Option<char>,
    /// A step may have written something else in the place of `behind`.
    pub touched: bool,
    /// All of the first half may have been removed.
    pub may_be_empty: bool,
}

impl Place {
    /// Around the border between `left` and `right`; `outer` are the two characters beside them.
    pub fn new(left: char, right: char, outer: [Option<char>; 2]) -> Self {
        let mut around = outer.into_iter().flatten().chain([left, right]);
        let plain = around.all(|c| matches!(c, ' '..='~'));
        Self {
            left,
            right,
            plain,
            cut: false,
            prefixed: false,
            behind: outer[1],
            touched: false,
            may_be_empty: false,
        }
    }

    /// A step writes these in the place of the two characters. `None`: one of them vanished.
    pub fn becomes(&mut self, left: Option<char>, right: Option<char>) -> Option<()> {
        (self.left, self.right) = (left?, right?);
        Some(())
    }
}

/// Why there is no cut, by the name of the step.
pub type Because = &'static str;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    AddedTokens,
    Normalizer,
    PreTokenizer,
    Model,
    PostProcessor,
}

/// What stands in the way of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obstacle {
    pub step: Step,
    pub because: Because,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let step = match self.step {
            Step::AddedTokens => "added tokens",
            Step::Normalizer => "normalizer",
            Step::PreTokenizer => "pre-tokenizer",
            Step::Model => "model",
            Step::PostProcessor => "post-processor",
        };
        write!(f, "{step}: {}", self.because)
    }
}
