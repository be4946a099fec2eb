//! The tokens of a vocabulary, to find the longest one that fits ([`super::backtrack`]).
//!
//! What begins a text is found by its first bytes, which say how long the tokens are that begin so. What
//! two tokens in a row would become is found by undoing merges: that needs ranks that grow from the
//! parts of a token to the whole. Where some do not, as with a hundred tokens of Llama 3, the two have to
//! be merged.

use super::backtrack::Tables;
use super::long_tokens::LongTokens;
use crate::definition::Merge;
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::model::bpe::cache::vocabulary::Known;
use crate::model::bpe::merge::merger::Merger;
use crate::model::bpe::merge::pairs::{PairTable, NONE};

/// A file with longer tokens could make each place of a text cost as much as it likes.
const LONGEST_TOKEN: usize = 512;

/// So often a list is read, in the mean, in search of tokens whose parts are there.
const ROUNDS: usize = 8;

/// Tokens of two bytes are found by the ranks of their bytes, those of three by themselves, longer ones
/// by their first bytes.
const THREE: usize = 3;
const THREE_BITS: u32 = 16;
const PREFIX: usize = 4;
const PREFIX_BITS: u32 = 17;
/// In the lengths of tokens with a prefix: there are some without a key.
const FAR: u16 = 1;

/// How a token is made.
#[derive(Debug, Clone, Copy)]
struct Made {
    left: u32,
    right: u32,
    /// One more than its rank; 0: a single byte, or no token that merging leads to.
    order: u32,
    /// Whether merges with growing ranks have made it, of which none shares its class.
    in_order: bool,
}

const NOT_MADE: Made = Made { left: NONE, right: NONE, order: 0, in_order: true };

#[derive(Debug)]
pub struct Longest {
    /// By id.
    made: Vec<Made>,
    /// A bit for the hash of each token of three bytes.
    threes: Vec<u64>,
    /// By hash of the first bytes: bit n says that a token of n bytes begins so.
    lengths: Vec<u16>,
    long: LongTokens,
}

impl Longest {
    /// `merges`: those that can happen, in the order of their ranks in `pairs`. `symbols`: the bytes
    /// of each symbol; the first one with an id counts.
    pub fn new<'a>(
        merges: &[Merge],
        pairs: &PairTable,
        symbols: impl IntoIterator<Item = (&'a [u8], u32)>,
        known: &Known,
    ) -> Option<Self> {
        // Characters may have larger ids than what they merge to.
        let largest = |merge: &Merge| merge.left.max(merge.right).max(merge.product) as usize;
        let bound = merges.iter().map(largest).max()? + 1;
        // A table by id is as long as the list of merges, not as a giant id.
        if bound > merges.len() * 2 + (1 << 16) {
            return None;
        }
        let mut longest = Self {
            made: vec![NOT_MADE; bound],
            threes: vec![0; 1 << (THREE_BITS - 6)],
            lengths: vec![0; 1 << PREFIX_BITS],
            long: LongTokens::default(),
        };
        // The bytes of each token, one behind the other, and where they are.
        let (mut texts, mut places) = (Vec::new(), vec![(0u32, 0u32); bound]);
        for (text, id) in symbols {
            if let Some(place) = places.get_mut(id as usize).filter(|place| place.1 == 0) {
                *place = (texts.len() as u32, text.len() as u32);
                texts.extend_from_slice(text);
            }
        }
        let mut left_over: Vec<Merge> = merges.to_vec();
        let mut left_to_read = merges.len() * ROUNDS;
        while !left_over.is_empty() {
            left_to_read = left_to_read.checked_sub(left_over.len())?;
            let mut later = Vec::new();
            for merge in left_over {
                let Merge { left, right, product } = merge;
                let text_of =
                    |id: u32| places.get(id as usize).filter(|place| place.1 > 0).copied();
                let (Some(one), Some(other)) = (text_of(left), text_of(right)) else {
                    later.push(merge);
                    continue;
                };
                if text_of(product).is_some() {
                    return None;
                }
                let start = texts.len();
                for (at, len) in [one, other] {
                    texts.extend_from_within(at as usize..(at + len) as usize);
                }
                let text = texts.get(start..).filter(|text| text.len() <= LONGEST_TOKEN)?;
                *places.get_mut(product as usize)? = (start as u32, text.len() as u32);
                longest.enter(text, product, known)?;
                longest.make(merge, pairs)?;
            }
            left_over = later;
        }
        longest.long.settle()?;
        Some(longest)
    }

    /// Notes how a token is made, behind its parts.
    fn make(&mut self, merge: Merge, pairs: &PairTable) -> Option<()> {
        let Merge { left, right, product } = merge;
        let rank = pairs.rank(left, right);
        let order = rank.checked_add(1)?;
        let grows = |part: Made| part.in_order && part.order < order;
        let in_order = grows(self.made(left)) && grows(self.made(right)) && !pairs.is_tied(rank);
        *self.made.get_mut(product as usize)? = Made { left, right, order, in_order };
        (pairs.product(rank) == product).then_some(())
    }

    /// Makes a token findable.
    fn enter(&mut self, text: &[u8], id: u32, known: &Known) -> Option<()> {
        if text.len() <= MAX_KEY && text.len() >= THREE {
            (known.id(Key::new(text, 0, text.len()), text.len())? == id).then_some(())?;
        }
        match (text, text.first_chunk()) {
            (&[a, b, c], _) => {
                let (word, bit) = place_of_three([a, b, c]);
                *self.threes.get_mut(word)? |= bit;
            }
            (_, Some(prefix)) if text.len() <= MAX_KEY => {
                *self.lengths.get_mut(place_of(prefix))? |= 1 << text.len();
            }
            (_, Some(prefix)) => {
                *self.lengths.get_mut(place_of(prefix))? |= FAR;
                self.long.add(text, id);
            }
            _ => {}
        }
        Some(())
    }

    /// The longest token that `rest` begins with, that has fewer than `below` bytes and of which
    /// `may_follow` says that it may; and its length.
    #[inline(always)]
    pub fn following(
        &self,
        tables: Tables<'_>,
        rest: &[u8],
        below: usize,
        mut may_follow: impl FnMut(u32, usize) -> bool,
    ) -> Option<(u32, usize)> {
        let most = rest.len().min(below.saturating_sub(1));
        if let (Some(prefix), true) = (rest.first_chunk(), most >= PREFIX) {
            let mut lengths = self.lengths.get(place_of(prefix)).copied().unwrap_or_default();
            if lengths & FAR != 0 && most > MAX_KEY {
                let found = self.long.longest(rest, most, &mut may_follow);
                if found.is_some() {
                    return found;
                }
            }
            lengths &= (2u32 << most.min(MAX_KEY)).wrapping_sub(1) as u16 & !FAR;
            while lengths != 0 {
                let length = 15 - lengths.leading_zeros() as usize;
                lengths &= !(1 << length);
                if let Some(id) = self.token(tables.known, rest, length) {
                    if may_follow(id, length) {
                        return Some((id, length));
                    }
                }
            }
        }
        if let (Some(three), true) = (rest.first_chunk(), most >= THREE) {
            let (word, bit) = place_of_three(*three);
            if self.threes.get(word).is_some_and(|word| word & bit != 0) {
                if let Some(id) = self.token(tables.known, rest, THREE) {
                    if may_follow(id, THREE) {
                        return Some((id, THREE));
                    }
                }
            }
        }
        let byte = rest.first().copied()?;
        if let (Some(&following), true) = (rest.get(1), most >= 2) {
            let rank = tables.bytes.first_rank(byte, following);
            if rank != NONE && (tables.chars.is_none() || byte | following < 0x80) {
                let id = tables.pairs.product(rank);
                if may_follow(id, 2) {
                    return Some((id, 2));
                }
            }
        }
        let (id, length) = match tables.chars {
            Some((units, vocab)) if byte >= 0x80 => units.first(vocab, rest)?,
            _ => (tables.bytes.id(byte), 1),
        };
        (most >= length && may_follow(id, length)).then_some((id, length))
    }

    /// The token that is so many bytes of `text`. Some pieces are tokens that no merge leads to.
    #[inline(always)]
    fn token(&self, known: &Known, text: &[u8], length: usize) -> Option<u32> {
        let id = known.id(Key::new(text, 0, length), length)?;
        (self.made(id).order > 0).then_some(id)
    }

    /// Whether two tokens in a row stay what they are. Their last merges are undone one by one, the
    /// later one first: as long as neither was there, a merge of what touches would have come before.
    /// `None`: that cannot be said from ranks.
    #[inline(always)]
    pub fn apart(&self, pairs: &PairTable, mut left: u32, mut right: u32) -> Option<bool> {
        let mut before = NONE;
        let (mut one, mut other) = (self.made(left), self.made(right));
        if !(one.in_order && other.in_order) {
            return None;
        }
        loop {
            if pairs.rank(left, right) < before {
                return Some(false);
            }
            // Of equal ranks the left one comes first, and what touches comes before the right one.
            if one.order > other.order {
                (before, left) = (one.order - 1, one.right);
                one = self.made(left);
            } else if other.order > 0 {
                (before, right) = (other.order, other.left);
                other = self.made(right);
            } else {
                return Some(true);
            }
        }
    }

    /// The same by merging both, and how many bytes these are.
    #[inline(never)]
    pub fn merged(
        &self,
        pairs: &PairTable,
        merger: &mut Merger,
        parts: &mut Vec<u32>,
        left: u32,
        right: u32,
    ) -> (bool, usize) {
        merger.ids.clear();
        parts.clear();
        parts.extend([right, left]);
        while let Some(id) = parts.pop() {
            match self.made(id) {
                Made { order: 0, .. } => merger.ids.push(id),
                Made { left, right, .. } => parts.extend([right, left]),
            }
        }
        let count = merger.ids.len();
        merger.run(pairs);
        (merger.ids == [left, right], count)
    }

    #[cfg(test)]
    pub fn all_in_order(&self) -> bool {
        self.made.iter().all(|made| made.in_order)
    }

    #[inline(always)]
    fn made(&self, id: u32) -> Made {
        self.made.get(id as usize).copied().unwrap_or(NOT_MADE)
    }
}

#[inline(always)]
fn hash(prefix: [u8; PREFIX], bits: u32) -> usize {
    (u32::from_le_bytes(prefix).wrapping_mul(0x9E37_79B1) >> (u32::BITS - bits)) as usize
}

#[inline(always)]
fn place_of(&prefix: &[u8; PREFIX]) -> usize {
    hash(prefix, PREFIX_BITS)
}

/// A word, and the bit in it.
#[inline(always)]
fn place_of_three([a, b, c]: [u8; THREE]) -> (usize, u64) {
    let place = hash([a, b, c, 0], THREE_BITS);
    (place / 64, 1 << (place % 64))
}
