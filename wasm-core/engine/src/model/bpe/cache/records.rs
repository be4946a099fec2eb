//! Ids of pieces that the table of the cache has no room for: of long pieces, or too many.
//!
//! Records lie one behind the other, so few pages are written to. When there is no room for one
//! more, all are forgotten.

use super::key::MAX_KEY;
use crate::simd::lane16::Wide;

/// Room for records, in blocks.
const BLOCKS: usize = 1 << 16;

/// Pieces longer than this are merged each time.
const MAX_PIECE: usize = 255;
const MAX_IDS: usize = 255;

#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Ids, and behind those of a long piece its bytes. Both begin with a new block.
    blocks: Vec<[u32; 4]>,
    /// How many blocks are in use.
    filled: usize,
    /// 1 at first, and one more each time that all are forgotten. A place of another age is invalid.
    age: u32,
}

/// Where a record is, how many ids and bytes it has, and its age. Written, it is as wide as three ids
/// and their number, and has zero for that number.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: u32,
    count: u32,
    length: u32,
    age: u32,
}

impl Place {
    fn written(self) -> Wide {
        Wide::load_lanes(&[self.at, self.count | self.length << 16, self.age, 0])
    }

    #[inline(always)]
    fn read(answer: Wide) -> Self {
        let (low, high) = answer.words();
        let lengths = (low >> 32) as u32;
        Self { at: low as u32, count: lengths & 0xFFFF, length: lengths >> 16, age: high as u32 }
    }
}

impl Records {
    pub fn new() -> Self {
        Self { blocks: vec![[0; 4]; BLOCKS], filled: 0, age: 1 }
    }

    /// The ids of a piece whose entry has this answer. None: the record was forgotten, or is of another
    /// long piece with the same key.
    pub fn ids(&self, answer: Wide, piece: &[u8]) -> &[u32] {
        let (blocks, count) = self.blocks_of(answer, piece);
        blocks.as_flattened().get(..count).unwrap_or_default()
    }

    /// The same in blocks, and how many ids there are.
    #[inline(always)]
    pub fn blocks_of(&self, answer: Wide, piece: &[u8]) -> (&[[u32; 4]], usize) {
        let Place { at, count, length, age } = Place::read(answer);
        let record = self.blocks.get(at as usize..).unwrap_or_default();
        if age != self.age || length as usize != piece.len() {
            return (&[], 0);
        }
        let count = count as usize;
        if let Some(last) = piece.last_chunk() {
            let own = record.get(blocks_of_ids(count)..).unwrap_or_default();
            if !blocks(piece, last).zip(own).all(|(one, own)| one == Wide::load_lanes(own)) {
                return (&[], 0);
            }
        }
        record.get(..blocks_of_ids(count)).map_or((&[], 0), |blocks| (blocks, count))
    }

    /// Whether the place in an answer is still valid: no, if all records were forgotten since.
    pub fn holds(&self, answer: Wide) -> bool {
        Place::read(answer).age == self.age
    }

    /// A place without a record, for a piece that came once.
    pub fn none(&self) -> Wide {
        Place { at: 0, count: 0, length: 0, age: self.age }.written()
    }

    /// Remembers the ids of a piece; answers the place, for its entry in the table.
    pub fn insert(&mut self, piece: &[u8], ids: &[u32]) -> Option<Wide> {
        if piece.len() > MAX_PIECE || ids.is_empty() || ids.len() > MAX_IDS {
            return None;
        }
        let bytes = piece.last_chunk().map(|last| blocks(piece, last));
        let size = blocks_of_ids(ids.len()) + bytes.clone().map_or(0, Iterator::count);
        if self.filled + size > self.blocks.len() {
            (self.filled, self.age) = (0, self.age.wrapping_add(1));
        }
        let record = self.blocks.get_mut(self.filled..self.filled + size)?;
        for (place, id) in record.as_flattened_mut().iter_mut().zip(ids) {
            *place = *id;
        }
        let own = record.iter_mut().skip(blocks_of_ids(ids.len()));
        for (place, block) in own.zip(bytes.into_iter().flatten()) {
            *place = block.lanes();
        }
        let (at, count, length) = (self.filled as u32, ids.len() as u32, piece.len() as u32);
        self.filled += size;
        Some(Place { at, count, length, age: self.age }.written())
    }
}

#[inline(always)]
fn blocks_of_ids(count: usize) -> usize {
    count.div_ceil(4)
}

/// The bytes of a piece that is longer than [`MAX_KEY`], in blocks; the last one may overlap the one
/// before it.
#[inline(always)]
fn blocks<'a>(
    piece: &'a [u8],
    last: &'a [u8; MAX_KEY + 1],
) -> impl Iterator<Item = Wide> + Clone + 'a {
    piece.as_chunks().0.iter().chain(std::iter::once(last)).map(Wide::load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use std::collections::HashMap;

    /// Records of all sizes, until all are forgotten and after that: the ids are those that were
    /// inserted, or none.
    #[test]
    fn ids_are_those_inserted_or_none() {
        let mut records = Records::new();
        let mut random = Random::new(3);
        let mut inserted: HashMap<Vec<u8>, (Wide, Vec<u32>)> = HashMap::new();
        let (mut hits, mut forgotten) = (0, 0);
        for _ in 0..60_000 {
            let longest = *random.pick(&[12, 20, MAX_PIECE]);
            let len = 1 + random.below(longest);
            let piece: Vec<u8> = (0..len).map(|_| b'a' + random.below(2) as u8).collect();
            if let Some((answer, ids)) = inserted.get(&piece) {
                let found = records.ids(*answer, &piece);
                assert_eq!(found, if records.holds(*answer) { &ids[..] } else { &[] });
                hits += usize::from(!found.is_empty());
                forgotten += usize::from(found.is_empty());
            }
            let ids: Vec<u32> = (0..1 + random.below(MAX_IDS) as u32).collect();
            let answer = records.insert(&piece, &ids).unwrap();
            assert_eq!(records.ids(answer, &piece), ids);
            assert_eq!(answer.last_lane(), 0);
            inserted.insert(piece, (answer, ids));
        }
        assert!(hits > 1000 && forgotten > 1000, "{hits} {forgotten}");
        let once = records.none();
        assert!(records.holds(once) && records.ids(once, b"once").is_empty());
        assert_eq!(Records::default().insert(b"a", &[1, 2, 3, 4]), None);
    }

    /// Long pieces that are alike but for one byte anywhere, or but for their length.
    #[test]
    fn long_pieces_are_told_apart() {
        let mut records = Records::new();
        for len in MAX_KEY + 1..=MAX_PIECE {
            let piece = vec![b'-'; len];
            let answer = records.insert(&piece, &[len as u32, 1]).unwrap();
            assert_eq!(records.ids(answer, &piece), [len as u32, 1]);
            assert!(records.ids(answer, &piece[1..]).is_empty());
            for at in 0..len {
                let mut other = piece.clone();
                other[at] = b'+';
                assert!(records.ids(answer, &other).is_empty(), "{len} {at}");
            }
        }
        assert_eq!(records.insert(&[b'-'; MAX_PIECE + 1], &[1]), None);
        assert_eq!(records.insert(b"ids", &[7; MAX_IDS + 1]), None);
    }
}
