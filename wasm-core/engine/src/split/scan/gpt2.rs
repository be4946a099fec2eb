//! `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

use super::chars::{
    at_end_of_text, char_at, contraction, run, run_of_letters, run_of_others, run_of_spaces,
    LETTER, NUMBER, SPACE,
};
use super::PieceScan;

#[derive(Debug, Clone, Copy)]
pub struct Gpt2;

impl PieceScan for Gpt2 {
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
