//! What the steps of a pre-tokenizer do at a border between two characters: see [`crate::cuts`].

use super::byte_level::CHAR_OF_BYTE;
use super::splitter::{Finder, Splitter};
use super::steps::{PreTokenizers, Step};
use crate::cuts::{Because, Place};
use crate::definition::{PrependScheme, SplitBehavior};
use crate::text::{FindMatches as _, Meeting};
use crate::unicode::{is_rust_word, is_whitespace};

const NOT_APART: Because = "a step that may reach across the cut, or see the end of a text";
const PREFIX: Because = "a prefix is put in front of a text, unless it begins with a space";

impl PreTokenizers {
    /// Carries the two characters through all steps. Fails where the pieces of a text may differ
    /// from those of its two halves by more than the border itself.
    pub fn meet(&self, place: &mut Place) -> Result<(), Because> {
        self.steps().iter().try_for_each(|step| step.meet(place))
    }
}

impl Step {
    fn meet(&self, place: &mut Place) -> Result<(), Because> {
        match self {
            Self::Split(splitter) => place.cut |= splitter.meet(place.left, place.right)?,
            Self::ByteLevel { add_prefix_space, splitter } => {
                // Behind a cut both halves begin a piece, with a prefix or without.
                if *add_prefix_space && !place.cut && place.right != ' ' {
                    return Err(PREFIX);
                }
                if let Some(splitter) = splitter {
                    place.cut |= splitter.meet(place.left, place.right)?;
                }
                let byte = place.left.encode_utf8(&mut [0; 4]).bytes().next_back();
                place.left = byte.map_or(place.left, |byte| CHAR_OF_BYTE[usize::from(byte)]);
                let byte = place.right.encode_utf8(&mut [0; 4]).bytes().next();
                place.right = byte.map_or(place.right, |byte| CHAR_OF_BYTE[usize::from(byte)]);
            }
            Self::Metaspace { replacement, prepend, splitter } => {
                let mark = replacement.chars().next().unwrap_or(' ');
                let map = |c: char| if c == ' ' { mark } else { c };
                (place.left, place.right) = (map(place.left), map(place.right));
                // What continues a text is not its first piece.
                if *prepend == PrependScheme::Always && !place.cut && place.right != mark {
                    return Err(PREFIX);
                }
                if let Some(splitter) = splitter {
                    place.cut |= splitter.meet(place.left, place.right)?;
                }
            }
        }
        Ok(())
    }
}

impl Splitter {
    /// Whether it always cuts between the two.
    fn meet(&self, left: char, right: char) -> Result<bool, Because> {
        use SplitBehavior::{Contiguous, Isolated, MergedWithNext, MergedWithPrevious, Removed};
        let meeting = self.finder().meeting(left, right).ok_or(NOT_APART)?;
        let Meeting { left_ends, right_starts, left_never, right_never } = meeting;
        let changes = (left_ends && right_never) || (right_starts && left_never);
        match (self.behavior(), self.inverts()) {
            (Isolated | Removed, _) => Ok(left_ends || right_starts),
            (Contiguous, _) => Ok(changes),
            (MergedWithPrevious, false) => Ok(left_ends),
            (MergedWithNext, false) => Ok(right_starts),
            (MergedWithPrevious | MergedWithNext, true) => Err(NOT_APART),
        }
    }
}

impl Finder {
    fn meeting(&self, left: char, right: char) -> Option<Meeting> {
        match self {
            Self::Scanner(scanner) => scanner.meeting(left, right),
            Self::Regex(regex) => regex.meeting(left, right),
            Self::Literal(literal) => literal.meeting(left, right),
            Self::EachChar(is_match) => Some(Meeting::of_chars(is_match(left), is_match(right))),
            Self::Char(wanted) => Some(Meeting::of_chars(left == *wanted, right == *wanted)),
            Self::WordsAndSymbols => {
                // Runs of one kind; white space is in none.
                let kind = |c: char| (is_rust_word(c), !is_rust_word(c) && is_whitespace(c));
                let (kinds, white) = ((kind(left), kind(right)), (false, true));
                let differ = kinds.0 != kinds.1;
                Some(Meeting {
                    left_ends: differ && kinds.0 != white,
                    right_starts: differ && kinds.1 != white,
                    left_never: kinds.0 == white,
                    right_never: kinds.1 == white,
                })
            }
            Self::Scripts | Self::Length(_) | Self::Function(_) => None,
        }
    }
}
