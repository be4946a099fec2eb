//! Cutting a text where nothing joins: into parts, or as the cuts of a window.

use super::joins::{Joins, BLANK_CODE, NEAR_BLANK, SPACE};
use crate::model::bpe::cache::batch::VIEW;
use crate::model::bpe::multibyte::code_points::{decode, decode_four};
use crate::simd::block::{Block, WIDTH};
use std::ops::Range;

impl Joins {
    /// Calls `each(start, end)` for the parts of `piece` that no token connects.
    #[inline(always)]
    pub fn parts(&self, piece: &str, mut each: impl FnMut(usize, usize)) {
        let text = piece.as_bytes();
        let (mut start, mut at, mut left) = (0, 0, None);
        while at < text.len() {
            let (right, width) = decode(text, at);
            if left.is_some_and(|left| !self.are_joined(left, right)) {
                each(start, at);
                start = at;
            }
            left = Some(right);
            at += width;
        }
        if start < text.len() {
            each(start, text.len());
        }
    }

    /// The same where a space is read as the blank that a normalizer would write for it, up to a
    /// part that begins with ASCII; answers where that is.
    #[inline(always)]
    pub fn spaced_parts(
        &self,
        text: &[u8],
        range: Range<usize>,
        mut each: impl FnMut(usize, usize),
    ) -> usize {
        let (mut start, mut at, mut left) = (range.start, range.start, None);
        while let Some(&byte) = text.get(at).filter(|_| at < range.end) {
            let (right, width) = spaced(text, at, byte);
            if left.is_some_and(|left| !self.are_joined(left, right)) {
                each(start, at);
                start = at;
                if byte < 0x80 {
                    return start;
                }
            }
            left = Some(right);
            at += width;
        }
        each(start, range.end);
        range.end
    }

    /// The end of the first part of `piece`, in which spaces stand for blanks (`▁`).
    pub fn first_spaced_part(&self, piece: &str) -> usize {
        let (text, mut at, mut left) = (piece.as_bytes(), 0, None);
        while let Some(&byte) = text.get(at) {
            let (right, width) = spaced(text, at, byte);
            if left.is_some_and(|left| !self.are_joined(left, right)) {
                return at;
            }
            left = Some(right);
            at += width;
        }
        text.len()
    }

    /// Places where the first `length` bytes of `view` may be cut, one bit each. Both ends of these
    /// bytes are cuts already. Cuts between two ASCII letters are left out, so most places need no
    /// lookup.
    #[inline(always)]
    pub fn cuts(&self, view: &[u8; VIEW], length: usize) -> u64 {
        let Some(window) = view.first_chunk::<WIDTH>() else { return 0 };
        let block = Block::load(window);
        let inside = match length < WIDTH {
            true => !(u64::MAX << length),
            false => u64::MAX,
        };
        let high = block.high() & inside;
        let letters = block.in_range(0x20, b'a', b'z');
        let blanks = block.in_range(0, b' ', b' ');
        // Nearly all blanks begin a part, and none does behind another blank.
        let (first, others) = (blanks & !(blanks << 1), blanks & blanks << 1);
        let sure = match self.before_blanks {
            Some([b' ', b' ']) => first & !(high << 1),
            Some([one, other]) => first & !((block.either(one, other) | high) << 1),
            None => 0,
        };
        let sure = sure & inside & !1;
        let never = letters & (letters | blanks) << 1 | if self.blanks_run { others } else { 0 };
        let asked = inside & !1 & !sure & !never;
        let apart = match high == 0 {
            true => self.apart_in_ascii(window, asked),
            false => self.apart_anywhere(view, asked, !block.continuing()),
        };
        // No bit where the whole window is inside.
        sure | apart | inside.wrapping_add(1)
    }

    /// The places among `asked` where characters meet that are not joined, in a window of ASCII.
    #[inline(always)]
    fn apart_in_ascii(&self, window: &[u8; WIDTH], mut asked: u64) -> u64 {
        let code = |at: usize| match window[at & (WIDTH - 1)] {
            b' ' => NEAR_BLANK,
            // Not a bit of what is behind the part of the window that is asked for.
            byte => byte & 0x7F,
        };
        let mut cuts = 0;
        while asked != 0 {
            let at = asked.trailing_zeros() as usize;
            asked &= asked - 1;
            let apart = !self.near_joined(code(at.wrapping_sub(1)), code(at));
            cuts |= u64::from(apart) << (at & (WIDTH - 1));
        }
        cuts
    }

    /// The same in any window, of which `starts` are the bytes that begin a character.
    #[inline(never)]
    fn apart_anywhere(&self, view: &[u8; VIEW], asked: u64, starts: u64) -> u64 {
        let code = |at: usize| {
            let bytes = view.get(at & (WIDTH - 1)..).and_then(<[u8]>::first_chunk);
            match decode_four(bytes.copied().unwrap_or_default()).0 {
                SPACE => BLANK_CODE,
                code => code,
            }
        };
        let (mut asked, mut cuts) = (asked & starts, 0);
        let (mut last, mut left) = (WIDTH, 0);
        while asked != 0 {
            let at = asked.trailing_zeros() as usize;
            asked &= asked - 1;
            let before = WIDTH - 1 - (starts & !(u64::MAX << at)).leading_zeros() as usize % WIDTH;
            if before != last {
                left = code(before);
            }
            let right = code(at);
            cuts |= u64::from(!self.are_joined(left, right)) << at;
            (last, left) = (at, right);
        }
        cuts
    }
}

/// The character that is read at `at`, and its length.
#[inline(always)]
fn spaced(text: &[u8], at: usize, byte: u8) -> (u32, usize) {
    match byte {
        b' ' => (BLANK_CODE, 1),
        _ => decode(text, at),
    }
}
