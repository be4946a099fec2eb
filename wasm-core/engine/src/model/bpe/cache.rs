//! Pieces that were merged before, with their ids inline.
//!
//! Two tables: up to 15 bytes and 3 ids in an entry of 32 bytes (two loads, one compare, one copy),
//! and up to 48 bytes and 16 ids in one of 128, direct-mapped. A piece of the first has a home, and
//! only that is looked at first; where that fails, the place beside it, in the same line of a cache,
//! may still have what a newer piece drove out. Nothing grows. The size is most of the private
//! memory of an instance.

use super::key::{Key, MAX_KEY};
use super::wide::Wide;

const SHORT_SLOTS: usize = 1 << 17;
const SHORT_IDS: usize = 3;
const LONG_SLOTS: usize = 1 << 12;
const LONG_WORDS: usize = 6;
const LONG_IDS: usize = 16;

/// Pieces longer than this are merged each time.
pub const MAX_PIECE: usize = 8 * LONG_WORDS;

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct ShortEntry {
    key: Key,
    /// The ids, and behind them how many they are.
    answer: Wide,
}

/// Two places that are fetched together.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([ShortEntry; 2]);

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
    short: Vec<Line>,
    long: Vec<LongEntry>,
}

impl Default for PieceCache {
    fn default() -> Self {
        Self {
            short: vec![Line::default(); SHORT_SLOTS / 2],
            long: vec![LongEntry::default(); LONG_SLOTS],
        }
    }
}

/// The table of short pieces, with its size in its type, and flat: one number says where in it.
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
        let lines: &[Line; SHORT_SLOTS / 2] = self.short.first_chunk()?;
        // SAFETY: a line is two entries and nothing else (`repr(C)`), and is aligned as they are.
        Some(Table(unsafe { &*std::ptr::from_ref(lines).cast() }))
    }

    /// The ids of a short piece: all places, and how many of them count (0: not here).
    #[inline(always)]
    pub fn short(&self, key: Key) -> ([u32; 4], usize) {
        let answer = self.table().map(|table| table.answer(key, slot(key))).unwrap_or_default();
        (answer.lanes(), answer.last_lane() as usize)
    }

    /// Appends the ids of a piece that [`Table::answer`] does not have; says whether it is elsewhere.
    #[inline]
    pub fn recall(&mut self, key: Key, piece: &[u8], out: &mut Vec<u32>) -> bool {
        if piece.len() <= MAX_KEY {
            let Some(answer) = self.second_look(key) else { return false };
            let count = answer.last_lane() as usize;
            if count > 0 {
                out.extend_from_slice(answer.lanes().get(..count).unwrap_or_default());
                return true;
            }
        }
        let known = self.long(piece);
        out.extend_from_slice(known);
        !known.is_empty()
    }

    /// Looks for a short piece again, and now also in the place beside its own, from where it moves
    /// home. An answer without ids: in the other table, if anywhere.
    #[inline]
    pub fn second_look(&mut self, key: Key) -> Option<Wide> {
        let slot = slot(key) as usize;
        let Line(line) = self.short.get_mut(slot >> 1)?;
        let (home, beside) = (slot & 1, slot & 1 ^ 1);
        if line[beside].key == key {
            line.swap(0, 1);
        }
        (line[home].key == key).then_some(line[home].answer)
    }

    /// Remembers a piece.
    pub fn remember(&mut self, key: Key, piece: &[u8], ids: &[u32]) {
        if piece.len() <= MAX_KEY {
            if self.insert_short(key, ids) {
                return;
            }
            self.put(ShortEntry { key, answer: Wide::default() });
        }
        self.insert_long(piece, ids);
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
        self.put(ShortEntry { key, answer: Wide::load_lanes(&lanes) });
        true
    }

    /// Remembers a short piece by its key alone.
    pub fn remember_key(&mut self, key: Key, ids: &[u32]) {
        let bytes = key.bytes();
        self.remember(key, bytes.get(..key.length()).unwrap_or_default(), ids);
    }

    /// Remembers up to three ids of a short piece, with their number behind them.
    pub fn insert_answer(&mut self, key: Key, answer: Wide) {
        self.put(ShortEntry { key, answer });
    }

    /// The newest is at home; what it finds there moves aside.
    fn put(&mut self, entry: ShortEntry) {
        let slot = slot(entry.key) as usize;
        let Some(Line(line)) = self.short.get_mut(slot >> 1) else { return };
        let (home, beside) = (slot & 1, slot & 1 ^ 1);
        if line[home].key != entry.key && line[home].key != Key::default() {
            line[beside] = line[home];
        }
        line[home] = entry;
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
    use super::*;
    use crate::oracle::random::Random;
    use std::collections::HashMap;

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
    /// Against a map of the ids: what is recalled is right, and of two pieces with one home both
    /// are kept.
    #[test]
    fn what_is_driven_out_stays_beside() {
        let mut cache = PieceCache::default();
        let mut random = Random::new(9);
        let mut out = Vec::new();
        let mut kept = 0;
        let mut homes: HashMap<u32, Vec<u8>> = HashMap::new();
        for n in 0..40_000u32 {
            let piece = n.wrapping_mul(random.next() as u32 | 1).to_le_bytes().to_vec();
            let key = Key::new(&piece, 0, 4);
            let Some(other) = homes.insert(slot(key), piece.clone()) else { continue };
            if other == piece {
                continue;
            }
            let ids = |piece: &[u8]| vec![u32::from(piece[0]); 1 + usize::from(piece[1]) % 5];
            for piece in [&other, &piece] {
                cache.remember(Key::new(piece, 0, 4), piece, &ids(piece));
            }
            for piece in [&other, &piece, &piece, &other] {
                out.clear();
                let key = Key::new(piece, 0, 4);
                let (first, count) = cache.short(key);
                assert!(count == 0 || first[..count] == ids(piece));
                if cache.recall(key, piece, &mut out) {
                    assert_eq!(out, ids(piece));
                    kept += 1;
                } else {
                    assert!(ids(piece).len() > SHORT_IDS, "{piece:?}");
                }
            }
        }
        assert!(kept > 1000, "{kept}");
    }
}
