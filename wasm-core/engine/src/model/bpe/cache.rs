//! Pieces that were merged before, with their ids inline.
//!
//! Two direct-mapped tables: up to 15 bytes and 3 ids in an entry of 32 bytes (one load, two
//! compares, one copy), and up to 48 bytes and 16 ids in one of 128. A conflict overwrites; there is
//! nothing to evict and nothing grows. The size is most of the private memory of an instance.

const SHORT_SLOTS: usize = 1 << 17;
const SHORT_IDS: usize = 3;
const LONG_SLOTS: usize = 1 << 12;
const LONG_WORDS: usize = 6;
const LONG_IDS: usize = 16;

/// Pieces longer than this are merged each time.
pub const MAX_PIECE: usize = 8 * LONG_WORDS;
/// Pieces up to this length have a [`Key`].
pub const MAX_KEY: usize = 15;

/// A piece of at most 15 bytes, padded with zeros, its length in the last byte: equal keys are
/// equal pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Key {
    low: u64,
    high: u64,
}

/// Which bits of the two words belong to a piece of each length. A table, because a shift of 128
/// bits is a call on hosts with 64.
const MASKS: [(u64, u64); MAX_KEY + 1] = {
    let mut masks = [(0, 0); MAX_KEY + 1];
    let mut len = 1;
    while len <= MAX_KEY {
        let bits = 8 * len as u32;
        masks[len] = if len <= 8 {
            (u64::MAX >> (64 - bits), 0)
        } else {
            (u64::MAX, u64::MAX >> (128 - bits))
        };
        len += 1;
    }
    masks
};

impl Key {
    /// `text[start..start + len]` with `len <= 15`.
    #[inline(always)]
    pub fn new(text: &[u8], start: usize, len: usize) -> Self {
        let window = text.get(start..).and_then(<[u8]>::first_chunk::<16>);
        match window {
            Some(window) => Self::of_window(window, len),
            None => Self::near_the_end(text.get(start..start + len).unwrap_or_default()),
        }
    }

    #[inline(always)]
    fn of_window(window: &[u8; 16], len: usize) -> Self {
        let [low, high] = words(window);
        let len = len & MAX_KEY;
        let (low_mask, high_mask) = MASKS[len];
        Self { low: low & low_mask, high: high & high_mask | (len as u64) << 56 }
    }

    #[cold]
    fn near_the_end(piece: &[u8]) -> Self {
        let mut window = [0u8; 16];
        for (place, byte) in window.iter_mut().zip(piece) {
            *place = *byte;
        }
        Self::of_window(&window, piece.len())
    }

    #[inline(always)]
    fn slot(self) -> usize {
        let mixed = (self.low ^ self.high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (64 - SHORT_SLOTS.trailing_zeros())) as usize
    }
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
struct ShortEntry {
    key: Key,
    ids: [u32; SHORT_IDS],
    count: u32,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(128))]
struct LongEntry {
    words: [u64; LONG_WORDS],
    ids: [u32; LONG_IDS],
    len: u8,
    count: u8,
}

#[derive(Debug, Clone)]
pub struct PieceCache {
    short: Vec<ShortEntry>,
    long: Vec<LongEntry>,
}

impl Default for PieceCache {
    fn default() -> Self {
        Self {
            short: vec![ShortEntry::default(); SHORT_SLOTS],
            long: vec![LongEntry::default(); LONG_SLOTS],
        }
    }
}

impl PieceCache {
    /// A cache that remembers nothing and takes no memory.
    pub fn none() -> Self {
        Self { short: Vec::new(), long: Vec::new() }
    }

    /// The ids of a short piece: all three places, and how many of them count (0: not here).
    #[inline(always)]
    pub fn short(&self, key: Key) -> ([u32; SHORT_IDS], usize) {
        match self.short.get(key.slot()) {
            Some(entry) if entry.key == key => (entry.ids, entry.count as usize),
            _ => ([0; SHORT_IDS], 0),
        }
    }

    /// The ids of a piece that [`Self::short`] does not have; empty: not here either. `key` is that
    /// of the piece, if it is short enough for one.
    #[inline]
    pub fn rest(&self, key: Option<Key>, piece: &[u8]) -> &[u32] {
        // Only a short piece of many ids is in the other table, and its place here says so.
        let elsewhere = match key {
            Some(key) => self.short.get(key.slot()).is_some_and(|entry| entry.key == key),
            None => piece.len() <= MAX_PIECE,
        };
        if elsewhere {
            self.long(piece)
        } else {
            &[]
        }
    }

    /// Remembers a piece.
    pub fn insert(&mut self, key: Option<Key>, piece: &[u8], ids: &[u32]) {
        match key {
            Some(key) if self.insert_short(key, ids) => {}
            Some(key) => {
                if let Some(slot) = self.short.get_mut(key.slot()) {
                    *slot = ShortEntry { key, ids: [0; SHORT_IDS], count: 0 };
                }
                self.insert_long(piece, ids);
            }
            None => self.insert_long(piece, ids),
        }
    }

    /// Remembers a short piece; answers whether it had room for it.
    pub fn insert_short(&mut self, key: Key, ids: &[u32]) -> bool {
        if ids.is_empty() || ids.len() > SHORT_IDS {
            return false;
        }
        let mut entry = ShortEntry { key, ids: [0; SHORT_IDS], count: ids.len() as u32 };
        for (place, id) in entry.ids.iter_mut().zip(ids) {
            *place = *id;
        }
        if let Some(slot) = self.short.get_mut(key.slot()) {
            *slot = entry;
        }
        true
    }

    /// The ids of a piece of up to [`MAX_PIECE`] bytes; empty: not here.
    #[inline]
    pub fn long(&self, piece: &[u8]) -> &[u32] {
        let words = pack(piece);
        match self.long.get(long_slot(&words, piece.len())) {
            Some(entry) if usize::from(entry.len) == piece.len() && entry.words == words => {
                entry.ids.get(..usize::from(entry.count)).unwrap_or_default()
            }
            _ => &[],
        }
    }

    pub fn insert_long(&mut self, piece: &[u8], ids: &[u32]) {
        if piece.len() > MAX_PIECE || ids.is_empty() || ids.len() > LONG_IDS {
            return;
        }
        let words = pack(piece);
        let mut entry =
            LongEntry { words, ids: [0; LONG_IDS], len: piece.len() as u8, count: ids.len() as u8 };
        for (place, id) in entry.ids.iter_mut().zip(ids) {
            *place = *id;
        }
        if let Some(slot) = self.long.get_mut(long_slot(&words, piece.len())) {
            *slot = entry;
        }
    }
}

#[inline(always)]
fn words(window: &[u8; 16]) -> [u64; 2] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = *window;
    [u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(rest)]
}

#[inline]
fn pack(piece: &[u8]) -> [u64; LONG_WORDS] {
    let mut words = [0u64; LONG_WORDS];
    for (word, chunk) in words.iter_mut().zip(piece.chunks(8)) {
        *word = match <[u8; 8]>::try_from(chunk) {
            Ok(whole) => u64::from_le_bytes(whole),
            Err(_) => chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
    }
    words
}

#[inline]
fn long_slot(words: &[u64; LONG_WORDS], len: usize) -> usize {
    let mut state = len as u64;
    for word in words {
        state = (state ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state ^= state >> 31;
    }
    (state >> (64 - LONG_SLOTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

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
        let keys: Vec<Key> = (0..=MAX_KEY).map(|len| Key::new(&[0; 32], 0, len)).collect();
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key));
        }
    }

    #[test]
    fn answers_are_those_inserted_or_none() {
        let mut cache = PieceCache::default();
        let mut random = Random::new(3);
        let pieces: Vec<Vec<u8>> = (0..20_000)
            .map(|_| {
                let len = 1 + random.below(MAX_PIECE);
                (0..len).map(|_| b'a' + random.below(3) as u8).collect()
            })
            .collect();
        let ids = |piece: &[u8]| -> Vec<u32> { (0..1 + piece.len() as u32 % 5).collect() };
        for piece in &pieces {
            if piece.len() <= MAX_KEY {
                cache.insert_short(Key::new(piece, 0, piece.len()), &ids(piece));
            }
            cache.insert_long(piece, &ids(piece));
        }
        let mut hits = 0;
        for piece in &pieces {
            let found = cache.long(piece);
            assert!(found.is_empty() || found == ids(piece));
            hits += usize::from(!found.is_empty());
            if piece.len() <= MAX_KEY {
                let (found, count) = cache.short(Key::new(piece, 0, piece.len()));
                assert!(count == 0 || found[..count] == ids(piece));
            }
        }
        assert!(hits > 1000);
        assert!(cache.long(b"never seen").is_empty());
    }
}
