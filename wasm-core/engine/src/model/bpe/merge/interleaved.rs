//! Merging several short pieces in turns.
//!
//! A merge waits for the table of pairs, and what it is asked next depends on the answer: one piece
//! alone is a chain of waits. So up to [`PIECES`] pieces each make one merge and ask for what came
//! of it, and only then the first answer is looked at. Each piece is two rows of numbers and a word of
//! bits that says which symbols are left.

use super::byte_units::ByteUnits;
use super::merger::{in_order, lane_of, rank_of};
use super::pairs::{Asked, Packed, NONE};
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::simd::lane16::{lowest, Wide};

/// How many pieces are merged together.
pub const PIECES: usize = 64;
const PIECE_MASK: usize = PIECES - 1;
const PLACES: usize = 256;

/// One number for each symbol of a piece, and at least one more: an id that nothing merges with.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Row<const SYMBOLS: usize>([u32; SYMBOLS]);

/// What a piece wants to know, and for which of its symbols. Half a line of a cache, and few stores:
/// hosts check each of them.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Wish {
    forward: u64,
    backward: u64,
    /// Where to look for the one, and above that for the other.
    homes: u64,
    /// The piece, and above that the place of the symbol and of the one before it.
    of: u32,
}

impl Wish {
    const NONE: Self = Self { forward: 0, backward: 0, homes: 0, of: 0 };

    fn piece(self) -> usize {
        self.of as usize & PIECE_MASK
    }

    fn at(self) -> usize {
        (self.of >> 8) as usize & 0xFF
    }

    fn before(self) -> usize {
        (self.of >> 16) as usize
    }

    fn forward(self) -> Asked {
        Asked { key: self.forward, home: self.homes as u32 }
    }

    fn backward(self) -> Asked {
        Asked { key: self.backward, home: (self.homes >> 32) as u32 }
    }
}

/// `SYMBOLS`: a power of two, at most 32.
#[derive(Debug)]
pub struct Group<const SYMBOLS: usize> {
    /// Ranks of the pairs with the place of the left one behind them.
    order: [Row<SYMBOLS>; PIECES],
    ids: [Row<SYMBOLS>; PIECES],
    /// Bit n: symbol n is left. The bit behind the last one is always set.
    left: [u32; PIECES],
    keys: [Key; PIECES],
    /// Where a key may be, by bits of its hash.
    places: [u8; PLACES],
    wishes: [Wish; PIECES],
    count: usize,
    /// Never read; without it the touching would be optimised away.
    touched: u64,
}

/// For all that has a key.
pub type ShortGroup = Group<{ MAX_KEY + 1 }>;
/// For pieces of up to [`LongGroup::LONGEST`] bytes.
pub type LongGroup = Group<32>;

impl<const SYMBOLS: usize> Default for Group<SYMBOLS> {
    fn default() -> Self {
        Self {
            order: [Row([NONE; SYMBOLS]); PIECES],
            ids: [Row([NONE; SYMBOLS]); PIECES],
            left: [0; PIECES],
            keys: [Key::default(); PIECES],
            places: [0; PLACES],
            wishes: [Wish::NONE; PIECES],
            count: 0,
            touched: 0,
        }
    }
}

impl<const SYMBOLS: usize> Group<SYMBOLS> {
    const MASK: usize = SYMBOLS - 1;
    /// A word of bits has one for each symbol and one behind them, and one more to count with.
    pub const LONGEST: usize = if SYMBOLS < 32 { SYMBOLS - 1 } else { 30 };

    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether there is no room for another piece.
    pub fn is_full(&self) -> bool {
        self.count >= PIECES
    }

    /// The number of a piece that is here; else the next piece that is added will be found by this key. A
    /// new word often comes several times in a row.
    #[inline(always)]
    fn find_or_reserve(&mut self, key: Key) -> Option<usize> {
        let place = (key.hash() >> 8) as usize & (PLACES - 1);
        let known = usize::from(self.places[place]) & PIECE_MASK;
        if known < self.count && self.keys[known] == key {
            return Some(known);
        }
        self.places[place] = self.count as u8;
        self.keys[self.count & PIECE_MASK] = key;
        None
    }

    /// Adds a piece, unless it is here; answers its number. There is room for [`PIECES`], none of
    /// them longer than [`MAX_KEY`].
    #[inline(always)]
    pub fn push(&mut self, units: &ByteUnits, key: Key) -> usize {
        if let Some(known) = self.find_or_reserve(key) {
            return known;
        }
        let (mut low, mut high) = key.bits().words();
        let take = || {
            let byte = low as u8;
            low = low >> 8 | high << 56;
            high >>= 8;
            byte
        };
        self.begin(units, key.length().min(MAX_KEY), take)
    }

    /// Adds a piece of up to [`Self::LONGEST`] symbols, unless it has a key by which it is here; answers
    /// its number.
    #[inline(always)]
    pub fn push_symbols(
        &mut self,
        pairs: Packed,
        key: Key,
        symbols: impl ExactSizeIterator<Item = u32>,
    ) -> usize {
        if key != Key::default() {
            if let Some(known) = self.find_or_reserve(key) {
                return known;
            }
        }
        let piece = self.count & PIECE_MASK;
        self.keys[piece] = key;
        let (order, ids) = (&mut self.order[piece].0, &mut self.ids[piece].0);
        (*order, *ids) = ([NONE; SYMBOLS], [NONE; SYMBOLS]);
        self.left[piece] = (2 << symbols.len().min(Self::LONGEST)) - 1;
        let mut left = NONE;
        for (at, right) in symbols.enumerate().take(Self::LONGEST) {
            ids[at & Self::MASK] = right;
            if at > 0 {
                order[(at - 1) & Self::MASK] =
                    in_order(pairs.answer(pairs.ask(left, right)), at - 1);
            }
            left = right;
        }
        self.count += 1;
        piece
    }

    /// Adds a piece of up to [`Self::LONGEST`] bytes in any case; answers its number.
    #[inline(always)]
    pub fn push_bytes(&mut self, units: &ByteUnits, piece: &[u8]) -> usize {
        let mut bytes = piece.iter().copied();
        self.begin(units, piece.len().min(Self::LONGEST), || bytes.next().unwrap_or_default())
    }

    #[inline(always)]
    fn begin(&mut self, units: &ByteUnits, len: usize, mut take: impl FnMut() -> u8) -> usize {
        let piece = self.count & PIECE_MASK;
        let (order, ids) = (&mut self.order[piece].0, &mut self.ids[piece].0);
        (*order, *ids) = ([NONE; SYMBOLS], [NONE; SYMBOLS]);
        if len > 0 {
            let mut byte = take();
            for at in 0..len - 1 {
                let following = take();
                ids[at & Self::MASK] = units.id(byte);
                order[at & Self::MASK] = in_order(units.first_rank(byte, following), at);
                byte = following;
            }
            ids[(len - 1) & Self::MASK] = units.id(byte);
        }
        self.left[piece] = (2 << len) - 1;
        self.count += 1;
        piece
    }

    /// Numbers the pieces for the first round; answers how many they are.
    fn enlist(&mut self) -> usize {
        let live = self.count.min(PIECES);
        for (wish, piece) in self.wishes.iter_mut().take(live).zip(0..) {
            wish.of = piece;
        }
        live
    }

    /// Lets so many pieces make a merge each; answers how many of them want to know more.
    #[inline(never)]
    fn step_all(&mut self, live: usize, pairs: Packed) -> usize {
        let mut asking = 0;
        for n in 0..live {
            let piece = self.wishes[n & PIECE_MASK].piece();
            if let Some(wish) = self.step(piece, pairs) {
                self.wishes[asking & PIECE_MASK] = wish;
                asking += 1;
            }
        }
        asking
    }

    #[inline(never)]
    fn touch(&mut self, live: usize, pairs: Packed) {
        let mut touched = 0;
        for wish in self.wishes.iter().take(live) {
            let (forward, backward) = (wish.homes as u32, (wish.homes >> 32) as u32);
            touched ^= pairs.touch(forward) ^ pairs.touch(backward);
        }
        self.touched = touched;
    }

    #[inline(never)]
    fn answer(&mut self, live: usize, pairs: Packed) {
        for n in 0..live {
            let wish = self.wishes[n & PIECE_MASK];
            let order = &mut self.order[wish.piece()].0;
            order[wish.before() & Self::MASK] =
                in_order(pairs.answer(wish.backward()), wish.before());
            order[wish.at() & Self::MASK] = in_order(pairs.answer(wish.forward()), wish.at());
        }
    }

    /// Applies the next merge of a piece.
    #[inline(always)]
    fn step(&mut self, piece: usize, pairs: Packed) -> Option<Wish> {
        let order = &mut self.order[piece].0;
        let ids = &mut self.ids[piece].0;
        let lowest = lowest(order);
        let (rank, at) = (rank_of(lowest)?, lane_of(lowest) & Self::MASK);
        let left = self.left[piece];
        let above = left & (u32::MAX << at << 1);
        let right = above.trailing_zeros() as usize;
        let after = (above & above.wrapping_sub(1)).trailing_zeros() as usize;
        // In front of the first one the count wraps to the last place, which has no symbol.
        let below = left & ((1 << at) - 1);
        let before = 31u32.wrapping_sub(below.leading_zeros()) as usize & Self::MASK;
        self.left[piece] = left & !(1 << (right & Self::MASK));
        order[right & Self::MASK] = NONE;
        let product = pairs.product(rank);
        ids[at] = product;
        let (following, preceding) = (ids[after & Self::MASK], ids[before]);
        let (forward, backward) = (pairs.ask(product, following), pairs.ask(preceding, product));
        Some(Wish {
            forward: forward.key,
            backward: backward.key,
            homes: u64::from(forward.home) | u64::from(backward.home) << 32,
            of: (piece | at << 8 | before << 16) as u32,
        })
    }

    /// Merges all pieces to the end.
    pub fn merge(&mut self, pairs: Packed) {
        let mut live = self.enlist();
        while live > 0 {
            live = self.step_all(live, pairs);
            self.touch(live, pairs);
            self.answer(live, pairs);
        }
    }

    /// The id that starts at this byte of a piece, if one does, and its length.
    #[inline(always)]
    pub fn token(&self, piece: usize, at: usize) -> Option<(u32, usize)> {
        let left = self.left[piece & PIECE_MASK] >> (at & Self::MASK);
        // The highest bit is behind the last symbol.
        let behind = left & !1;
        (left & 1 != 0 && behind != 0).then(|| {
            (self.ids[piece & PIECE_MASK].0[at & Self::MASK], behind.trailing_zeros() as usize)
        })
    }

    /// Calls `each` for the ids of a piece from this byte on, and where they start.
    #[inline(always)]
    pub fn tokens(&self, piece: usize, at: usize, mut each: impl FnMut(u32, usize)) {
        let ids = &self.ids[piece & PIECE_MASK].0;
        let mut left = self.left[piece & PIECE_MASK] & (u32::MAX << (at & Self::MASK));
        while left & left.wrapping_sub(1) != 0 {
            let at = left.trailing_zeros() as usize & Self::MASK;
            each(ids[at], at);
            left &= left - 1;
        }
    }

    /// Up to three ids of a piece and how many they are: none if they are more.
    #[inline(always)]
    pub fn answer_of(&self, piece: usize) -> Wide {
        let (ids, first) = (&self.ids[piece & PIECE_MASK].0, self.left[piece & PIECE_MASK]);
        let second = first & first.wrapping_sub(1);
        let third = second & second.wrapping_sub(1);
        let id = |left: u32| ids[left.trailing_zeros() as usize & Self::MASK];
        let count = first.count_ones() - 1;
        let count = if count > 3 { 0 } else { count };
        Wide::load_lanes(&[id(first), id(second), id(third), count])
    }

    /// Calls `each` for the ids of a piece.
    #[inline(always)]
    pub fn ids(&self, piece: usize, mut each: impl FnMut(u32)) {
        self.tokens(piece, 0, |id, _| each(id));
    }
}

/// Merges all pieces of two groups to the end: together, because the few pieces that take many rounds
/// would wait alone otherwise.
///
/// Each loop is a function of its own, and does one thing: compilers of WebAssembly find a register
/// for all that it needs, and where it only touches, many loads are on their way together.
pub fn merge(short: &mut ShortGroup, long: &mut LongGroup, pairs: Packed) {
    let (mut shorts, mut longs) = (short.enlist(), long.enlist());
    while shorts + longs > 0 {
        shorts = short.step_all(shorts, pairs);
        if longs == 0 {
            // A short text has few pieces that are merged, and mostly none of these.
            short.touch(shorts, pairs);
            short.answer(shorts, pairs);
            continue;
        }
        longs = long.step_all(longs, pairs);
        short.touch(shorts, pairs);
        long.touch(longs, pairs);
        short.answer(shorts, pairs);
        long.answer(longs, pairs);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::PairTable;
    use super::*;
    use crate::definition::Merge;
    use crate::oracle::bpe::{bytes_alone, merge_slowly};
    use crate::oracle::random::Random;

    /// Any list of merges, in any order, against one merge after the other; every length, and any
    /// number of pieces at once.
    #[test]
    fn merging_in_turns_is_merging_one_after_the_other() {
        let mut random = Random::new(23);
        let vocab = bytes_alone();
        let (mut group, mut merged, mut repeated) = (ShortGroup::default(), 0, 0);
        let (mut long_group, mut symbol_group) = (LongGroup::default(), ShortGroup::default());
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
            let units = ByteUnits::new(&vocab, &pairs, false).unwrap();
            assert!(units.are_packed);
            let texts: Vec<Vec<u8>> = (0..1 + random.below(PIECES))
                .map(|_| {
                    let kinds = 1 + random.below(6);
                    let longest = if round % 5 == 0 { LongGroup::LONGEST } else { MAX_KEY };
                    let length = random.below(longest + 1);
                    (0..length).map(|_| b"abcd\0\x7f"[random.below(kinds)]).collect()
                })
                .collect();
            group.clear();
            long_group.clear();
            symbol_group.clear();
            let packed = pairs.packed().unwrap();
            let numbers: Vec<(Option<(usize, usize)>, usize)> = texts
                .iter()
                .map(|text| {
                    let key = Key::new(text, 0, text.len());
                    let number = (text.len() <= MAX_KEY).then(|| {
                        let ids: Vec<u32> = text.iter().map(|&byte| byte.into()).collect();
                        let own = if random.below(2) == 0 { Key::default() } else { key };
                        let number = symbol_group.push_symbols(packed, own, ids.iter().copied());
                        (group.push(&units, key), number)
                    });
                    (number, long_group.push_bytes(&units, text))
                })
                .collect();
            merge(&mut group, &mut long_group, packed);
            symbol_group.merge(packed);
            repeated += 2 * numbers.iter().flat_map(|(short, _)| short).count();
            repeated -= group.count + symbol_group.count;
            for (text, (number, long_number)) in texts.iter().zip(numbers) {
                let symbols: Vec<u32> = text.iter().map(|&byte| byte.into()).collect();
                let expected: Vec<u32> =
                    merge_slowly(&symbols, &merges).into_iter().map(|token| token.0).collect();
                let mut got = Vec::new();
                long_group.ids(long_number, |id| got.push(id));
                assert_eq!(got, expected, "{text:?} {merges:?}");
                for (group, number) in number
                    .iter()
                    .flat_map(|numbers| [(&group, numbers.0), (&symbol_group, numbers.1)])
                {
                    got.clear();
                    group.ids(number, |id| got.push(id));
                    assert_eq!(got, expected, "{text:?} {merges:?}");
                }
                merged += symbols.len() - got.len();
            }
        }
        assert!(merged > 10_000 && repeated > 1000, "{merged} {repeated}");
    }
}
