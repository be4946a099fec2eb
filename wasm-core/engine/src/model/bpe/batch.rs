//! Pieces that wait to be looked up together.
//!
//! Looking up one piece is a load from a large table, which mostly comes from a far cache, and
//! nothing in WebAssembly fetches ahead. So pieces are queued first, with what they are looked up
//! by. Then a loop touches all their places: it is so short that a processor has many of its loads
//! on their way at the same time. Only then is anything compared.

use super::cache::{slot, PieceCache};
use super::key::Key;
use super::wide::Wide;

/// How many pieces fit.
pub const SIZE: usize = 512;
const MASK: usize = SIZE - 1;
const UNROLLED: usize = 8;

#[derive(Debug)]
pub struct Batch {
    keys: [Key; SIZE],
    slots: [u32; SIZE],
    /// Where each piece is: the start below, the end above.
    spans: [u64; SIZE],
    /// What the cache knows: up to three ids, and how many.
    answers: [Wide; SIZE],
    queued: usize,
    /// Nobody reads it; without it the touching would be optimised away.
    touched: Wide,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            keys: [Key::default(); SIZE],
            slots: [0; SIZE],
            spans: [0; SIZE],
            answers: [Wide::default(); SIZE],
            queued: 0,
            touched: Wide::default(),
        }
    }
}

impl Batch {
    /// So many pieces can be added when it does not ask to be emptied.
    pub const ROOM: usize = 64;

    pub fn clear(&mut self) {
        self.queued = 0;
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.queued > SIZE - Self::ROOM
    }

    #[inline(always)]
    pub fn count(&self) -> usize {
        self.queued.min(SIZE)
    }

    /// Adds a piece.
    #[inline(always)]
    pub fn push(&mut self, key: Key, start: usize, end: usize) {
        let at = self.queued & MASK;
        self.keys[at] = key;
        self.slots[at] = slot(key);
        self.spans[at] = start as u64 | (end as u64) << 32;
        self.queued += 1;
    }

    /// Asks the cache for all of them.
    #[inline(always)]
    pub fn look_up(&mut self, cache: &PieceCache) {
        let Some(table) = cache.table() else {
            self.answers = [Wide::default(); SIZE];
            return;
        };
        let mut touched = Wide::default();
        // The last round may touch places of earlier pieces.
        for slots in self.slots.chunks_exact(UNROLLED).take(self.count().div_ceil(UNROLLED)) {
            for &slot in slots {
                touched = touched.xor(table.touch(slot));
            }
        }
        self.touched = touched;
        for at in 0..self.count() {
            self.answers[at] = table.answer(self.keys[at], self.slots[at]);
        }
    }

    #[inline(always)]
    pub fn answer(&self, at: usize) -> Wide {
        self.answers[at & MASK]
    }

    pub fn key(&self, at: usize) -> Key {
        self.keys[at & MASK]
    }

    pub fn span(&self, at: usize) -> (usize, usize) {
        let span = self.spans[at & MASK];
        (span as u32 as usize, (span >> 32) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    /// Whatever was asked before and whatever changes meanwhile, each answer is the cache's.
    #[test]
    fn looking_up_together_is_looking_up_one_by_one() {
        let mut random = Random::new(5);
        let mut cache = PieceCache::default();
        let mut batch = Batch::default();
        let mut known = 0;
        for round in 0..300 {
            batch.clear();
            let mut expected = Vec::new();
            while !batch.is_full() && random.below(200) > 0 {
                let piece: Vec<u8> =
                    (0..1 + random.below(3)).map(|_| b'a' + random.below(9) as u8).collect();
                let key = Key::new(&piece, 0, piece.len());
                if random.below(3) == 0 {
                    cache.insert_short(key, &[round, 7, 9][..1 + random.below(3)]);
                }
                batch.push(key, expected.len(), expected.len() + piece.len());
                expected.push(key);
            }
            batch.look_up(&cache);
            assert_eq!(batch.count(), expected.len());
            for (at, key) in expected.into_iter().enumerate() {
                let (ids, count) = cache.short(key);
                assert_eq!((batch.answer(at).lanes(), batch.key(at)), (ids, key));
                assert_eq!(batch.answer(at).last_lane() as usize, count);
                assert_eq!(batch.span(at).0, at);
                known += count;
            }
        }
        assert!(known > 5000, "{known}");
        batch.look_up(&PieceCache::none());
        assert_eq!(batch.answer(0), Wide::default());
    }
}
