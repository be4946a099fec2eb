//! The steps of a pre-tokenizer, over text that remembers where it came from.

use super::byte_level::spell_bytes;
use super::llama;
use super::scan::Scanner;
use super::splitter::Splitter;
use crate::definition::llama::LlamaSplit;
use crate::definition::{PreTokenizer, PrependScheme, SplitBehavior};
use crate::error::Result;
use crate::text::{AlignedText, FindMatches as _};
use crate::unicode::{is_delimiter, is_numeric, is_whitespace};

/// The reference's pre-tokenizers, in sequence.
#[derive(Debug)]
pub struct PreTokenizers {
    steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    Split(Splitter),
    ByteLevel { add_prefix_space: bool, splitter: Option<Splitter> },
    Metaspace { replacement: String, prepend: PrependScheme, splitter: Option<Splitter> },
}

impl Step {
    /// What `definition` does, in order.
    pub(super) fn compile(definition: &PreTokenizer, steps: &mut Vec<Self>) -> Result<()> {
        use SplitBehavior::{Contiguous, Isolated, MergedWithNext, Removed};
        let splitter = match definition {
            PreTokenizer::ByteLevel { add_prefix_space, use_regex } => {
                let splitter = use_regex.then(|| Splitter::of_scanner(Scanner::Gpt2));
                steps.push(Self::ByteLevel { add_prefix_space: *add_prefix_space, splitter });
                return Ok(());
            }
            PreTokenizer::Metaspace { replacement, prepend, split } => {
                let splitter = split.then(|| Splitter::of_char(*replacement, MergedWithNext));
                let replacement = replacement.to_string();
                steps.push(Self::Metaspace { replacement, prepend: *prepend, splitter });
                return Ok(());
            }
            PreTokenizer::Split { pattern, behavior, invert } => {
                Splitter::of_pattern(pattern, *behavior, *invert)?
            }
            PreTokenizer::Digits { individual } => {
                let behavior = if *individual { Isolated } else { Contiguous };
                Splitter::of_each_char(is_numeric, behavior)
            }
            PreTokenizer::Punctuation { behavior } => {
                Splitter::of_each_char(is_delimiter, *behavior)
            }
            PreTokenizer::Whitespace => Splitter::of_words_and_symbols(),
            PreTokenizer::WhitespaceSplit => Splitter::of_each_char(is_whitespace, Removed),
            PreTokenizer::CharDelimiterSplit { delimiter } => {
                Splitter::of_char(*delimiter, Removed)
            }
            PreTokenizer::UnicodeScripts => Splitter::of_scripts(),
            PreTokenizer::FixedLength { length } => Splitter::of_length(*length),
            PreTokenizer::Llama(LlamaSplit::BertWords) => {
                steps.push(Self::Split(Splitter::of_each_char(is_whitespace, Removed)));
                Splitter::of_each_char(llama::stands_alone, Isolated)
            }
            PreTokenizer::Llama(LlamaSplit::NumbersInThrees) => {
                Splitter::of_function(llama::numbers_in_threes)
            }
            PreTokenizer::Llama(LlamaSplit::DigitsInThrees) => {
                Splitter::of_function(llama::digits_in_threes)
            }
            PreTokenizer::Bert => {
                steps.push(Self::Split(Splitter::of_each_char(is_whitespace, Removed)));
                Splitter::of_each_char(is_delimiter, Isolated)
            }
        };
        steps.push(Self::Split(splitter));
        Ok(())
    }

    fn apply(&self, mut piece: AlignedText, pieces: &mut Vec<AlignedText>) -> Result<()> {
        let splitter = match self {
            Self::Split(splitter) => Some(splitter),
            Self::ByteLevel { add_prefix_space, splitter } => {
                if *add_prefix_space && !piece.as_str().starts_with(' ') {
                    piece.prepend(" ");
                }
                splitter.as_ref()
            }
            Self::Metaspace { replacement, prepend, splitter } => {
                let spaces = super::pattern::Literal(" ".to_owned()).find_all(piece.as_str())?;
                piece.replace_matches(&spaces, replacement)?;
                let wanted = match prepend {
                    PrependScheme::Always => true,
                    PrependScheme::First => piece.origin().0 == 0,
                    PrependScheme::Never => false,
                };
                if wanted && !piece.as_str().starts_with(replacement.as_str()) {
                    piece.prepend(replacement);
                }
                splitter.as_ref()
            }
        };
        let first_new = pieces.len();
        match splitter {
            Some(splitter) => {
                for range in splitter.split(piece.as_str())? {
                    if !range.is_empty() {
                        pieces.push(piece.slice(range)?);
                    }
                }
            }
            None if piece.is_empty() => {}
            None => pieces.push(piece),
        }
        if let Self::ByteLevel { .. } = self {
            pieces.iter_mut().skip(first_new).try_for_each(spell_bytes)?;
        }
        Ok(())
    }
}

impl PreTokenizers {
    pub fn new(definitions: &[PreTokenizer]) -> Result<Self> {
        let mut steps = Vec::new();
        for definition in definitions {
            Step::compile(definition, &mut steps)
                .map_err(|error| error.at_path("$.pre_tokenizer"))?;
        }
        Ok(Self { steps })
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Every step leaves out the pieces that are empty.
    pub fn apply(&self, mut pieces: Vec<AlignedText>) -> Result<Vec<AlignedText>> {
        for step in &self.steps {
            let mut cut = Vec::with_capacity(pieces.len());
            for piece in pieces {
                step.apply(piece, &mut cut)?;
            }
            pieces = cut;
        }
        Ok(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(definitions: &[PreTokenizer], text: &str) -> Vec<(String, (usize, usize))> {
        let steps = PreTokenizers::new(definitions).unwrap();
        let pieces = steps.apply(vec![AlignedText::new(text, 0, true)]).unwrap();
        pieces.into_iter().map(|piece| (piece.as_str().to_owned(), piece.origin())).collect()
    }

    fn pieces(expected: &[(&str, (usize, usize))]) -> Vec<(String, (usize, usize))> {
        expected.iter().map(|(text, origin)| ((*text).to_owned(), *origin)).collect()
    }

    #[test]
    fn byte_level_spells_bytes() {
        let step = PreTokenizer::ByteLevel { add_prefix_space: true, use_regex: true };
        let expected = pieces(&[("Ġa", (0, 1)), ("ĠÃ©", (1, 4)), ("Ċ", (4, 5))]);
        assert_eq!(apply(&[step], "a é\n"), expected);
    }

    #[test]
    fn metaspace_schemes() {
        let of = |prepend, split| PreTokenizer::Metaspace { replacement: '▁', prepend, split };
        let expected = pieces(&[("▁a", (0, 1)), ("▁b", (1, 3))]);
        assert_eq!(apply(&[of(PrependScheme::Always, true)], "a b"), expected);
        assert_eq!(apply(&[of(PrependScheme::First, true)], "a b"), expected);
        let expected = pieces(&[("a▁b", (0, 3))]);
        assert_eq!(apply(&[of(PrependScheme::Never, false)], "a b"), expected);
    }

    /// Only the piece at the start of the whole text is the first one.
    #[test]
    fn metaspace_first_asks_for_the_origin() {
        let steps = [
            PreTokenizer::WhitespaceSplit,
            PreTokenizer::Metaspace {
                replacement: '▁',
                prepend: PrependScheme::First,
                split: true,
            },
        ];
        assert_eq!(apply(&steps, "a b"), pieces(&[("▁a", (0, 1)), ("b", (2, 3))]));
    }

    /// The alphabet of bytes has characters that count as numbers.
    #[test]
    fn digits_see_the_spelled_bytes() {
        let steps = [
            PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: false },
            PreTokenizer::Digits { individual: false },
        ];
        // U+0672 is D9 B2, and B2 is spelled '²'.
        assert_eq!(apply(&steps, "\u{672}"), pieces(&[("Ù", (0, 2)), ("²", (0, 2))]));
    }

    #[test]
    fn empty_pieces_vanish() {
        assert_eq!(apply(&[PreTokenizer::Bert], " \n "), pieces(&[]));
        assert_eq!(
            apply(&[PreTokenizer::Bert], "a, b"),
            pieces(&[("a", (0, 1)), (",", (1, 2)), ("b", (3, 4)),])
        );
    }

    #[test]
    fn pieces_of_one_script() {
        let expected = pieces(&[
            ("abc ", (3, 7)),
            ("жук", (7, 13)),
            ("1,2 ", (13, 17)),
            ("カ字ー ひ", (17, 30)),
        ]);
        assert_eq!(
            apply(&[PreTokenizer::UnicodeScripts], " \u{378}abc жук1,2 カ字ー ひ"),
            expected
        );
        assert_eq!(apply(&[PreTokenizer::UnicodeScripts], " \u{378}"), pieces(&[]));
    }

    #[test]
    fn pieces_of_so_many_characters() {
        let step = [PreTokenizer::FixedLength { length: 2 }];
        let expected = pieces(&[("aé", (0, 3)), ("中x", (3, 7)), ("1", (7, 8))]);
        assert_eq!(apply(&step, "aé中x1"), expected);
        assert_eq!(apply(&step, ""), pieces(&[]));
    }

    #[test]
    fn errors_name_the_place() {
        let step = PreTokenizer::Split {
            pattern: crate::definition::Pattern::Regex("[a".into()),
            behavior: SplitBehavior::Isolated,
            invert: false,
        };
        let error = PreTokenizers::new(&[PreTokenizer::Whitespace, step]).unwrap_err();
        assert_eq!(error.path.as_deref(), Some("$.pre_tokenizer"));
    }
}
