//! `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

use super::chars::{
    at_end_of_text, char_at, contraction, run, run_of_letters, run_of_others, run_of_spaces,
    LETTER, NUMBER, SPACE,
};
use super::wide::{self, Family};
use super::window::{below_lowest, known_spaces};
use super::{PieceScan, WINDOW};
use crate::simd::block::Block;

#[derive(Debug, Clone, Copy)]
pub struct Gpt2;

impl PieceScan for Gpt2 {
    const HAS_WINDOWS: bool = true;

    /// The algebra of [`super::window`], of which this pattern needs the least.
    #[inline(always)]
    fn starts(&self, window: &[u8; WINDOW]) -> u64 {
        let block = Block::load(window);
        let wide = wide::masks(window, block, Family::Plain);
        let valid = below_lowest(block.in_range(0, b'\'', b'\'') | wide.unknown);
        let letters = (block.in_range(0x20, b'a', b'z') | wide.letters) & valid;
        let numbers = block.in_range(0, b'0', b'9') & valid;
        let blanks = block.in_range(0, b' ', b' ') & valid;
        let spaces = block.in_range(0, b'\t', b'\r') & valid | blanks;
        let others = valid & !(letters | numbers | spaces);
        let runs = [letters, numbers, others].map(|class| class & !(class << 1));
        let [letters, numbers, others] = runs.map(|starts| starts & !(blanks << 1));
        let starts = letters | numbers | others | spaces & !(spaces << 1) | spaces & !(spaces >> 1);
        starts & known_spaces(spaces, valid) & valid | 1
    }

    #[inline]
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        let mut at = start;
        let mut c = char_at(text, at);
        match text.get(at) {
            Some(b' ') => {
                let next = char_at(text, at + 1);
                if next.is_end() || next.is(SPACE) {
                    return run_of_spaces(text, at, false, at_end_of_text);
                }
                at += 1;
                c = next;
            }
            Some(b'\'') => {
                let length = contraction(text, at);
                if length > 0 {
                    return at + length;
                }
            }
            _ => {}
        }
        let behind = at + c.width;
        if c.is(LETTER) {
            run_of_letters(text, behind, LETTER)
        } else if c.is(NUMBER) {
            run(text, behind, NUMBER)
        } else if c.is(SPACE) {
            run_of_spaces(text, at, false, at_end_of_text)
        } else {
            run_of_others(text, behind, SPACE | LETTER | NUMBER)
        }
    }
}
