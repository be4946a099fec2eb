//! Pieces that were merged before, with their ids inline.
//!
//! A table has those of up to 15 bytes and 3 ids, in entries of 32 bytes (two loads, one compare, one
//! copy). A piece has a home there, and only that is looked at first; where that fails, the place
//! beside it, in the same line of a cache, may still have what a newer piece drove out. Longer pieces
//! and those with more ids are in [`super::records`]. Nothing grows. The size is most of the private
//! memory of an instance.

use super::key::{Key, MAX_KEY};
use super::records::Records;
use crate::simd::lane16::Wide;

const SHORT_SLOTS: usize = 1 << 17;
const SHORT_IDS: usize = 3;

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

#[derive(Debug, Clone)]
pub struct PieceCache {
    short: Vec<Line>,
    pub records: Records,
}

impl Default for PieceCache {
    fn default() -> Self {
        Self { short: vec![Line::default(); SHORT_SLOTS / 2], records: Records::new() }
    }
}

/// The table of short pieces, with its size in its type, and flat: one number says where in it.
pub struct Table<'a>(&'a mut [ShortEntry; SHORT_SLOTS]);

impl Table<'_> {
    /// Up to three ids, and how many they are in the last lane: none where the piece is not here.
    #[inline(always)]
    pub fn answer(&self, key: Key, slot: u32) -> Wide {
        let entry = self.entry(slot);
        entry.answer.if_equal(entry.key.bits(), key.bits())
    }

    /// The same for the place beside; what is found there moves home.
    #[inline(always)]
    pub fn answer_beside(&mut self, key: Key, slot: u32) -> Wide {
        let answer = self.answer(key, slot ^ 1);
        if answer.last_lane() > 0 {
            let (home, beside) = (*self.entry(slot), *self.entry(slot ^ 1));
            self.0[slot as usize & (SHORT_SLOTS - 1)] = beside;
            self.0[(slot ^ 1) as usize & (SHORT_SLOTS - 1)] = home;
        }
        answer
    }

    /// Some bits of an entry: reading them brings it into a near cache.
    #[inline(always)]
    pub fn touch(&self, slot: u32) -> Wide {
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
        Self { short: Vec::new(), records: Records::default() }
    }

    /// `None` in a cache that remembers nothing.
    #[inline(always)]
    pub fn table(&mut self) -> Option<Table<'_>> {
        let lines: &mut [Line; SHORT_SLOTS / 2] = self.short.first_chunk_mut()?;
        // SAFETY: a line is two entries and nothing else (`repr(C)`), and is aligned as they are.
        Some(Table(unsafe { &mut *std::ptr::from_mut(lines).cast() }))
    }

    /// The ids of a short piece: all places, and how many of them count (0: not here).
    #[inline(always)]
    pub fn short(&mut self, key: Key) -> ([u32; 4], usize) {
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
        let known = self.records.find(key, piece);
        out.extend_from_slice(known);
        !known.is_empty()
    }

    /// Looks for a short piece again, and now also in the place beside its own, from where it moves
    /// home. An answer without ids: it may have a record.
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
        self.records.insert(key, piece, ids);
    }

    /// Remembers a short piece; answers whether it had room for it.
    pub fn insert_short(&mut self, key: Key, ids: &[u32]) -> bool {
        let Some(answer) = answer_of(ids) else { return false };
        self.put(ShortEntry { key, answer });
        true
    }

    /// Remembers a short piece at home, if there is room for its ids: what it finds there moves
    /// aside.
    pub fn seed(&mut self, key: Key, ids: &[u32]) {
        let (Some(answer), slot) = (answer_of(ids), slot(key) as usize) else { return };
        let Some(Line(line)) = self.short.get_mut(slot >> 1) else { return };
        let (home, beside) = (slot & 1, slot & 1 ^ 1);
        if line[home].key != key && line[home].key != Key::default() {
            line[beside] = line[home];
        }
        line[home] = ShortEntry { key, answer };
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

    /// What is at home stays, and may be wanted again; a piece that comes for the first time is
    /// put beside it. Except where the piece at home belongs beside, and was driven out from there.
    fn put(&mut self, entry: ShortEntry) {
        let slot = slot(entry.key) as usize;
        let Some(Line(line)) = self.short.get_mut(slot >> 1) else { return };
        let (home, beside) = (slot & 1, slot & 1 ^ 1);
        let belongs_beside = |key| self::slot(key) as usize & 1 == beside;
        let is_free = line[home].key == entry.key
            || line[home].key == Key::default()
            || belongs_beside(line[home].key) && belongs_beside(line[beside].key);
        line[if is_free { home } else { beside }] = entry;
    }
}

/// Up to three ids and how many they are.
#[inline(always)]
fn answer_of(ids: &[u32]) -> Option<Wide> {
    if ids.is_empty() || ids.len() > SHORT_IDS {
        return None;
    }
    let mut lanes = [0, 0, 0, ids.len() as u32];
    for (place, id) in lanes.iter_mut().zip(ids) {
        *place = *id;
    }
    Some(Wide::load_lanes(&lanes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use std::collections::HashMap;

    /// Pieces that share a line, by the place that they belong to.
    fn neighbours() -> Vec<[Vec<Vec<u8>>; 2]> {
        let mut random = Random::new(9);
        let mut lines: HashMap<u32, [Vec<Vec<u8>>; 2]> = HashMap::new();
        for n in 0..60_000u32 {
            let piece = n.wrapping_mul(random.next() as u32 | 1).to_le_bytes().to_vec();
            let slot = slot(Key::new(&piece, 0, 4));
            let pieces = &mut lines.entry(slot >> 1).or_default()[slot as usize & 1];
            if !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
        lines.into_values().collect()
    }

    /// Puts and looks in any order: what is recalled is right, and is what was wanted last.
    #[test]
    fn what_is_recalled_is_right() {
        let mut cache = PieceCache::default();
        let mut random = Random::new(10);
        let ids = |piece: &[u8]| vec![u32::from(piece[0]); 1 + usize::from(piece[1]) % 5];
        let (mut out, mut kept) = (Vec::new(), 0);
        for line in neighbours() {
            let pieces: Vec<_> = line.iter().flatten().collect();
            for _ in 0..4 * pieces.len() {
                let piece = *random.pick(&pieces);
                let key = Key::new(piece, 0, 4);
                out.clear();
                let (first, count) = cache.short(key);
                assert!(count == 0 || first[..count] == ids(piece));
                if cache.recall(key, piece, &mut out) {
                    assert_eq!(out, ids(piece));
                    kept += 1;
                } else {
                    cache.remember(key, piece, &ids(piece));
                    assert!(cache.recall(key, piece, &mut out));
                    assert_eq!(out, ids(piece));
                }
                let (first, count) = cache.short(key);
                assert!(count == 0 || first[..count] == ids(piece));
            }
        }
        assert!(kept > 10_000, "{kept}");
    }

    /// What is at home is not driven out by pieces that come once, and two of one home are kept.
    #[test]
    fn what_was_wanted_again_stays() {
        let mut cache = PieceCache::default();
        let (mut out, mut crowded, mut shared) = (Vec::new(), 0, 0);
        let mut knows = |cache: &mut PieceCache, piece: &[u8]| {
            cache.recall(Key::new(piece, 0, 4), piece, &mut out)
        };
        let remember = |cache: &mut PieceCache, piece: &[u8]| {
            cache.remember(Key::new(piece, 0, 4), piece, &[7]);
        };
        for [left, right] in neighbours() {
            let [first, second, others @ ..] = &left[..] else { continue };
            for piece in [first, second] {
                remember(&mut cache, piece);
            }
            assert!(knows(&mut cache, second) && knows(&mut cache, first));
            for other in others {
                remember(&mut cache, other);
                assert!(knows(&mut cache, first));
                crowded += 1;
            }
            // The place beside is its own: a piece that was put there from elsewhere goes first.
            if let Some(other) = right.first() {
                remember(&mut cache, other);
                assert!(knows(&mut cache, other) && knows(&mut cache, first));
                shared += 1;
            }
        }
        assert!(crowded > 500 && shared > 500, "{crowded} {shared}");
    }
}
