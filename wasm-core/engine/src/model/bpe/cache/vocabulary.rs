//! The vocabulary as whole pieces.
//!
//! A third of the pieces that the cache does not know are tokens: too many to start the cache with,
//! and the longest way to go by merges, as every symbol of them merges. So they are looked up. Most
//! pieces that come here are no tokens, and one load of sixteen bytes says that: four ids, each with
//! some bits of a hash beside it. The tables are never written to, so all clones of an instance share
//! them.

use super::key::{Key, MAX_KEY};
use crate::simd::lane16::Wide;

const ID_BITS: u32 = 20;
const ID_MASK: u32 = (1 << ID_BITS) - 1;
/// In the first slot of a bucket: other pieces of this bucket are in the next one.
const GOES_ON: u32 = 1 << 31;
const EMPTY: u32 = !GOES_ON;
const TOGETHER: usize = 4;

/// Slots that are looked at together, without branches. No two of them have the same bits of a hash.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
struct Bucket([u32; TOGETHER]);

impl Bucket {
    /// The id beside these bits of a hash, or a larger number.
    #[inline(always)]
    fn candidate(self, mark: u32) -> u32 {
        let Self([a, b, c, d]) = self;
        let first = ((a ^ mark) & !GOES_ON).min(b ^ mark);
        first.min((c ^ mark).min(d ^ mark))
    }

    #[inline(always)]
    fn goes_on(self) -> bool {
        self.0[0] & GOES_ON != 0
    }

    /// Puts an id here, if there is room for it; else it belongs into the next bucket.
    fn put(&mut self, mark: u32, id: u32) -> bool {
        let is_taken = self.candidate(mark) < ID_MASK;
        let Self(slots) = self;
        match slots.iter_mut().find(|slot| **slot | GOES_ON == u32::MAX).filter(|_| !is_taken) {
            Some(slot) => *slot = mark | id | *slot & GOES_ON,
            None => {
                slots[0] |= GOES_ON;
                return false;
            }
        }
        true
    }
}

#[derive(Debug, Default)]
pub struct Known {
    buckets: Vec<Bucket>,
    shift: u32,
    /// By id.
    keys: Vec<Key>,
}

impl Known {
    /// Of pieces and the ids that encoding gives. What does not fit is left out.
    pub fn new(pieces: &[(Key, u32)]) -> Self {
        let bits = (pieces.len() * 2).next_power_of_two().trailing_zeros().max(6);
        let bits = bits - TOGETHER.trailing_zeros();
        let buckets = vec![Bucket([EMPTY; TOGETHER]); 1 << bits];
        let mut known = Self { buckets, shift: u64::BITS - bits, keys: Vec::new() };
        // A table by id is as long as the list of pieces, not as a giant id.
        let bound = (pieces.len() * 2 + (1 << 16)).min(ID_MASK as usize);
        for &(key, id) in pieces.iter().filter(|(_, id)| (*id as usize) < bound) {
            known.insert(key, id);
        }
        known
    }

    fn insert(&mut self, key: Key, id: u32) {
        let place = id as usize;
        if self.keys.len() <= place {
            self.keys.resize(place + 1, Key::default());
        }
        match self.keys.get_mut(place) {
            // A second piece with the same id is merged like any other.
            Some(known) if *known == Key::default() => *known = key,
            _ => return,
        }
        let hash = key.hash();
        let mut at = self.home(hash);
        while self.buckets.get_mut(at).is_some_and(|bucket| !bucket.put(mark(hash), id)) {
            at = self.next(at);
        }
    }

    /// What a piece of up to [`MAX_KEY`] bytes is encoded as, if that is one id.
    #[inline]
    pub fn id(&self, key: Key, len: usize) -> Option<u32> {
        if len > MAX_KEY {
            return None;
        }
        let hash = key.hash();
        let (mark, mut at) = (mark(hash), self.home(hash));
        while let Some(bucket) = self.buckets.get(at) {
            let id = bucket.candidate(mark);
            if id < ID_MASK && self.keys.get(id as usize) == Some(&key) {
                return Some(id);
            }
            if !bucket.goes_on() {
                break;
            }
            at = self.next(at);
        }
        None
    }

    /// Some bits of what [`Self::id`] looks at first: reading them brings it into a near cache.
    #[inline(always)]
    pub fn touch_slot(&self, key: Key) -> u32 {
        self.buckets.get(self.home(key.hash())).map_or(0, |Bucket([first, ..])| *first)
    }

    /// And of what it looks at then.
    #[inline(always)]
    pub fn touch_key(&self, key: Key) -> Wide {
        let hash = key.hash();
        let bucket = self.buckets.get(self.home(hash)).copied();
        let id = bucket.map_or(0, |bucket| bucket.candidate(mark(hash)));
        let id = if id < ID_MASK { id } else { 0 };
        self.keys.get(id as usize).copied().unwrap_or_default().bits()
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & self.buckets.len().wrapping_sub(1)
    }
}

/// Bits of the hash that the place says nothing about.
#[inline]
fn mark(hash: u64) -> u32 {
    (hash >> 8) as u32 & !ID_MASK & !GOES_ON
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use std::collections::HashMap;

    #[test]
    fn answers_are_those_of_a_map() {
        let mut random = Random::new(19);
        for count in [0, 1, 2, 500, 6000] {
            let mut piece = || {
                let length = 1 + random.below(MAX_KEY);
                (0..length).map(|_| b'a' + random.below(3) as u8).collect::<Vec<_>>()
            };
            let mut ids = HashMap::new();
            for id in 0..count {
                let id = if id % 3 == 0 { id } else { id + 70_000 };
                ids.entry(piece()).or_insert(id);
            }
            let pieces: Vec<(Key, u32)> =
                ids.iter().map(|(piece, id)| (Key::new(piece, 0, piece.len()), *id)).collect();
            let known = Known::new(&pieces);
            let mut found = 0;
            let bound = pieces.len() * 2 + (1 << 16);
            for piece in (0..20_000).map(|_| piece()).chain(ids.keys().cloned().collect::<Vec<_>>())
            {
                let expected = ids.get(&piece).copied().filter(|id| (*id as usize) < bound);
                assert_eq!(known.id(Key::new(&piece, 0, piece.len()), piece.len()), expected);
                found += usize::from(expected.is_some());
            }
            assert!(found * 4 >= pieces.len(), "{found}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_there() {
        let key = |text: &[u8]| Key::new(text, 0, text.len());
        let known = Known::new(&[(key(b"a"), 7), (key(b"b"), 7), (key(b"c"), 1 << 20)]);
        assert_eq!((known.id(key(b"a"), 1), known.id(key(b"b"), 1)), (Some(7), None));
        assert_eq!(known.id(key(b"c"), 1), None);
        assert_eq!(known.id(key(b"longer than a key"), 17), None);
        assert_eq!(Known::default().id(key(b"a"), 1), None);
    }
}
