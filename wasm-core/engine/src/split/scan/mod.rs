//! Hand-written scanners for the patterns that real tokenizers use, each equal to its regular
//! expression, and linear in the text.
//!
//! A scanner sees the bytes of a valid UTF-8 text; where the slice ends, the text ends.

mod chars;
mod cl100k;
mod deepseek;
mod gpt2;
mod o200k;
mod quotes;
mod runs;
mod simple;
#[cfg(test)]
mod tests;
mod wide;
mod window;

use std::ops::Range;

use crate::error::Result;
use crate::text::{FindMatches, Meeting};

pub(super) use chars::decode;
use chars::{char_at, Char};
use cl100k::Cl100k;
use deepseek::DeepSeek;
use gpt2::Gpt2;
use o200k::O200k;
use simple::{Clip, KanaHan, Numbers, ThreeDigits};

/// Cuts a text into its consecutive pieces: the matches of a pattern, and what is between them.
pub trait PieceScan {
    /// The end of the piece that starts at `start`, which lies before the end of `text`.
    fn piece_end(&self, text: &[u8], start: usize) -> usize;

    /// The pieces that start in a window, which begins with one of them: bit n says that one starts
    /// at byte n. The piece of the highest bit may be longer than the window shows; with no bit but
    /// the lowest nothing is known, and [`Self::piece_end`] has to say it.
    #[inline(always)]
    fn starts(&self, _window: &[u8; WINDOW]) -> u64 {
        1
    }

    /// Whether [`Self::starts`] is worth asking.
    const HAS_WINDOWS: bool = false;
}

/// How many bytes a window has.
pub const WINDOW: usize = window::SIZE;

/// A pattern that does not match everywhere.
trait MatchScan {
    /// The end of the match that starts at `at`.
    fn match_at(&self, text: &[u8], at: usize) -> Option<usize>;
}

/// The end of the stretch without a match that starts at `start` and that `has` may bound.
#[inline]
fn gap_end(
    scan: &impl MatchScan,
    text: &[u8],
    start: usize,
    has: impl Fn(usize, Char) -> bool,
) -> usize {
    let mut at = start + char_at(text, start).width;
    loop {
        let c = char_at(text, at);
        if !has(at, c) || scan.match_at(text, at).is_some() {
            return at;
        }
        at += c.width;
    }
}

macro_rules! cut_at_matches {
    ($($scan:ty),*) => {$(
        impl PieceScan for $scan {
            #[inline]
            fn piece_end(&self, text: &[u8], start: usize) -> usize {
                self.match_at(text, start)
                    .unwrap_or_else(|| gap_end(self, text, start, |_, c| !c.is_end()))
            }
        }
    )*};
}

cut_at_matches!(Numbers<1>, Numbers<3>, ThreeDigits, KanaHan, Clip);

/// The patterns that have a scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scanner {
    /// GPT-2 and `ByteLevel` with its own pattern.
    Gpt2,
    /// cl100k and Llama 3.
    Cl100k,
    Qwen2,
    Qwen35,
    /// The three before it as llama.cpp spells them: contractions in any case of ASCII.
    Cl100kAscii,
    Qwen2Ascii,
    Qwen35Ascii,
    /// o200k, gpt-oss, Llama 4.
    O200k,
    /// Mistral's tekken.
    Tekken,
    /// The last of DeepSeek's three steps.
    DeepSeek,
    /// DeepSeek's three steps in one. No single pattern says this.
    DeepSeek3,
    Clip,
    OneNumber,
    ThreeNumbers,
    ThreeDigits,
    KanaHan,
}

/// Code that runs once per kind of scanner, compiled for it.
pub trait ScanVisitor {
    type Output;

    fn visit<S: PieceScan>(self, scan: &S) -> Self::Output;
}

/// Runs `$body` with `$scan` bound to the scanner's own type.
macro_rules! dispatch {
    ($scanner:expr, $scan:ident => $body:expr) => {
        match $scanner {
            Scanner::Gpt2 => dispatch!(@ $scan, Gpt2, $body),
            Scanner::Cl100k => dispatch!(@ $scan, Cl100k::<3, false, true>, $body),
            Scanner::Qwen2 => dispatch!(@ $scan, Cl100k::<1, false, true>, $body),
            Scanner::Qwen35 => dispatch!(@ $scan, Cl100k::<1, true, true>, $body),
            Scanner::Cl100kAscii => dispatch!(@ $scan, Cl100k::<3, false, false>, $body),
            Scanner::Qwen2Ascii => dispatch!(@ $scan, Cl100k::<1, false, false>, $body),
            Scanner::Qwen35Ascii => dispatch!(@ $scan, Cl100k::<1, true, false>, $body),
            Scanner::O200k => dispatch!(@ $scan, O200k::<3, true>, $body),
            Scanner::Tekken => dispatch!(@ $scan, O200k::<1, false>, $body),
            Scanner::DeepSeek => dispatch!(@ $scan, DeepSeek::<false>, $body),
            Scanner::DeepSeek3 => dispatch!(@ $scan, DeepSeek::<true>, $body),
            Scanner::Clip => dispatch!(@ $scan, Clip, $body),
            Scanner::OneNumber => dispatch!(@ $scan, Numbers::<1>, $body),
            Scanner::ThreeNumbers => dispatch!(@ $scan, Numbers::<3>, $body),
            Scanner::ThreeDigits => dispatch!(@ $scan, ThreeDigits, $body),
            Scanner::KanaHan => dispatch!(@ $scan, KanaHan, $body),
        }
    };
    (@ $scan:ident, $value:expr, $body:expr) => {{
        let $scan = &$value;
        $body
    }};
}

const PATTERNS: &[(Scanner, &str)] = &[
    (
        Scanner::Gpt2,
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::Cl100k,
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::Qwen2,
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::Qwen35,
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::Cl100kAscii,
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::Qwen2Ascii,
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::Qwen35Ascii,
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::O200k,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        Scanner::Tekken,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        // The file has CR and LF themselves, not escapes.
        Scanner::DeepSeek,
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    ),
    (
        Scanner::Clip,
        r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    ),
    (Scanner::OneNumber, r"\p{N}"),
    (Scanner::ThreeNumbers, r"\p{N}{1,3}"),
    (Scanner::ThreeDigits, "[0-9][0-9][0-9]"),
    (Scanner::KanaHan, "[一-龥\u{3040}-ゟ゠-ヿ]+"),
];

impl Scanner {
    pub const COUNT: usize = Self::KanaHan as usize + 1;

    /// The scanner for a pattern, recognised by its exact text as the files have it.
    pub fn recognise(pattern: &str) -> Option<Self> {
        PATTERNS.iter().find(|(_, known)| *known == pattern).map(|(scanner, _)| *scanner)
    }

    /// The pattern that this is the scanner of.
    pub fn pattern(self) -> Option<&'static str> {
        PATTERNS.iter().find(|(scanner, _)| *scanner == self).map(|(_, pattern)| *pattern)
    }

    pub fn visit<V: ScanVisitor>(self, visitor: V) -> V::Output {
        dispatch!(self, scan => visitor.visit(scan))
    }

    /// The first match that starts at `at` or behind it. [`Scanner::DeepSeek3`] has no matches of
    /// its own: its pieces are answered.
    pub fn find_at(self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let mut start = at;
        loop {
            let c = char_at(text, start);
            if c.is_end() {
                return None;
            }
            if let Some(end) = self.match_at(text, start) {
                return Some((start, end));
            }
            start += c.width;
        }
    }

    fn match_at(self, text: &[u8], at: usize) -> Option<usize> {
        match self {
            Self::DeepSeek => DeepSeek::<false>.match_at(text, at),
            Self::Clip => Clip.match_at(text, at),
            Self::OneNumber => Numbers::<1>.match_at(text, at),
            Self::ThreeNumbers => Numbers::<3>.match_at(text, at),
            Self::ThreeDigits => ThreeDigits.match_at(text, at),
            Self::KanaHan => KanaHan.match_at(text, at),
            // These match every character.
            Self::Gpt2
            | Self::Cl100k
            | Self::Qwen2
            | Self::Qwen35
            | Self::Cl100kAscii
            | Self::Qwen2Ascii
            | Self::Qwen35Ascii
            | Self::O200k
            | Self::Tekken
            | Self::DeepSeek3 => Some(self.piece_end(text, at)),
        }
    }
}

impl PieceScan for Scanner {
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        dispatch!(*self, scan => scan.piece_end(text, start))
    }
}

impl FindMatches for Scanner {
    fn find_all(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let mut matches = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = self.find_at(text.as_bytes(), at) {
            matches.push(start..end);
            at = end;
        }
        Ok(matches)
    }

    fn meeting(&self, left: char, right: char) -> Option<Meeting> {
        self.meets(left, right)
    }
}
