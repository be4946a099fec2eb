//! What a short piece is remembered by.

use crate::simd::lane16::Wide;

/// Pieces up to this length have a [`Key`].
pub const MAX_KEY: usize = 15;

/// A piece of at most 15 bytes, padded with zeros, its length in the last byte: equal keys are
/// equal pieces. All longer pieces share one key, which no short piece has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Key(Wide);

/// How many bytes behind the start of a piece are looked at.
pub const REACH: usize = 16;

/// No piece has this in place of its length.
const TOKEN_LENGTH: u64 = MAX_KEY as u64 + 2;

impl Key {
    /// Of `text[start..start + len]`.
    #[inline(always)]
    pub fn new(text: &[u8], start: usize, len: usize) -> Self {
        match text.get(start..).and_then(<[u8]>::first_chunk) {
            Some(window) => Self::of_window(window, len),
            None => Self::near_the_end(text.get(start..start + len).unwrap_or_default()),
        }
    }

    /// Of the first `len` bytes of `window`, or of some longer piece.
    #[inline(always)]
    pub fn of_window(window: &[u8; REACH], len: usize) -> Self {
        let (kept, last) = if len > MAX_KEY { (0, MAX_KEY + 1) } else { (len, len) };
        Self(Wide::load(window).first_bytes(kept as u8).with_last_byte(last as u8))
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

    /// How many bytes the piece has; one more than [`MAX_KEY`] where it has no key of its own.
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
        (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
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
        let keys: Vec<Key> = (0..=MAX_KEY + 1).map(|len| Key::new(&[0; 32], 0, len)).collect();
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key));
        }
        assert_eq!(Key::new(&[7; 32], 0, 16), Key::new(&[9; 40], 0, 33));
    }
}
