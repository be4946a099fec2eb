//! The normalizers of llama.cpp.

use super::charsmap::Charsmap;
use super::Plain;
use crate::definition::llama::{LlamaNormalizer, UnigramNormalizer};
use crate::error::Result;
use crate::model::trie::Trie;
use crate::text::AlignedText;
use crate::unicode::{class_of, is_whitespace, lowercase};
use unicode_normalization_alignments::UnicodeNormalization;

const SPACE: char = '▁';

#[derive(Debug)]
pub enum Llama {
    Bert { strip_accents: bool, lowercase: bool },
    Lowercase,
    Unigram(Box<Unigram>),
}

impl Llama {
    pub fn new(definition: &LlamaNormalizer) -> Result<Self> {
        Ok(match definition {
            &LlamaNormalizer::Bert { strip_accents, lowercase } => {
                Self::Bert { strip_accents, lowercase }
            }
            LlamaNormalizer::Lowercase => Self::Lowercase,
            LlamaNormalizer::Unigram(unigram) => Self::Unigram(Box::new(Unigram::new(unigram)?)),
        })
    }

    pub fn plain(&self, text: &str) -> Plain {
        let new: String = match self {
            Self::Bert { .. } => text.chars().filter_map(|c| self.one(c)).collect(),
            Self::Lowercase => text.chars().map(lower).collect(),
            Self::Unigram(unigram) => {
                unigram.edits(text).0.into_iter().map(|edit| edit.0).collect()
            }
        };
        match new == text {
            true => Plain::Same,
            false => Plain::Changed(new),
        }
    }

    pub fn aligned(&self, text: &mut AlignedText) -> Result<()> {
        match self {
            Self::Bert { .. } => {
                text.filter(|c| self.one(c).is_some())?;
                text.map(|c| self.one(c).unwrap_or(c))
            }
            Self::Lowercase => text.map(lower),
            Self::Unigram(unigram) => {
                let (edits, skipped) = unigram.edits(text.as_str());
                let untrusted = text.is_untrusted(0..text.as_str().len());
                text.transform(edits, skipped)?;
                match text.tracks_untrusted() {
                    // No token is looked for in what comes out, and the model knows none that
                    // text may not yield: nothing depends on which byte it is.
                    true => text.set_untrusted(vec![untrusted; text.as_str().len()]),
                    false => Ok(()),
                }
            }
        }
    }

    /// What becomes of a character wherever it stands; `Some(None)`: it vanishes. `None`: that
    /// depends on what is around it.
    pub fn each(&self, c: char) -> Option<Option<char>> {
        match self {
            Self::Bert { .. } => Some(self.one(c)),
            Self::Lowercase => Some(Some(lower(c))),
            Self::Unigram(_) => None,
        }
    }

    /// What a character becomes in model `bert`, if it does not vanish.
    fn one(&self, c: char) -> Option<char> {
        let &Self::Bert { strip_accents, lowercase } = self else { return Some(c) };
        let c = match strip_accents {
            // Of a decomposition only the first character is kept: of a syllable of Hangul that
            // is a consonant.
            true if !c.is_ascii() => std::iter::once(c).nfd().next().map_or(c, |(base, _)| base),
            _ => c,
        };
        if is_whitespace(c) {
            return Some(' ');
        }
        let class = class_of(c);
        let is_control = matches!(class.category(), "Cc" | "Cf" | "Co");
        if is_control || c == '\u{FFFD}' || (strip_accents && class.is_mark()) {
            return None;
        }
        Some(if lowercase { lower(c) } else { c })
    }
}

/// The simple mapping, of one character to one.
fn lower(c: char) -> char {
    lowercase(c).first
}

#[derive(Debug)]
pub struct Unigram {
    charsmap: Option<Charsmap>,
    user_defined: Trie,
    add_space_prefix: bool,
    merge_spaces: bool,
}

impl Unigram {
    fn new(definition: &UnigramNormalizer) -> Result<Self> {
        let charsmap = match &definition.charsmap {
            Some(blob) => Some(Charsmap::parse(blob)?),
            None => None,
        };
        let user_defined = definition.user_defined.iter().map(|token| (token.as_bytes(), 0));
        Ok(Self {
            charsmap,
            user_defined: Trie::new(user_defined),
            add_space_prefix: definition.add_space_prefix,
            merge_spaces: definition.merge_spaces,
        })
    }

    /// The new text as [`AlignedText::transform`] takes it.
    fn edits(&self, text: &str) -> (Vec<(char, isize)>, usize) {
        let mut out = Edits::default();
        let mut in_word = false;
        let mut has_prefix = false;
        let mut rest = text;
        while !rest.is_empty() {
            let (length, new) = self.next(rest);
            let (old, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
            rest = behind;
            let mut group = out.group(old.chars().count());
            for c in new.chars() {
                if c == ' ' {
                    in_word = false;
                    if !self.merge_spaces {
                        group.push(SPACE);
                    }
                    continue;
                }
                if !in_word {
                    in_word = true;
                    if (self.add_space_prefix && !has_prefix) || self.merge_spaces {
                        group.push(SPACE);
                        has_prefix = true;
                    }
                }
                group.push(c);
            }
            group.close();
        }
        (out.edits, out.skipped)
    }

    /// How many bytes the next step takes, and what it makes of them.
    fn next<'a>(&'a self, rest: &'a str) -> (usize, &'a str) {
        // llama.cpp takes the beginning of a user-defined token for one.
        let begins = self.user_defined.prefixes(rest.as_bytes(), |_, _| {});
        if begins > 0 {
            return (begins, rest.get(..begins).unwrap_or_default());
        }
        let mapped = self.charsmap.as_ref().and_then(|map| map.longest_prefix(rest.as_bytes()));
        if let Some(mapped) = mapped.filter(|(length, _)| rest.is_char_boundary(*length)) {
            return mapped;
        }
        let length = rest.chars().next().map_or(1, char::len_utf8);
        (length, rest.get(..length).unwrap_or_default())
    }
}

#[derive(Default)]
struct Edits {
    edits: Vec<(char, isize)>,
    skipped: usize,
}

/// The characters that stand for some old ones.
struct Group<'a> {
    all: &'a mut Edits,
    /// Old characters that no new one stands for yet.
    open: usize,
}

impl Edits {
    fn group(&mut self, old: usize) -> Group<'_> {
        Group { all: self, open: old }
    }
}

impl Group<'_> {
    fn push(&mut self, c: char) {
        let change = match std::mem::take(&mut self.open) {
            0 => 1,
            old => 1 - old as isize,
        };
        self.all.edits.push((c, change));
    }

    /// What came to nothing goes with the character before it.
    fn close(self) {
        let open = self.open as isize;
        match self.all.edits.last_mut() {
            _ if open == 0 => {}
            Some((_, change)) if *change > 0 => *change = 1 - open,
            Some((_, change)) => *change -= open,
            None => self.all.skipped += self.open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unigram(user_defined: &[&str], add_space_prefix: bool, merge_spaces: bool) -> Llama {
        Llama::new(&LlamaNormalizer::Unigram(UnigramNormalizer {
            charsmap: None,
            user_defined: user_defined.iter().map(|&token| token.to_owned()).collect(),
            add_space_prefix,
            merge_spaces,
        }))
        .unwrap()
    }

    fn both(normalizer: &Llama, text: &str) -> String {
        let plain = match normalizer.plain(text) {
            Plain::Changed(new) => new,
            _ => text.to_owned(),
        };
        let mut aligned = AlignedText::new(text, 0, true);
        normalizer.aligned(&mut aligned).unwrap();
        assert_eq!(aligned.as_str(), plain, "{text:?}");
        plain
    }

    #[test]
    fn bert_drops_and_folds() {
        let bert = Llama::Bert { strip_accents: true, lowercase: true };
        assert_eq!(both(&bert, "\u{0}É\u{301}\tA\u{200D}ß한\u{FFFD}"), "e aßᄒ");
        let cased = Llama::Bert { strip_accents: false, lowercase: false };
        assert_eq!(both(&cased, "É\u{301}\tA\u{7F}"), "É\u{301} A");
    }

    #[test]
    fn spaces_merge_and_words_get_a_prefix() {
        assert_eq!(both(&unigram(&[], true, true), "  a  b "), "▁a▁b");
        assert_eq!(both(&unigram(&[], true, false), "a b"), "▁a▁b");
        assert_eq!(both(&unigram(&[], true, false), " a"), "▁▁a");
        assert_eq!(both(&unigram(&[], false, false), "a  b"), "a▁▁b");
        assert_eq!(both(&unigram(&[], false, true), "a b"), "▁a▁b");
        assert_eq!(both(&unigram(&[], true, true), "  "), "");
    }

    #[test]
    fn the_beginning_of_a_user_defined_token_is_left_alone() {
        assert_eq!(both(&unigram(&["<x>"], true, false), "<x> <xa"), "▁<x>▁<xa");
        let long = format!("<{}>", "x".repeat(60_000));
        assert_eq!(both(&unigram(&[&long], true, false), "<xxa <b"), "▁<xxa▁<b");
    }
}
