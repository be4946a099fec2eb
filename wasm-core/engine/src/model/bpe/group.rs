//! Merging several short pieces in turns.
//!
//! A merge waits for the table of pairs, and what it is asked next depends on the answer: one piece
//! alone is a chain of waits. So up to [`PIECES`] pieces each make one merge and ask for what came
//! of it, and only then the first answer is looked at. Each piece is two rows of sixteen numbers and
//! a word of bits that says which symbols are left.

use super::bytes::ByteUnits;
use super::key::{Key, MAX_KEY};
use super::merge::{in_order, lane_of, rank_of};
use super::pairs::{Asked, Packed, NONE};
use super::wide::lowest;

/// How many pieces are merged together.
pub const PIECES: usize = 32;
const PIECE_MASK: usize = PIECES - 1;

/// One more than the symbols of a piece: the last one is an id that nothing merges with.
const SYMBOLS: usize = MAX_KEY + 1;
const SYMBOL_MASK: usize = SYMBOLS - 1;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Row([u32; SYMBOLS]);

/// What a piece wants to know, and for which of its symbols.
#[derive(Debug, Clone, Copy)]
struct Wish {
    piece: u32,
    at: u32,
    before: u32,
    forward: Asked,
    backward: Asked,
}

impl Wish {
    const NONE: Self =
        Self { piece: 0, at: 0, before: 0, forward: Asked::NONE, backward: Asked::NONE };
}

#[derive(Debug)]
pub struct Group {
    /// Ranks of the pairs with the place of the left one behind them.
    order: [Row; PIECES],
    ids: [Row; PIECES],
    /// Bit n: symbol n is left. The bit behind the last one is always set.
    left: [u32; PIECES],
    keys: [Key; PIECES],
    /// A bit for the hash of each key that is here.
    seen: u64,
    wishes: [Wish; PIECES],
    count: usize,
    /// Nobody reads it; without it the touching would be optimised away.
    touched: u64,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            order: [Row([NONE; SYMBOLS]); PIECES],
            ids: [Row([NONE; SYMBOLS]); PIECES],
            left: [0; PIECES],
            keys: [Key::default(); PIECES],
            seen: 0,
            wishes: [Wish::NONE; PIECES],
            count: 0,
            touched: 0,
        }
    }
}

impl Group {
    pub fn clear(&mut self) {
        (self.count, self.seen) = (0, 0);
    }

    /// Adds a piece, unless it is here; answers its number. There is room for [`PIECES`], none of
    /// them longer than [`MAX_KEY`].
    #[inline(always)]
    pub fn push(&mut self, units: &ByteUnits, key: Key) -> usize {
        // A new word often comes several times in a row.
        let bit = 1 << (key.hash() >> 58);
        if self.seen & bit != 0 {
            let here = self.keys.iter().take(self.count).position(|known| *known == key);
            if let Some(piece) = here {
                return piece;
            }
        }
        self.seen |= bit;
        let piece = self.count & PIECE_MASK;
        self.keys[piece] = key;
        let (order, ids) = (&mut self.order[piece].0, &mut self.ids[piece].0);
        (*order, *ids) = ([NONE; SYMBOLS], [NONE; SYMBOLS]);
        let (mut low, mut high) = key.bits().words();
        let mut take = || {
            let byte = low as u8;
            low = low >> 8 | high << 56;
            high >>= 8;
            byte
        };
        let len = key.length().min(MAX_KEY);
        if len > 0 {
            let mut byte = take();
            for at in 0..len - 1 {
                let following = take();
                ids[at & SYMBOL_MASK] = units.id(byte);
                order[at & SYMBOL_MASK] = in_order(units.first_rank(byte, following), at);
                byte = following;
            }
            ids[(len - 1) & SYMBOL_MASK] = units.id(byte);
        }
        self.left[piece] = (2 << len) - 1;
        self.count += 1;
        piece
    }

    /// Merges all of them to the end.
    pub fn merge(&mut self, pairs: Packed) {
        let mut live = self.count.min(PIECES);
        for (wish, piece) in self.wishes.iter_mut().zip(0..) {
            wish.piece = piece;
        }
        let mut touched = 0;
        while live > 0 {
            let mut asking = 0;
            for n in 0..live {
                let piece = self.wishes[n & PIECE_MASK].piece as usize & PIECE_MASK;
                if let Some(wish) = self.step(piece, pairs) {
                    self.wishes[asking & PIECE_MASK] = wish;
                    asking += 1;
                }
            }
            live = asking;
            // A loop of its own: the shorter it is, the more of its loads are on their way together.
            for wish in self.wishes.iter().take(live) {
                touched ^= pairs.touch(wish.forward) ^ pairs.touch(wish.backward);
            }
            for n in 0..live {
                let wish = self.wishes[n & PIECE_MASK];
                let order = &mut self.order[wish.piece as usize & PIECE_MASK].0;
                let (at, before) = (wish.at as usize, wish.before as usize);
                order[before & SYMBOL_MASK] = in_order(pairs.answer(wish.backward), before);
                order[at & SYMBOL_MASK] = in_order(pairs.answer(wish.forward), at);
            }
        }
        self.touched = touched;
    }

    /// Applies the next merge of a piece.
    #[inline(always)]
    fn step(&mut self, piece: usize, pairs: Packed) -> Option<Wish> {
        let order = &mut self.order[piece].0;
        let ids = &mut self.ids[piece].0;
        let lowest = lowest(order);
        let (rank, at) = (rank_of(lowest)?, lane_of(lowest) & SYMBOL_MASK);
        let left = self.left[piece];
        let above = left & (u32::MAX << at << 1);
        let right = above.trailing_zeros() as usize;
        let after = (above & above.wrapping_sub(1)).trailing_zeros() as usize;
        // In front of the first one the count wraps to the last place, which has no symbol.
        let below = left & ((1 << at) - 1);
        let before = 31u32.wrapping_sub(below.leading_zeros()) as usize & SYMBOL_MASK;
        self.left[piece] = left & !(1 << (right & SYMBOL_MASK));
        order[right & SYMBOL_MASK] = NONE;
        let product = pairs.product(rank);
        ids[at] = product;
        let (following, preceding) = (ids[after & SYMBOL_MASK], ids[before]);
        Some(Wish {
            piece: piece as u32,
            at: at as u32,
            before: before as u32,
            forward: pairs.ask(product, following),
            backward: pairs.ask(preceding, product),
        })
    }

    /// Calls `each` for the ids of a piece.
    #[inline(always)]
    pub fn ids(&self, piece: usize, mut each: impl FnMut(u32)) {
        let (ids, mut left) = (&self.ids[piece & PIECE_MASK].0, self.left[piece & PIECE_MASK]);
        // The highest bit is behind the last symbol.
        while left & left.wrapping_sub(1) != 0 {
            each(ids[left.trailing_zeros() as usize & SYMBOL_MASK]);
            left &= left - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::PairTable;
    use super::*;
    use crate::definition::Merge;
    use crate::oracle::bpe::merge_slowly;
    use crate::oracle::random::Random;
    use crate::split::byte_level::CHAR_OF_BYTE;
    use crate::vocab::Vocab;

    /// Any list of merges, in any order, against one merge after the other; every length, and any
    /// number of pieces at once.
    #[test]
    fn merging_in_turns_is_merging_one_after_the_other() {
        let mut random = Random::new(23);
        let mut vocab = Vocab::new();
        for (id, c) in (0..).zip(CHAR_OF_BYTE) {
            vocab.insert(&c.to_string(), id).unwrap();
        }
        let (mut group, mut merged, mut repeated) = (Group::default(), 0, 0);
        for round in 0..1500 {
            let mut merges: Vec<Merge> = Vec::new();
            let mut known: Vec<u32> = b"abcd\0\x7f".iter().map(|&byte| byte.into()).collect();
            for product in 256..256 + random.below(40) as u32 {
                let (left, right) = (*random.pick(&known), *random.pick(&known));
                merges.push(Merge { left, right, product });
                known.push(product);
            }
            if round % 2 == 0 {
                for n in (1..merges.len()).rev() {
                    merges.swap(n, random.below(n + 1));
                }
            }
            let pairs = match round % 3 {
                0 => PairTable::ranked(&merges),
                _ => PairTable::new(&merges),
            };
            let units = ByteUnits::new(&vocab, &pairs).unwrap();
            assert!(units.are_packed);
            let texts: Vec<Vec<u8>> = (0..1 + random.below(PIECES))
                .map(|_| {
                    let kinds = 1 + random.below(6);
                    let length = random.below(MAX_KEY + 1);
                    (0..length).map(|_| b"abcd\0\x7f"[random.below(kinds)]).collect()
                })
                .collect();
            group.clear();
            let numbers: Vec<usize> = texts
                .iter()
                .map(|text| group.push(&units, Key::new(text, 0, text.len())))
                .collect();
            group.merge(pairs.packed().unwrap());
            repeated += texts.len() - group.count;
            for (text, number) in texts.iter().zip(numbers) {
                let symbols: Vec<u32> = text.iter().map(|&byte| byte.into()).collect();
                let expected: Vec<u32> =
                    merge_slowly(&symbols, &merges).into_iter().map(|token| token.0).collect();
                let mut got = Vec::new();
                group.ids(number, |id| got.push(id));
                assert_eq!(got, expected, "{text:?} {merges:?}");
                merged += symbols.len() - got.len();
            }
        }
        assert!(merged > 10_000 && repeated > 1000, "{merged} {repeated}");
    }
}
