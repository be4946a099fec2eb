//! Pieces that were merged before, with their ids inline.
//!
//! Two tables: up to 15 bytes and 3 ids in an entry of 32 bytes (two loads, one compare, one copy),
//! and up to 80 bytes and 11 ids in one of 128, direct-mapped. A piece of the first has a home, and
//! only that is looked at first; where that fails, the place beside it, in the same line of a cache,
//! may still have what a newer piece drove out. Nothing grows. The size is most of the private
//! memory of an instance.

use super::key::{Key, MAX_KEY};
use crate::simd::lane16::Wide;

const SHORT_SLOTS: usize = 1 << 17;
const SHORT_IDS: usize = 3;
const LONG_SLOTS: usize = 1 << 12;
const LONG_IDS: usize = 11;
const BLOCK: usize = 16;

/// Pieces longer than this are merged each time. Rules across a page of 80 columns are not.
pub const MAX_PIECE: usize = 5 * BLOCK;

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
    blocks: [[u8; BLOCK]; MAX_PIECE / BLOCK],
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
        Self { short: Vec::new(), long: Vec::new() }
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

    /// The ids of a piece of up to [`MAX_PIECE`] bytes; empty: not here.
    #[inline]
    pub fn long(&self, piece: &[u8]) -> &[u32] {
        self.long_at(long_slot(piece), piece)
    }

    /// Some bits of an entry: reading them brings it into a near cache.
    #[inline(always)]
    pub fn touch_long(&self, slot: u32) -> u32 {
        self.long.get(slot as usize).map_or(0, |entry| entry.len.into())
    }

    /// The ids of a piece whose [`long_slot`] is known.
    #[inline]
    pub fn long_at(&self, slot: u32, piece: &[u8]) -> &[u32] {
        match self.long.get(slot as usize) {
            Some(entry) if entry.is_of(piece) => {
                entry.ids.get(..usize::from(entry.count)).unwrap_or_default()
            }
            _ => &[],
        }
    }

    pub fn insert_long(&mut self, piece: &[u8], ids: &[u32]) {
        if piece.len() > MAX_PIECE || ids.is_empty() || ids.len() > LONG_IDS {
            return;
        }
        let mut entry =
            LongEntry { len: piece.len() as u8, count: ids.len() as u8, ..LongEntry::default() };
        if let Some(place) = entry.blocks.as_flattened_mut().get_mut(..piece.len()) {
            place.copy_from_slice(piece);
        }
        for (place, id) in entry.ids.iter_mut().zip(ids) {
            *place = *id;
        }
        if let Some(place) = self.long.get_mut(long_slot(piece) as usize) {
            *place = entry;
        }
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

/// The first and the last sixteen bytes of a piece. A shorter one is both, with zeros behind it.
#[inline(always)]
fn ends(piece: &[u8]) -> (Wide, Wide) {
    if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
        return (Wide::load(first), Wide::load(last));
    }
    let mut padded = [0; BLOCK];
    for (place, byte) in padded.iter_mut().zip(piece) {
        *place = *byte;
    }
    (Wide::load(&padded), Wide::load(&padded))
}

/// Where a long piece is remembered. Those of one length with the same ends have one place.
#[inline(always)]
pub fn long_slot(piece: &[u8]) -> u32 {
    (long_hash(piece) >> (64 - LONG_SLOTS.trailing_zeros())) as u32
}

/// Of the length and the ends of a piece, 64 bits of which the upper ones are mixed best.
#[inline(always)]
pub fn long_hash(piece: &[u8]) -> u64 {
    let (first, last) = ends(piece);
    let ((a, b), (c, d)) = (first.words(), last.words());
    let mut state =
        (a ^ c.rotate_left(23) ^ piece.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    state ^= state >> 31;
    (state ^ b ^ d.rotate_left(37)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl LongEntry {
    /// The last bytes are compared as one block more, which may overlap the one before it.
    #[inline(always)]
    fn is_of(&self, piece: &[u8]) -> bool {
        if usize::from(self.len) != piece.len() {
            return false;
        }
        let (whole, _) = piece.as_chunks();
        let own = self.blocks.as_flattened().get(..piece.len().max(BLOCK)).unwrap_or_default();
        whole.iter().zip(&self.blocks).all(|(one, own)| Wide::load(one) == Wide::load(own))
            && own.last_chunk().is_some_and(|own| Wide::load(own) == ends(piece).1)
    }
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
                assert!(count == 0 && ids(piece).len() > SHORT_IDS || first[..count] == ids(piece));
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

    /// Pieces that are alike but for one byte anywhere, and those that only their middle tells
    /// apart, which have one place.
    #[test]
    fn long_pieces_are_told_apart() {
        let mut cache = PieceCache::default();
        for len in 1..=MAX_PIECE {
            let piece = vec![b'-'; len];
            cache.insert_long(&piece, &[len as u32, 1]);
            for at in 0..len {
                let mut other = piece.clone();
                other[at] = b'+';
                assert!(cache.long(&other).is_empty(), "{len} {at}");
                cache.insert_long(&other, &[at as u32]);
                assert_eq!(cache.long(&other), [at as u32]);
                assert_ne!(cache.long(&piece), [at as u32]);
            }
            cache.insert_long(&piece, &[len as u32, 1]);
            assert_eq!(cache.long(&piece), [len as u32, 1]);
            assert!(cache.long(&piece[1..]) != [len as u32, 1]);
        }
        let longer = vec![b'-'; MAX_PIECE + 1];
        cache.insert_long(&longer, &[1]);
        assert!(cache.long(&longer).is_empty() && cache.long(&vec![b'-'; 256 + 1]).is_empty());
    }
}
