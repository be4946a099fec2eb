//! What SentencePiece does to a text before its model sees it.
//!
//! One walk from left to right: at each place either a user-defined symbol, which stays as it is, or
//! the longest rule of the charsmap, or one character. Spaces become `▁`, a dummy one is put at
//! the start, and those that are too many are dropped on the way.

use super::charsmap::Charsmap;
use super::Plain;
use crate::definition::SentencePieceNormalizer;
use crate::error::{Error, Result};
use crate::model::trie::Trie;
use crate::text::AlignedText;

const ESCAPED: &str = "\u{2581}";
/// No text grows beyond this. Only rules made to grow get here: a page for each letter.
const MOST: usize = 1 << 28;

#[derive(Debug)]
pub struct SentencePiece {
    rules: Option<Charsmap>,
    user_defined: Trie,
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    treat_whitespace_as_suffix: bool,
    /// What a space is written as.
    space: &'static str,
}

impl SentencePiece {
    pub fn new(definition: &SentencePieceNormalizer) -> Result<Self> {
        let blob = &definition.charsmap.0;
        let rules = if blob.is_empty() { None } else { Some(Charsmap::parse(blob)?) };
        let protected = definition.user_defined.iter().map(|text| (text.as_bytes(), 0));
        Ok(Self {
            rules,
            user_defined: Trie::new(protected),
            add_dummy_prefix: definition.add_dummy_prefix,
            remove_extra_whitespaces: definition.remove_extra_whitespaces,
            treat_whitespace_as_suffix: definition.treat_whitespace_as_suffix,
            space: if definition.escape_whitespaces { ESCAPED } else { " " },
        })
    }

    pub(super) fn plain(&self, text: &str) -> Result<Plain> {
        let changed = self.normalize(text)?;
        Ok(if changed == text { Plain::Same } else { Plain::Changed(changed) })
    }

    pub fn normalize(&self, text: &str) -> Result<String> {
        if self.only_escapes() {
            return Ok(self.escape(text));
        }
        let mut out = Untraced(String::with_capacity(text.len() + text.len() / 2 + 8));
        self.walk(text, &mut out)?;
        Ok(out.0)
    }

    pub fn aligned(&self, text: &mut AlignedText) -> Result<()> {
        let mut out = Traced::default();
        let end = self.walk(text.as_str(), &mut out)?;
        out.starts.push(end);
        text.replace_by(out.text, &out.starts)
    }

    /// Whether nothing happens but that spaces are escaped and one is put at an end.
    fn only_escapes(&self) -> bool {
        self.rules.is_none() && !self.remove_extra_whitespaces && self.user_defined.longest() == 0
    }

    /// What a space becomes, and whether one is put in front, where nothing else happens.
    pub fn escapes_only(&self) -> Option<(char, bool)> {
        let suffix = self.add_dummy_prefix && self.treat_whitespace_as_suffix;
        let space = self.space.chars().next()?;
        (self.only_escapes() && !suffix).then_some((space, self.add_dummy_prefix))
    }

    /// The escaped text without a space in front. Asks for [`Self::escapes_only`].
    pub(super) fn continued(&self, text: &str) -> Plain {
        match self.space == " " || !text.contains(' ') {
            true => Plain::Same,
            false => Plain::Changed(text.replace(' ', self.space)),
        }
    }

    fn escape(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + text.len() / 2 + 8);
        let dummy = self.add_dummy_prefix && !text.is_empty();
        if dummy && !self.treat_whitespace_as_suffix {
            out.push_str(self.space);
        }
        for (n, word) in text.split(' ').enumerate() {
            if n > 0 {
                out.push_str(self.space);
            }
            out.push_str(word);
        }
        if dummy && self.treat_whitespace_as_suffix {
            out.push_str(self.space);
        }
        out
    }

    /// Writes the normalized text; answers the place of the original that its end stands for.
    fn walk(&self, text: &str, out: &mut impl Output) -> Result<usize> {
        let mut at = 0;
        if self.remove_extra_whitespaces {
            while at < text.len() {
                let (content, length) = self.next(text, at);
                if content != " " {
                    break;
                }
                at += length;
            }
        }
        if at >= text.len() {
            return Ok(0);
        }
        if self.add_dummy_prefix && !self.treat_whitespace_as_suffix {
            out.push(self.space, at);
        }
        let mut after_space = self.remove_extra_whitespaces;
        while at < text.len() {
            let (mut content, length) = self.next(text, at);
            if after_space {
                content = content.trim_start_matches(' ');
            }
            for (n, word) in content.split(' ').enumerate() {
                if n > 0 {
                    out.push(self.space, at);
                }
                out.push(word, at);
            }
            if !content.is_empty() {
                after_space = self.remove_extra_whitespaces && content.ends_with(' ');
            }
            at += length;
            if out.length() > MOST {
                return Err(Error::limit(format!(
                    "the rules of the normalizer make more than {MOST} bytes of this text"
                ))
                .at_path("$.normalizer"));
            }
        }
        if self.remove_extra_whitespaces {
            while let Some(start) = out.pop(self.space) {
                at = start;
            }
        }
        if self.add_dummy_prefix && self.treat_whitespace_as_suffix {
            out.push(self.space, at);
        }
        Ok(at)
    }

    /// What stands at `at` after normalization, and how many bytes it stood for.
    #[inline]
    fn next<'a>(&'a self, text: &'a str, at: usize) -> (&'a str, usize) {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        if let Some((length, _)) = self.user_defined.longest_prefix(rest) {
            if let Some(symbol) = text.get(at..at + length) {
                return (symbol, length);
            }
        }
        if let Some((length, content)) = self.rules.as_ref().and_then(|r| r.longest_prefix(rest)) {
            return (content, length);
        }
        let first = text.get(at..).and_then(|rest| rest.chars().next());
        let character = first.and_then(|c| text.get(at..at + c.len_utf8()));
        match character {
            Some(character) => (character, character.len()),
            // A rule ended inside a character: what is left of it is no UTF-8.
            None => ("\u{FFFD}", 1),
        }
    }
}

trait Output {
    /// Appends what the place `start` of the original has become.
    fn push(&mut self, content: &str, start: usize);
    /// Drops `space` from the end, if it is there, and answers where it came from.
    fn pop(&mut self, space: &str) -> Option<usize>;
    /// In bytes, so far.
    fn length(&self) -> usize;
}

struct Untraced(String);

impl Output for Untraced {
    #[inline]
    fn push(&mut self, content: &str, _: usize) {
        self.0.push_str(content);
    }

    fn pop(&mut self, space: &str) -> Option<usize> {
        let kept = self.0.strip_suffix(space)?.len();
        self.0.truncate(kept);
        Some(0)
    }

    fn length(&self) -> usize {
        self.0.len()
    }
}

#[derive(Default)]
struct Traced {
    text: String,
    /// For each byte of `text`.
    starts: Vec<usize>,
}

impl Output for Traced {
    fn push(&mut self, content: &str, start: usize) {
        self.text.push_str(content);
        self.starts.resize(self.text.len(), start);
    }

    fn pop(&mut self, space: &str) -> Option<usize> {
        let kept = self.text.strip_suffix(space)?.len();
        let start = self.starts.get(kept).copied();
        self.text.truncate(kept);
        self.starts.truncate(kept);
        start
    }

    fn length(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Blob;
    use crate::oracle::random::Random;

    fn definition(flags: [bool; 4], user_defined: &[&str]) -> SentencePieceNormalizer {
        let [add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, suffix] = flags;
        SentencePieceNormalizer {
            name: "identity".into(),
            add_dummy_prefix,
            remove_extra_whitespaces,
            escape_whitespaces,
            treat_whitespace_as_suffix: suffix,
            charsmap: Blob::default(),
            user_defined: user_defined.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    fn normalize(flags: [bool; 4], user_defined: &[&str], text: &str) -> String {
        SentencePiece::new(&definition(flags, user_defined)).unwrap().normalize(text).unwrap()
    }

    #[test]
    fn spaces_are_escaped_and_extra_ones_dropped() {
        assert_eq!(normalize([true, false, true, false], &[], " a  b "), "▁▁a▁▁b▁");
        assert_eq!(normalize([true, true, true, false], &[], " a  b "), "▁a▁b");
        assert_eq!(normalize([false, true, false, false], &[], " a  b "), "a b");
        assert_eq!(normalize([true, true, true, true], &[], " a  b "), "a▁b▁");
        assert_eq!(normalize([true, true, true, false], &[], "   "), "");
        assert_eq!(normalize([true, false, true, false], &[], ""), "");
    }

    #[test]
    fn the_dummy_prefix_may_be_dropped_again() {
        assert_eq!(normalize([true, true, true, false], &[], "▁"), "");
    }

    #[test]
    fn only_spaces_of_their_own_are_extra() {
        let flags = [true, true, true, false];
        assert_eq!(normalize(flags, &["  "], "a  b"), "▁a▁▁b");
        assert_eq!(normalize(flags, &["a "], "a  b"), "▁a▁b");
    }

    #[test]
    fn rules_made_to_grow_are_stopped() {
        let mut units = vec![0u32; 1024];
        units[0] = 256 << 10;
        let key = 256 ^ 0x61;
        units[key] = 0x61 | 1 << 8 | ((key as u32) ^ 512) << 10;
        units[512] = 1 << 31;
        let mut blob = 4096u32.to_le_bytes().to_vec();
        blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        blob.resize(blob.len() + (1 << 20), b'x');
        let mut definition = definition([true, true, true, false], &[]);
        definition.charsmap = Blob(blob);
        let made = SentencePiece::new(&definition).unwrap();
        assert_eq!(made.normalize("a").unwrap().len(), (1 << 20) + 3);
        let error = made.normalize(&"a".repeat(1000)).unwrap_err();
        assert_eq!(error.kind, crate::error::ErrorKind::LimitExceeded);
    }

    /// The short way for files without rules gives what the walk gives.
    #[test]
    fn escaping_alone_is_the_walk() {
        let mut random = Random::new(3);
        for round in 0..400 {
            let flags = [round & 1 > 0, false, round & 2 > 0, round & 4 > 0];
            let made = SentencePiece::new(&definition(flags, &[])).unwrap();
            let text: String =
                (0..random.below(8)).map(|_| *random.pick(&[' ', 'a', 'é', '▁'])).collect();
            let mut walked = Untraced(String::new());
            made.walk(&text, &mut walked).unwrap();
            assert!(made.only_escapes());
            assert_eq!(made.escape(&text), walked.0, "{text:?} {flags:?}");
        }
    }

    #[test]
    fn alignments_follow_the_walk() {
        let made = SentencePiece::new(&definition([true, true, true, false], &[])).unwrap();
        let mut text = AlignedText::new("  a  é ", 10, true);
        made.aligned(&mut text).unwrap();
        assert_eq!(text.as_str(), "▁a▁é");
        assert_eq!(text.offsets_of(0..3), (12, 12));
        assert_eq!(text.offsets_of(3..4), (12, 13));
        assert_eq!(text.offsets_of(4..7), (13, 15));
        assert_eq!(text.offsets_of(7..9), (15, 17));
    }
}
