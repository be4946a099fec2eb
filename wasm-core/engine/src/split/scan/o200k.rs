//! With U = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and W = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`:
//! `[^\r\n\p{L}\p{N}]?U*W+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
//! `|[^\r\n\p{L}\p{N}]?U+W*(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
//! `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

use super::chars::{
    at_end_of_text, char_at, contraction_of_any_case, run_of_lowercase, run_of_newlines,
    run_of_numbers, run_of_others, run_of_spaces, Char, LETTER, LOWER, MARK, NEWLINE, NUMBER,
    SPACE, UPPER,
};
use super::{window, PieceScan, WINDOW};

/// `DIGITS`: how many numbers stand together. `CONTRACTIONS`: whether they end a word.
#[derive(Debug, Clone, Copy)]
pub struct O200k<const DIGITS: usize, const CONTRACTIONS: bool>;

/// What `U*` and then `W+` make of a place.
enum Word {
    /// The end of `U*W+`.
    Lower(usize),
    /// There is no `W` to be had; the end of `U*`.
    Upper(usize),
}

/// `U*` takes all it can. If no `W` follows it gives back as much as it must to leave one to
/// `W+`: everything from the last character on that is both.
#[inline(always)]
fn word(text: &[u8], mut at: usize) -> Word {
    let mut behind_both = None;
    loop {
        let c = char_at(text, at);
        if !c.is(UPPER) {
            return match behind_both {
                _ if c.is(LOWER) => Word::Lower(run_of_lowercase(text, at + c.width, LOWER)),
                Some(end) => Word::Lower(end),
                None => Word::Upper(at),
            };
        }
        at += c.width;
        if c.is(LOWER) {
            behind_both = Some(at);
        }
    }
}

impl<const DIGITS: usize, const CONTRACTIONS: bool> O200k<DIGITS, CONTRACTIONS> {
    /// The end of the word whose `U*` starts at `letters` and may be preceded by `prefix`.
    #[inline(always)]
    fn word_end(text: &[u8], prefix: Char, letters: usize) -> Option<usize> {
        let end = match word(text, letters) {
            Word::Lower(end) => end,
            // No `W` behind the prefix: if that is a mark it is taken for `W` itself.
            Word::Upper(_) if prefix.is(MARK) => letters,
            Word::Upper(end) if end > letters => end,
            Word::Upper(_) => return None,
        };
        let contraction = if CONTRACTIONS { contraction_of_any_case(text, end) } else { 0 };
        Some(end + contraction)
    }

    #[inline(always)]
    fn others(text: &[u8], at: usize) -> usize {
        run_of_newlines(text, run_of_others(text, at, SPACE | LETTER | NUMBER), true)
    }
}

impl<const DIGITS: usize, const CONTRACTIONS: bool> window::Kind for O200k<DIGITS, CONTRACTIONS> {
    const DIGITS: usize = DIGITS;
    const CASED: bool = true;
    const MARKS: bool = false;
    const CONTRACTIONS: bool = CONTRACTIONS;
}

impl<const DIGITS: usize, const CONTRACTIONS: bool> PieceScan for O200k<DIGITS, CONTRACTIONS> {
    const HAS_WINDOWS: bool = true;

    #[inline(always)]
    fn starts(&self, window: &[u8; WINDOW]) -> u64 {
        window::starts::<Self>(window)
    }

    #[inline]
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        let first = char_at(text, start);
        let behind = start + first.width;
        if first.is(NUMBER) {
            return run_of_numbers(text, behind, DIGITS - 1);
        }
        if first.is(NEWLINE) {
            return run_of_spaces(text, start, true, at_end_of_text);
        }
        let letters = if first.is(LETTER) { start } else { behind };
        if let Some(end) = Self::word_end(text, first, letters) {
            return end;
        }
        if !first.is(SPACE) {
            return Self::others(text, behind);
        }
        let next = char_at(text, behind);
        if text.get(start) == Some(&b' ') && next.is_other_than(SPACE | LETTER | NUMBER) {
            return Self::others(text, behind + next.width);
        }
        run_of_spaces(text, start, true, at_end_of_text)
    }
}
