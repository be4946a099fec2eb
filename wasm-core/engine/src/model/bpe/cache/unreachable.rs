//! Whole pieces that are tokens although no merges lead to them.

use super::key::Key;
use std::collections::HashMap;

/// Every piece that is merged is asked about, and nearly none is one of these: a bit says so of most.
#[derive(Debug, Default)]
pub struct Unreachable {
    ids: HashMap<Vec<u8>, u32>,
    marks: Vec<u64>,
    shortest: usize,
}

impl Unreachable {
    pub fn new(ids: HashMap<Vec<u8>, u32>) -> Self {
        let mut marks = vec![0u64; if ids.is_empty() { 0 } else { words_for(ids.len()) }];
        for piece in ids.keys() {
            let (word, bit) = place(Key::new(piece, 0, piece.len()), marks.len());
            if let Some(word) = marks.get_mut(word) {
                *word |= bit;
            }
        }
        let shortest = ids.keys().map(Vec::len).min().unwrap_or(usize::MAX);
        Self { ids, marks, shortest }
    }

    #[inline]
    pub fn id(&self, key: Key, piece: &[u8]) -> Option<u32> {
        if piece.len() < self.shortest {
            return None;
        }
        let (word, bit) = place(key, self.marks.len());
        match self.marks.get(word) {
            Some(word) if word & bit != 0 => self.ids.get(piece).copied(),
            _ => None,
        }
    }
}

/// Sixteen bits a piece, in a power of two of words.
fn words_for(count: usize) -> usize {
    (count / 4).next_power_of_two()
}

#[inline]
fn place(key: Key, words: usize) -> (usize, u64) {
    let hash = key.hash();
    ((hash >> 38) as usize & words.wrapping_sub(1), 1 << (hash >> 58))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    #[test]
    fn answers_are_those_of_the_map() {
        let mut random = Random::new(8);
        for count in [0, 1, 3, 100, 3000] {
            let mut piece = || -> Vec<u8> {
                (0..1 + random.below(20)).map(|_| b'a' + random.below(2) as u8).collect()
            };
            let ids: HashMap<Vec<u8>, u32> = (0..count).map(|id| (piece(), id)).collect();
            let unreachable = Unreachable::new(ids.clone());
            for _ in 0..5000 {
                let piece = piece();
                let key = Key::new(&piece, 0, piece.len());
                assert_eq!(unreachable.id(key, &piece), ids.get(&piece).copied());
            }
        }
    }
}
