//! Pieces that were merged before, with their ids inline.
//!
//! A table has slots for entries of 32 bytes (two loads, one compare, one copy), two of them in a line
//! of the processor's cache. A piece has a home slot, and only that is looked at first. The entry may
//! also be in the other slot of the line: a new one is put there if the home slot is taken, and when it
//! is found there, the two are swapped. The entry of a piece of up to 15 bytes and 3 ids has its ids;
//! of others it says where in [`super::records`] they are. Nothing grows. The size is most of the
//! private memory of an instance.

use super::key::{Key, MAX_KEY};
use super::records::Records;
use crate::simd::lane16::Wide;

const SLOTS: usize = 1 << 17;
/// How many ids an entry has room for.
pub const SHORT_IDS: usize = 3;

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Entry {
    key: Key,
    /// Up to three ids, and in the last lane how many there are. If that is zero, the other lanes have
    /// the place of a record, as [`Records::insert`] answered it. So the highest byte of the last lane is
    /// always zero.
    answer: Wide,
}

/// Two slots that are fetched together.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([Entry; 2]);

const _: () = assert!(size_of::<Line>() == 2 * size_of::<Entry>());

#[derive(Debug, Clone)]
pub struct PieceCache {
    lines: Vec<Line>,
    records: Records,
}

impl Default for PieceCache {
    fn default() -> Self {
        Self { lines: vec![Line::default(); SLOTS / 2], records: Records::new() }
    }
}

/// The table, with its size in its type, and flat: one number says where in it.
pub struct Table<'a>(&'a mut [Entry; SLOTS]);

impl Table<'_> {
    /// What the entry at home has for a piece; all zeros if it is of another piece.
    #[inline(always)]
    pub fn answer(&self, key: Key, slot: u32) -> Wide {
        let entry = self.entry(slot);
        entry.answer.if_equal(entry.key.bits(), key.bits())
    }

    /// The same for the other slot of the line; what is found there moves home.
    #[inline(always)]
    pub fn answer_beside(&mut self, key: Key, slot: u32) -> Wide {
        let answer = self.answer(key, slot ^ 1);
        if answer != Wide::default() {
            let (home, beside) = (*self.entry(slot), *self.entry(slot ^ 1));
            self.0[slot as usize & (SLOTS - 1)] = beside;
            self.0[(slot ^ 1) as usize & (SLOTS - 1)] = home;
        }
        answer
    }

    /// Brings the line of a slot into a near cache. It writes zero over a byte that is zero already: the
    /// highest one of the last lane of an answer. The byte is in the other entry of the line, because the
    /// entry at home is loaded next, and a load of bytes that a store has not yet written waits for it.
    #[inline(always)]
    pub fn touch_by_store(&mut self, slot: u32) {
        self.0[(slot ^ 1) as usize & (SLOTS - 1)].answer.clear_highest_byte();
    }

    /// Some bits of an entry: reading them brings its line into a near cache.
    #[inline(always)]
    pub fn touch_by_load(&self, slot: u32) -> Wide {
        self.entry(slot).key.bits()
    }

    #[inline(always)]
    fn entry(&self, slot: u32) -> &Entry {
        &self.0[slot as usize & (SLOTS - 1)]
    }
}

/// Where a key is remembered.
#[inline(always)]
pub fn slot(key: Key) -> u32 {
    (key.hash() >> (64 - SLOTS.trailing_zeros())) as u32
}

impl PieceCache {
    /// A cache that remembers nothing and takes no memory.
    pub fn none() -> Self {
        Self { lines: Vec::new(), records: Records::default() }
    }

    /// `None` in a cache that remembers nothing.
    #[inline(always)]
    pub fn parts(&mut self) -> Option<(Table<'_>, &Records)> {
        let lines: &mut [Line; SLOTS / 2] = self.lines.first_chunk_mut()?;
        // SAFETY: a line is two entries and nothing else (`repr(C)`, and its size is asserted above),
        // and it is aligned as they are.
        Some((Table(unsafe { &mut *std::ptr::from_mut(lines).cast() }), &self.records))
    }

    /// The ids of a piece whose entry has them: all places, and how many of them count (0: it has none,
    /// or is not at home).
    #[inline(always)]
    pub fn short(&mut self, key: Key) -> ([u32; 4], usize) {
        let answer = self.parts().map(|(table, _)| table.answer(key, slot(key)));
        let answer = answer.unwrap_or_default();
        (answer.lanes(), answer.last_lane() as usize)
    }

    /// Appends the ids of a piece that is anywhere here; says whether it is.
    #[inline]
    pub fn recall(&mut self, key: Key, piece: &[u8], out: &mut Vec<u32>) -> bool {
        let Some(answer) = self.second_look(key) else { return false };
        let (before, lanes) = (out.len(), answer.lanes());
        out.extend_from_slice(match answer.last_lane() as usize {
            0 => self.records.ids(answer, piece),
            count => lanes.get(..count).unwrap_or_default(),
        });
        out.len() > before
    }

    /// Looks for a piece in both slots of its line. What is found beside its home moves home.
    #[inline]
    pub fn second_look(&mut self, key: Key) -> Option<Wide> {
        let slot = slot(key) as usize;
        let Line(line) = self.lines.get_mut(slot >> 1)?;
        let (home, beside) = (slot & 1, slot & 1 ^ 1);
        if line[beside].key == key {
            line.swap(0, 1);
        }
        let Entry { key: known, answer } = line[home];
        let is_here = known == key && (answer.last_lane() > 0 || self.records.holds(answer));
        is_here.then_some(answer)
    }

    /// Remembers a piece. A long one of Chinese or Japanese is seldom seen again: it gets its record
    /// when it comes a second time.
    pub fn remember(&mut self, key: Key, piece: &[u8], ids: &[u32]) {
        let answer = match answer_of(ids) {
            Some(answer) if piece.len() <= MAX_KEY => Some(answer),
            _ if is_long_han_or_kana(piece) && self.second_look(key).is_none() => {
                Some(self.records.none())
            }
            _ => self.records.insert(piece, ids),
        };
        if let Some(answer) = answer {
            self.insert_answer(key, answer);
        }
    }

    /// Remembers a short piece of up to three ids at home. The entry that was there moves beside.
    pub fn seed(&mut self, key: Key, ids: &[u32]) {
        let (Some(answer), slot) = (answer_of(ids), slot(key) as usize) else { return };
        let Some(Line(line)) = self.lines.get_mut(slot >> 1) else { return };
        let (home, beside) = (slot & 1, slot & 1 ^ 1);
        if line[home].key != key && line[home].key != Key::default() {
            line[beside] = line[home];
        }
        line[home] = Entry { key, answer };
    }

    /// Remembers the answer of a piece. The entry at home stays, since it may be wanted again, and the
    /// new one is put into the other slot. If both entries of the line belong into that slot, the new
    /// one is put at home.
    pub fn insert_answer(&mut self, key: Key, answer: Wide) {
        let slot = slot(key) as usize;
        let Some(Line(line)) = self.lines.get_mut(slot >> 1) else { return };
        let (home, beside) = (slot & 1, slot & 1 ^ 1);
        let belongs_beside = |key| self::slot(key) as usize & 1 == beside;
        let is_free = line[home].key == key
            || line[home].key == Key::default()
            || belongs_beside(line[home].key) && belongs_beside(line[beside].key);
        line[if is_free { home } else { beside }] = Entry { key, answer };
    }
}

#[inline(always)]
fn is_long_han_or_kana(piece: &[u8]) -> bool {
    let is_lead = |byte: &u8| matches!(byte, 0xE3..=0xE9);
    // The first character, or the one behind a blank or behind punctuation of three bytes.
    piece.len() > MAX_KEY
        && piece.first_chunk().is_some_and(|[a, b, _, c]| [a, b, c].into_iter().any(is_lead))
}

/// Up to three ids and how many they are.
#[inline(always)]
pub fn answer_of(ids: &[u32]) -> Option<Wide> {
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

    /// Pieces of one key: the ids are never those of another.
    #[test]
    fn long_pieces_of_one_key_are_told_apart() {
        let mut cache = PieceCache::default();
        let mut out = Vec::new();
        let pieces = ["+", "-", "="].map(|c| format!("{0}{c}{0}", "-".repeat(16)).into_bytes());
        let keys: Vec<Key> = pieces.iter().map(|piece| Key::new(piece, 0, piece.len())).collect();
        assert!(keys[0] == keys[1] && keys[1] == keys[2]);
        for (n, piece) in (1..).zip(&pieces) {
            assert!(!cache.recall(keys[0], piece, &mut out));
            cache.remember(keys[0], piece, &[n]);
            assert!(cache.recall(keys[0], piece, &mut out));
        }
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn long_han_and_kana_have_records_when_they_come_again() {
        let mut cache = PieceCache::default();
        for (piece, at_once) in
            [("，数据库服务器", false), ("データベース", false), ("переменная", true)]
        {
            let (key, piece) = (Key::new(piece.as_bytes(), 0, piece.len()), piece.as_bytes());
            let mut out = Vec::new();
            cache.remember(key, piece, &[1, 2]);
            assert_eq!(cache.recall(key, piece, &mut out), at_once);
            cache.remember(key, piece, &[1, 2]);
            out.clear();
            assert!(cache.recall(key, piece, &mut out));
            assert_eq!(out, [1, 2]);
        }
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
