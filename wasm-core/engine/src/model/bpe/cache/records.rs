//! Pieces that the table of short ones has no room for: too long, or with too many ids.
//!
//! What is known of a piece is a record: its length, its ids and its bytes, as many as there are.
//! Records lie one behind the other, so few pages are written to. When there is no room for one
//! more, all are forgotten.

use super::key::{Key, MAX_KEY};
use crate::simd::lane16::Wide;

const BUCKETS: usize = 1 << 13;
const WAYS: usize = 4;
/// Room for records, in blocks. A place is a number of sixteen bits.
const BLOCKS: usize = 1 << 16;

/// Pieces longer than this are merged each time.
const MAX_PIECE: usize = 255;
const MAX_IDS: usize = 255;

#[derive(Debug, Clone, Default)]
pub struct Records {
    /// The last few pieces of each bucket, the newest first: some bits of the hash, and below them
    /// where the record is; 0 there: the piece came once and has none.
    buckets: Vec<[u32; WAYS]>,
    /// The first word of a record is the length and, above that, the number of ids. Behind the ids
    /// the bytes begin with a new block.
    records: Vec<[u32; 4]>,
    /// How many blocks are in use. The first one is no record.
    filled: usize,
}

/// Where a record is that may be of some piece: some bits of its hash are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place(u32);

impl Records {
    pub fn new() -> Self {
        Self { buckets: vec![[0; WAYS]; BUCKETS], records: vec![[0; 4]; BLOCKS], filled: 1 }
    }

    /// The ids of a piece; empty: it has no record.
    #[inline]
    pub fn find(&self, key: Key, piece: &[u8]) -> &[u32] {
        self.place(key, piece).map_or(&[], |place| self.ids(place, key, piece))
    }

    /// Where the record of a piece is, if it has one; maybe that of another piece.
    #[inline(always)]
    pub fn place(&self, key: Key, piece: &[u8]) -> Option<Place> {
        let hash = hash(key, piece);
        let bucket = self.buckets.get(bucket(hash))?;
        // Without branches: most often there is none. Two of the same bits are never in a bucket.
        let own = |slot: u32| slot & u32::from(slot >> 16 == tag(hash)).wrapping_neg();
        let at = bucket.iter().fold(0, |at, &slot| at | own(slot)) & 0xFFFF;
        (at != 0).then_some(Place(at))
    }

    /// Some bits of a record: reading them brings it into a near cache.
    #[inline(always)]
    pub fn touch(&self, Place(at): Place) -> u32 {
        self.records.get(at as usize).map_or(0, |[first, ..]| *first)
    }

    /// The ids of a piece that has its record there; empty: it has not.
    #[inline]
    pub fn ids(&self, Place(at): Place, key: Key, piece: &[u8]) -> &[u32] {
        let record = self.records.get(at as usize..).unwrap_or_default();
        let words = record.as_flattened();
        let head = words.first().copied().unwrap_or_default() as usize;
        let (len, count) = (head & 0xFFFF, head >> 16);
        let own = record.get(blocks_of_ids(count)..).unwrap_or_default();
        let mut same = blocks(key, piece).zip(own).map(|(one, own)| one == Wide::load_lanes(own));
        if len != piece.len() || !same.all(|same| same) {
            return &[];
        }
        words.get(1..=count).unwrap_or_default()
    }

    /// Remembers a piece. A long one of Chinese or Japanese is seldom seen again: it is remembered
    /// when it comes a second time.
    pub fn insert(&mut self, key: Key, piece: &[u8], ids: &[u32]) {
        if piece.len() > MAX_PIECE || ids.is_empty() || ids.len() > MAX_IDS {
            return;
        }
        let size = blocks_of_ids(ids.len()) + blocks(key, piece).count();
        if self.filled + size > self.records.len() {
            self.buckets.fill([0; WAYS]);
            self.filled = 1;
        }
        let hash = hash(key, piece);
        let Some(bucket) = self.buckets.get_mut(bucket(hash)) else { return };
        let mut moved = tag(hash) << 16;
        for slot in &mut *bucket {
            std::mem::swap(slot, &mut moved);
            if moved >> 16 == tag(hash) {
                break;
            }
        }
        let came_before = moved >> 16 == tag(hash);
        let [slot, ..] = bucket;
        if is_long_han_or_kana(piece) && !came_before {
            return;
        }
        *slot |= self.filled as u32;
        let record = self.records.get_mut(self.filled..).unwrap_or_default();
        self.filled += size;
        if let [head, words @ ..] = record.as_flattened_mut() {
            *head = (piece.len() | ids.len() << 16) as u32;
            for (place, id) in words.iter_mut().zip(ids) {
                *place = *id;
            }
        }
        let own = record.iter_mut().skip(blocks_of_ids(ids.len()));
        for (place, block) in own.zip(blocks(key, piece)) {
            *place = block.lanes();
        }
    }
}

/// How many blocks so many ids take, with the word in front of them.
#[inline(always)]
fn blocks_of_ids(count: usize) -> usize {
    count / 4 + 1
}

/// What tells a piece from others: its key, or its bytes in blocks, of which the last one may
/// overlap the one before it.
#[inline(always)]
fn blocks(key: Key, piece: &[u8]) -> impl Iterator<Item = Wide> + '_ {
    let (whole, last) = match piece.last_chunk() {
        Some(last) => (piece.as_chunks().0, Wide::load(last)),
        None => (&[][..], key.bits()),
    };
    whole.iter().map(Wide::load).chain(std::iter::once(last))
}

/// What is kept of a hash beside where it leads to.
#[inline(always)]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & 0xFFFF
}

#[inline(always)]
fn bucket(hash: u64) -> usize {
    (hash >> (64 - BUCKETS.trailing_zeros())) as usize
}

/// Of the key of a short piece, else of the length and the ends. The upper bits are mixed best.
#[inline(always)]
pub fn hash(key: Key, piece: &[u8]) -> u64 {
    let mut state = key.hash();
    if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
        let ((a, b), (c, d)) = (Wide::load(first).words(), Wide::load(last).words());
        state = (a ^ c.rotate_left(23) ^ piece.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state ^= state >> 31;
        state = (state ^ b ^ d.rotate_left(37)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    state
}

#[inline(always)]
fn is_long_han_or_kana(piece: &[u8]) -> bool {
    let is_lead = |byte: &u8| matches!(byte, 0xE3..=0xE9);
    // The first character, or the one behind a blank or behind punctuation of three bytes.
    piece.len() > MAX_KEY
        && piece.first_chunk().is_some_and(|[a, b, _, c]| [a, b, c].into_iter().any(is_lead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use std::collections::HashMap;

    fn key(piece: &[u8]) -> Key {
        Key::new(piece, 0, piece.len())
    }

    /// Records of all sizes, until all are forgotten and after that: each answer is the one that was
    /// inserted last.
    #[test]
    fn answers_are_those_inserted_or_none() {
        let mut records = Records::new();
        let mut random = Random::new(3);
        let mut inserted: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        let (mut hits, mut restarts) = (0, 0);
        for _ in 0..60_000 {
            let longest = *random.pick(&[20, 20, 20, MAX_PIECE]);
            let len = 1 + random.below(longest);
            let piece: Vec<u8> = (0..len).map(|_| b'a' + random.below(2) as u8).collect();
            let found = records.find(key(&piece), &piece);
            assert!(found.is_empty() || found == inserted[&piece]);
            hits += usize::from(!found.is_empty());
            let ids: Vec<u32> = (0..1 + random.below(MAX_IDS) as u32).collect();
            let before = records.filled;
            records.insert(key(&piece), &piece, &ids);
            restarts += usize::from(records.filled < before);
            assert_eq!(records.find(key(&piece), &piece), ids);
            inserted.insert(piece, ids);
        }
        assert!(hits > 1000 && restarts > 5, "{hits} {restarts}");
        assert!(records.find(key(b"never seen"), b"never seen").is_empty());
        let none = Records::default();
        assert!(none.find(key(b"a"), b"a").is_empty());
    }

    /// Pieces that are alike but for one byte anywhere, also in the middle, which no hash sees.
    #[test]
    fn pieces_are_told_apart() {
        let mut records = Records::new();
        for len in 1..=MAX_PIECE {
            let piece = vec![b'-'; len];
            records.insert(key(&piece), &piece, &[len as u32, 1]);
            for at in 0..len {
                let mut other = piece.clone();
                other[at] = b'+';
                assert!(records.find(key(&other), &other).is_empty(), "{len} {at}");
                if at % 9 == 0 {
                    records.insert(key(&other), &other, &[at as u32]);
                    assert_eq!(records.find(key(&other), &other), [at as u32]);
                    assert_ne!(records.find(key(&piece), &piece), [at as u32]);
                }
            }
        }
        let longer = vec![b'-'; MAX_PIECE + 1];
        records.insert(key(&longer), &longer, &[1]);
        assert!(records.find(key(&longer), &longer).is_empty());
        records.insert(key(b"ids"), b"ids", &[7; MAX_IDS + 1]);
        assert!(records.find(key(b"ids"), b"ids").is_empty());
    }

    #[test]
    fn long_han_and_kana_are_remembered_when_they_come_again() {
        let mut records = Records::new();
        for (piece, at_once) in
            [("，数据库服务器", false), ("データベース", false), ("переменная", true)]
        {
            let piece = piece.as_bytes();
            records.insert(key(piece), piece, &[1, 2]);
            assert_eq!(!records.find(key(piece), piece).is_empty(), at_once);
            records.insert(key(piece), piece, &[1, 2]);
            assert_eq!(records.find(key(piece), piece), [1, 2]);
        }
    }

    /// Of the pieces of one bucket the newest are known.
    #[test]
    fn the_oldest_of_a_bucket_goes_first() {
        let mut records = Records::new();
        let mut pieces: HashMap<usize, Vec<[u8; 4]>> = HashMap::new();
        for n in 0..60_000u32 {
            let piece = n.to_le_bytes();
            pieces.entry(bucket(hash(key(&piece), &piece))).or_default().push(piece);
        }
        let mut crowded = 0;
        for pieces in pieces.values().filter(|pieces| pieces.len() > WAYS).take(2000) {
            for (n, piece) in pieces.iter().enumerate() {
                records.insert(key(piece), piece, &[n as u32]);
            }
            let known = |piece: &&[u8; 4]| !records.find(key(*piece), *piece).is_empty();
            let newest = pieces.iter().rev().take_while(known).count();
            assert!(newest <= WAYS && pieces.iter().filter(known).count() == newest);
            crowded += usize::from(newest == WAYS);
        }
        assert!(crowded > 1000, "{crowded}");
    }
}
