//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*`
//! `|\s*[\r\n]+|\s+(?!\S)|\s+`

use super::chars::{
    at_end_of_text, char_at, contraction_of_any_case, contraction_of_ascii_case, run_of_letters,
    run_of_newlines, run_of_numbers, run_of_others, run_of_spaces, LETTER, MARK, NEWLINE, NUMBER,
    SPACE,
};
use super::{window, PieceScan, WINDOW};

/// `LONG_S`: whether contractions match in any case of Unicode, where ſ is an s; otherwise their
/// letters are spelled `[sS]`. `DIGITS`: how many numbers stand together. `MARKS`: whether `[\p{L}\p{M}]` stands wherever the
/// pattern above says `\p{L}`.
#[derive(Debug, Clone, Copy)]
pub struct Cl100k<const DIGITS: usize, const MARKS: bool, const LONG_S: bool>;

impl<const DIGITS: usize, const MARKS: bool, const LONG_S: bool> Cl100k<DIGITS, MARKS, LONG_S> {
    const WORD: u32 = if MARKS { LETTER | MARK } else { LETTER };

    #[inline(always)]
    fn others(text: &[u8], at: usize) -> usize {
        run_of_newlines(text, run_of_others(text, at, SPACE | NUMBER | Self::WORD), false)
    }
}

impl<const DIGITS: usize, const MARKS: bool, const LONG_S: bool> window::Kind
    for Cl100k<DIGITS, MARKS, LONG_S>
{
    const DIGITS: usize = DIGITS;
    const CASED: bool = false;
    const MARKS: bool = MARKS;
    const CONTRACTIONS: bool = true;
}

impl<const DIGITS: usize, const MARKS: bool, const LONG_S: bool> PieceScan
    for Cl100k<DIGITS, MARKS, LONG_S>
{
    const HAS_WINDOWS: bool = true;

    #[inline(always)]
    fn starts(&self, window: &[u8; WINDOW]) -> u64 {
        window::starts::<Self>(window)
    }

    #[inline]
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        let first = char_at(text, start);
        let behind = start + first.width;
        if first.is(Self::WORD) {
            return run_of_letters(text, behind, Self::WORD);
        }
        if first.is(NUMBER) {
            return run_of_numbers(text, behind, DIGITS - 1);
        }
        let byte = text.get(start);
        if byte == Some(&b'\'') {
            let length = match LONG_S {
                true => contraction_of_any_case(text, start),
                false => contraction_of_ascii_case(text, start),
            };
            if length > 0 {
                return start + length;
            }
        }
        if first.is(NEWLINE) {
            return run_of_spaces(text, start, true, at_end_of_text);
        }
        let next = char_at(text, behind);
        if next.is(Self::WORD) {
            return run_of_letters(text, behind + next.width, Self::WORD);
        }
        if !first.is(SPACE) {
            return Self::others(text, behind);
        }
        if byte == Some(&b' ') && next.is_other_than(SPACE | NUMBER) {
            return Self::others(text, behind + next.width);
        }
        run_of_spaces(text, start, true, at_end_of_text)
    }
}
