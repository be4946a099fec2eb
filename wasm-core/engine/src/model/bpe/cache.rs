//! Pieces that were merged before, with their ids inline.
//!
//! Two direct-mapped tables: up to 15 bytes and 3 ids in an entry of 32 bytes (one load, two
//! compares, one copy), and up to 48 bytes and 16 ids in one of 128. A conflict overwrites; there is
//! nothing to evict and nothing grows. The size is most of the private memory of an instance.

use super::key::Key;
use super::wide::Wide;

const SHORT_SLOTS: usize = 1 << 17;
const SHORT_IDS: usize = 3;
const LONG_SLOTS: usize = 1 << 12;
const LONG_WORDS: usize = 6;
const LONG_IDS: usize = 16;

/// Pieces longer than this are merged each time.
pub const MAX_PIECE: usize = 8 * LONG_WORDS;

#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
struct ShortEntry {
    key: Key,
    /// The ids, and behind them how many they are.
    answer: Wide,
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

/// The table of short pieces, with its size in its type.
#[derive(Clone, Copy)]
pub struct Table<'a>(&'a [ShortEntry; SHORT_SLOTS]);

impl Table<'_> {
    /// Up to three ids, and how many they are in the last lane: none where the piece is not here.
    #[inline(always)]
    pub fn answer(self, key: Key, slot: u32) -> Wide {
        let entry = self.entry(slot);
        entry.answer.if_equal(entry.key.bits(), key.bits())
    }

    /// Some bits of an entry, for whoever wants nothing but to have it near.
    #[inline(always)]
    pub fn touch(self, slot: u32) -> Wide {
        self.entry(slot).key.bits()
    }

    #[inline(always)]
    fn entry(&self, slot: u32) -> &ShortEntry {
        &self.0[slot as usize & (SHORT_SLOTS - 1)]
    }
}

/// Where a key is remembered.
#[inline(always)]
pub fn slot(key: Key) -> u32 {
    (key.hash() >> (64 - SHORT_SLOTS.trailing_zeros())) as u32
}

impl PieceCache {
    /// A cache that remembers nothing and takes no memory.
    pub fn none() -> Self {
        Self { short: Vec::new(), long: Vec::new() }
    }

    /// `None` in a cache that remembers nothing.
    #[inline(always)]
    pub fn table(&self) -> Option<Table<'_>> {
        self.short.first_chunk().map(Table)
    }

    /// The ids of a short piece: all places, and how many of them count (0: not here).
    #[inline(always)]
    pub fn short(&self, key: Key) -> ([u32; 4], usize) {
        let answer = self.table().map(|table| table.answer(key, slot(key))).unwrap_or_default();
        (answer.lanes(), answer.last_lane() as usize)
    }

    /// The ids of a piece that [`Self::short`] does not have; empty: not here either. `key` is that
    /// of the piece, if it is short enough for one.
    #[inline]
    pub fn rest(&self, key: Option<Key>, piece: &[u8]) -> &[u32] {
        // Only a short piece of many ids is in the other table, and its place here says so.
        let elsewhere = match key {
            Some(key) => self.short.get(slot(key) as usize).is_some_and(|entry| entry.key == key),
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
                if let Some(entry) = self.short.get_mut(slot(key) as usize) {
                    *entry = ShortEntry { key, answer: Wide::default() };
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
        let mut lanes = [0, 0, 0, ids.len() as u32];
        for (place, id) in lanes.iter_mut().zip(ids) {
            *place = *id;
        }
        if let Some(entry) = self.short.get_mut(slot(key) as usize) {
            *entry = ShortEntry { key, answer: Wide::of_lanes(lanes) };
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
    use super::super::key::MAX_KEY;
    use super::*;
    use crate::oracle::random::Random;

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
