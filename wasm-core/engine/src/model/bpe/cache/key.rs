//! What a piece is remembered by.

use crate::simd::lane16::Wide;

/// Of pieces up to this length, equal keys are equal pieces.
pub const MAX_KEY: usize = 15;

/// A piece of at most 15 bytes, padded with zeros, its length in the last byte. Of a longer piece: a
/// hash of its length, its first 16 bytes and its last 16. No short piece has the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Key(Wide);

/// How many bytes behind the start of a piece are looked at.
pub const REACH: usize = 16;

/// 2^64 divided by the golden ratio: odd, and its bits follow no pattern.
const MIXER: u64 = 0x9E37_79B9_7F4A_7C15;

/// No piece has this in place of its length.
const TOKEN_LENGTH: u64 = MAX_KEY as u64 + 2;

impl Key {
    /// Of `text[start..start + len]`.
    #[inline(always)]
    pub fn new(text: &[u8], start: usize, len: usize) -> Self {
        let piece = || text.get(start..start + len).unwrap_or_default();
        match text.get(start..).and_then(<[u8]>::first_chunk) {
            _ if len > MAX_KEY => Self::of_long(piece()),
            Some(window) => Self::of_window(window, len),
            None => Self::near_the_end(piece()),
        }
    }

    /// Of the first `len` bytes of `window`, of which `len` is at most [`MAX_KEY`].
    #[inline(always)]
    pub fn of_window(window: &[u8; REACH], len: usize) -> Self {
        Self(Wide::load(window).first_bytes(len as u8).with_last_byte(len as u8))
    }

    /// Of a piece that is longer than [`MAX_KEY`].
    #[inline(never)]
    pub fn of_long(piece: &[u8]) -> Self {
        let first = piece.first_chunk().map(Wide::load).unwrap_or_default();
        let last = piece.last_chunk().map(Wide::load).unwrap_or_default();
        let ((a, b), (c, d)) = (first.words(), last.words());
        let mut state = (a ^ c.rotate_left(23) ^ piece.len() as u64).wrapping_mul(MIXER);
        state ^= state >> 31;
        state = (state ^ b ^ d.rotate_left(37)).wrapping_mul(MIXER);
        Self(Wide::new(state, (MAX_KEY as u64 + 1) << 56))
    }

    /// Of a token that stands in the text as itself: of no piece.
    #[inline(always)]
    pub fn of_token(id: u32) -> Self {
        Self(Wide::new(id.into(), TOKEN_LENGTH << 56))
    }

    /// Whose key it is, if that is a token.
    #[inline(always)]
    pub fn token(self) -> Option<u32> {
        let (low, high) = self.0.words();
        (high >> 56 == TOKEN_LENGTH).then_some(low as u32)
    }

    #[cold]
    fn near_the_end(piece: &[u8]) -> Self {
        let mut window = [0u8; REACH];
        for (place, byte) in window.iter_mut().zip(piece) {
            *place = *byte;
        }
        Self::of_window(&window, piece.len())
    }

    /// How many bytes the piece has; one more than [`MAX_KEY`] where it has more.
    #[inline(always)]
    pub fn length(self) -> usize {
        (self.0.words().1 >> 56) as usize
    }

    pub fn bytes(self) -> [u8; REACH] {
        let (low, high) = self.0.words();
        (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
    }

    /// A number of 64 bits, of which the upper ones are mixed best.
    #[inline(always)]
    pub fn hash(self) -> u64 {
        let (low, high) = self.0.words();
        (low ^ high.rotate_left(29)).wrapping_mul(MIXER)
    }

    #[inline(always)]
    pub fn bits(self) -> Wide {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_depend_on_what_follows() {
        let text = b"abcdefghijklmnopqrstuvwxyz";
        for start in 0..text.len() {
            for len in 0..=MAX_KEY.min(text.len() - start) {
                let piece = &text[start..start + len];
                assert_eq!(Key::new(text, start, len), Key::new(piece, 0, len));
                let mut padded = piece.to_vec();
                padded.resize(40, 0xFF);
                assert_eq!(Key::new(&padded, 0, len), Key::new(piece, 0, len));
            }
        }
    }

    #[test]
    fn zero_bytes_and_lengths_are_told_apart() {
        let keys: Vec<Key> = (0..=60).map(|len| Key::new(&[0; 60], 0, len)).collect();
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(key.length(), n.min(MAX_KEY + 1));
            assert!(!keys[..n].contains(key));
        }
    }
}
