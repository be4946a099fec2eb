//! Patterns that cut out runs of one class.

use super::chars::{
    char_at, contraction, run_of_letters, run_of_numbers, run_of_others, LETTER, NUMBER, SPACE,
};
use super::deepseek::is_kana_or_han;
use super::MatchScan;

/// `\p{N}{1,LIMIT}`
#[derive(Debug, Clone, Copy)]
pub struct Numbers<const LIMIT: usize>;

impl<const LIMIT: usize> MatchScan for Numbers<LIMIT> {
    #[inline]
    fn match_at(&self, text: &[u8], at: usize) -> Option<usize> {
        let end = run_of_numbers(text, at, LIMIT);
        (end > at).then_some(end)
    }
}

/// `[0-9][0-9][0-9]`
#[derive(Debug, Clone, Copy)]
pub struct ThreeDigits;

impl MatchScan for ThreeDigits {
    #[inline]
    fn match_at(&self, text: &[u8], at: usize) -> Option<usize> {
        let digits: &[u8; 3] = text.get(at..)?.first_chunk()?;
        digits.iter().all(u8::is_ascii_digit).then_some(at + 3)
    }
}

/// `[一-龥぀-ゟ゠-ヿ]+`
#[derive(Debug, Clone, Copy)]
pub struct KanaHan;

impl MatchScan for KanaHan {
    #[inline]
    fn match_at(&self, text: &[u8], at: usize) -> Option<usize> {
        let mut end = at;
        while is_kana_or_han(text, end) {
            end += 3;
        }
        (end > at).then_some(end)
    }
}

/// `<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`
#[derive(Debug, Clone, Copy)]
pub struct Clip;

impl MatchScan for Clip {
    #[inline]
    fn match_at(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        for marker in ["<|startoftext|>", "<|endoftext|>"] {
            if rest.starts_with(marker.as_bytes()) {
                return Some(at + marker.len());
            }
        }
        let contraction = contraction(text, at);
        if contraction > 0 {
            return Some(at + contraction);
        }
        let c = char_at(text, at);
        let behind = at + c.width;
        if c.is_end() || c.is(SPACE) {
            None
        } else if c.is(LETTER) {
            Some(run_of_letters(text, behind, LETTER))
        } else if c.is(NUMBER) {
            Some(behind)
        } else {
            Some(run_of_others(text, behind, SPACE | LETTER | NUMBER))
        }
    }
}
