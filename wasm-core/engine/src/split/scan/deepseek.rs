//! ``[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+``
//! `| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
//!
//! Nothing of it matches a number or a control character that no letter follows: these stay
//! between the matches.

use super::chars::{
    char_at, decode, run_of_newlines, run_of_numbers, run_of_spaces, Char, LETTER, MARK, NEWLINE,
    NUMBER, SPACE, SYMBOL,
};
use super::wide::{self, Family};
use super::window::{below_lowest, grouped, known_spaces, run_of};
use super::{gap_end, runs, MatchScan, PieceScan, WINDOW};
use crate::simd::block::Block;

/// `IN_PARTS`: the text is first cut at the borders of `\p{N}{1,3}` and of `[一-龥぀-ゟ゠-ヿ]+`,
/// as the files have it, and the pattern above then sees one part at a time.
#[derive(Debug, Clone, Copy)]
pub struct DeepSeek<const IN_PARTS: bool>;

/// `[一-龥぀-ゟ゠-ヿ]`
pub fn is_kana_or_han(text: &[u8], at: usize) -> bool {
    match text.get(at) {
        Some(0xE3..=0xE9) => {
            matches!(decode(text, at), (0x3040..=0x30FF | 0x4E00..=0x9FA5, _))
        }
        _ => false,
    }
}

/// The part of the text that some character belongs to.
#[derive(Clone, Copy)]
struct Part<'a, const IN_PARTS: bool> {
    text: &'a [u8],
    /// It is one of kana and Han. Otherwise it has neither these nor numbers.
    is_kana_or_han: bool,
}

impl<'a, const IN_PARTS: bool> Part<'a, IN_PARTS> {
    #[inline(always)]
    fn at(text: &'a [u8], at: usize) -> Self {
        Self { text, is_kana_or_han: IN_PARTS && is_kana_or_han(text, at) }
    }

    #[inline(always)]
    fn has(self, at: usize, c: Char) -> bool {
        !c.is_end()
            && (!IN_PARTS
                || (!c.is(NUMBER) && is_kana_or_han(self.text, at) == self.is_kana_or_han))
    }

    /// The end of the run of characters of `class` in this part that `at` may stand in.
    #[inline(always)]
    fn run(self, mut at: usize, class: u32) -> usize {
        loop {
            let c = char_at(self.text, at);
            if !c.is(class) || !self.has(at, c) {
                return at;
            }
            at += c.width;
        }
    }

    #[inline(always)]
    fn words(self, at: usize) -> usize {
        let at = if self.is_kana_or_han { at } else { runs::ascii_letters(self.text, at) };
        self.run(at, LETTER | MARK)
    }

    #[inline(always)]
    fn symbols(self, at: usize) -> usize {
        let end = self.run(at, SYMBOL);
        if self.is_kana_or_han {
            end
        } else {
            run_of_newlines(self.text, end, false)
        }
    }
}

impl<const IN_PARTS: bool> MatchScan for DeepSeek<IN_PARTS> {
    #[inline]
    fn match_at(&self, text: &[u8], at: usize) -> Option<usize> {
        let first = char_at(text, at);
        let behind = at + first.width;
        if IN_PARTS && first.is(NUMBER) {
            return Some(run_of_numbers(text, behind, 2));
        }
        let part = Part::<IN_PARTS>::at(text, at);
        if first.is(LETTER | MARK) {
            return Some(part.words(behind));
        }
        let is_ascii = first.width == 1;
        if first.is(SYMBOL) {
            let word = text.get(behind).is_some_and(u8::is_ascii_alphabetic);
            return Some(if is_ascii && word {
                runs::ascii_letters(text, behind)
            } else {
                part.symbols(behind)
            });
        }
        let next = char_at(text, behind);
        if part.has(behind, next) {
            if next.is(LETTER | MARK) && !first.is(NEWLINE) {
                return Some(part.words(behind + next.width));
            }
            if next.is(SYMBOL) && text.get(at) == Some(&b' ') {
                return Some(part.symbols(behind + next.width));
            }
        }
        let is_end = |at, c| !part.has(at, c);
        first.is(SPACE).then(|| run_of_spaces(text, at, true, is_end))
    }
}

impl<const IN_PARTS: bool> PieceScan for DeepSeek<IN_PARTS> {
    const HAS_WINDOWS: bool = IN_PARTS;

    /// The algebra of [`super::window`], with the borders of parts: nothing goes on behind one, and
    /// white space in front of one ends there.
    #[inline(always)]
    fn starts(&self, window: &[u8; WINDOW]) -> u64 {
        if !IN_PARTS {
            return 1;
        }
        let block = Block::load(window);
        let wide = wide::masks(window, block, Family::Parts);
        // Of ASCII only control characters are neither matched nor in a part of their own.
        let all_spaces = block.in_range(0, b'\t', b'\r') | block.in_range(0, b' ', b' ');
        let controls = block.in_range(0, 0, 0x1F) & !all_spaces | block.in_range(0, 0x7F, 0x7F);
        let valid = below_lowest(controls | wide.unknown);
        let ascii_letters = block.in_range(0x20, b'a', b'z') & valid;
        let letters = ascii_letters | wide.letters & valid;
        let numbers = block.in_range(0, b'0', b'9') & valid;
        let kana_han = wide.caseless & valid;
        let blanks = block.in_range(0, b' ', b' ') & valid;
        let all_spaces = all_spaces & valid;
        let all_newlines =
            all_spaces & (block.in_range(0, b'\n', b'\n') | block.in_range(0, b'\r', b'\r'));
        let symbols = valid & !(letters | numbers | kana_han | all_spaces);

        let taken = run_of(all_newlines, symbols << 1 & all_newlines);
        let spaces = all_spaces & !taken;
        let newlines = all_newlines & !taken;
        let gaps = spaces & !newlines;
        let last_gaps = gaps & !((spaces | numbers | kana_han) >> 1);
        let behind_newlines = gaps & newlines << 1;
        let ends = gaps.wrapping_add(behind_newlines) & !gaps;
        let misjudged = if ends & newlines == 0 { 0 } else { behind_newlines };

        let runs = symbols & !(symbols << 1) & !(blanks << 1);
        // A sign of ASCII goes with letters of ASCII, which other letters do not continue.
        let prefixed = ascii_letters & (runs & !block.high()) << 1;
        let behind_prefixed = ascii_letters.wrapping_add(prefixed) & !ascii_letters & letters;
        let mixed = if behind_prefixed == 0 { 0 } else { prefixed };
        let words = letters & !(letters << 1) & !(gaps << 1) & !prefixed;
        let starts = words
            | kana_han & !(kana_han << 1)
            | grouped(numbers, 3)
            | runs
            | spaces & !(spaces << 1)
            | behind_newlines
            | last_gaps;
        let settled = valid & below_lowest(misjudged) & below_lowest(mixed);
        starts & known_spaces(spaces, valid) & settled | 1
    }

    #[inline]
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        match self.match_at(text, start) {
            Some(end) => end,
            None => {
                let part = Part::<IN_PARTS>::at(text, start);
                gap_end(self, text, start, |at, c| part.has(at, c))
            }
        }
    }
}
