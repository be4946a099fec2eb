//! The merges as a table: two neighbours in, the rank of their merge out.
//!
//! A lookup that misses is the commonest operation of the whole engine after a cache miss, so a
//! slot is one u64 that holds both ids and the rank, and most misses end at the first two slots.
//! Ids of 20 bits and ranks of 23 fit every vocabulary seen (gemma3 needs 18 bits and a bit more);
//! larger ones get slots twice as wide. In front stands a filter of two bits a pair, small enough
//! for a near cache: most pairs of neighbours do not merge, and it says so of nearly all of them.
//!
//! Where the merges are listed in the order of the ids that they make, as training leaves them, the
//! product itself takes the place of its rank: it orders the merges just as well, and asking what a
//! merge makes costs nothing.

use crate::definition::Merge;

/// "These two do not merge."
pub const NONE: u32 = u32::MAX;

const ID_BITS: u32 = 20;
/// Ids of packed slots are below: so a pair with [`NONE`] is no pair of a slot, and not "empty".
pub const PACKED_IDS: u32 = (1 << ID_BITS) - (1 << 12);
const LOW_BITS: u32 = 64 - 2 * ID_BITS;
const RANK_BITS: u32 = LOW_BITS - 1;
const RANK: u64 = (1 << RANK_BITS) - 1;
/// In the first slot of a bucket: other pairs of this bucket are in the next one.
const GOES_ON: u64 = 1 << RANK_BITS;
const EMPTY: u64 = !GOES_ON;
const WIDE_EMPTY: u64 = u64::MAX;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Debug)]
pub struct PairTable {
    filter: Vec<u64>,
    filter_shift: u32,
    slots: Slots,
    /// What each merge makes, by rank. Empty where ranks are products.
    products: Vec<u32>,
    bound: u32,
    /// By rank, ascending. Empty where each merge is a class of its own.
    classes: Vec<u32>,
}

#[derive(Debug)]
enum Slots {
    Packed { buckets: Vec<Bucket>, shift: u32 },
    Wide { slots: Vec<(u64, u32)>, shift: u32 },
}

/// Two slots that are looked at together: which of them has a pair, if any, is found without a
/// branch, which would be guessed wrong every third time.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
struct Bucket([u64; 2]);

impl Bucket {
    const NONE: Self = Self([EMPTY; 2]);

    /// The rank of the pair of this key, or [`NONE`], and whether it may be in the next bucket.
    #[inline(always)]
    fn find(self, key: u64) -> (u32, bool) {
        let Self([first, second]) = self;
        let difference = ((first ^ key) & !GOES_ON).min(second ^ key);
        let rank = if difference <= RANK { difference as u32 } else { NONE };
        (rank, first & GOES_ON != 0)
    }

    /// Puts a pair here, if there is room for it or it is here already; else it belongs into the
    /// next bucket.
    fn put(&mut self, key: u64, rank: u32) -> bool {
        let is_free =
            |slot: &&mut u64| **slot | GOES_ON == u64::MAX || (**slot ^ key) >> LOW_BITS == 0;
        let Self(slots) = self;
        match slots.iter_mut().find(is_free) {
            Some(slot) => *slot = key | u64::from(rank) | *slot & GOES_ON,
            None => {
                slots[0] |= GOES_ON;
                return false;
            }
        }
        true
    }
}

/// The rank of a pair, or [`NONE`], searched from a bucket on.
#[inline(always)]
fn find_from(buckets: &[Bucket], mut at: usize, key: u64) -> u32 {
    while let Some(bucket) = buckets.get(at) {
        let (rank, goes_on) = bucket.find(key);
        if rank != NONE || !goes_on {
            return rank;
        }
        at = (at + 1) & buckets.len().wrapping_sub(1);
    }
    NONE
}

impl PairTable {
    pub fn new(merges: &[Merge]) -> Self {
        let in_order = merges.windows(2).all(|w| matches!(w, [a, b] if a.product < b.product));
        // Tables by rank should be as long as the list of merges, not as a giant id.
        let last = merges.last().map_or(0, |merge| merge.product as usize);
        let is_dense = last <= merges.len().saturating_mul(2).saturating_add(1 << 16);
        Self::with(merges, Self::packs(merges), in_order && is_dense)
    }

    /// A table whose ranks are places in `merges`, whatever their order.
    pub fn ranked(merges: &[Merge]) -> Self {
        Self::with(merges, Self::packs(merges), false)
    }

    /// A table of merges in the order of their classes. Merges of one class go from left to right in
    /// the text, whichever they are.
    pub fn classed(merges: &[Merge], classes: &[u32]) -> Self {
        let mut table = Self::ranked(merges);
        if have_ties(classes) {
            // Numbered anew, without gaps: a class is never larger than a rank.
            for (number, class) in (0..).zip(classes.chunk_by(|a, b| a == b)) {
                table.classes.extend(class.iter().map(|_| number));
            }
        }
        table
    }

    /// Whether all ids and ranks fit a packed slot; the all-ones pattern stays free for "empty".
    fn packs(merges: &[Merge]) -> bool {
        let widest = merges.iter().map(|m| m.left.max(m.right)).max().unwrap_or(0);
        let product = merges.iter().map(|m| m.product).max().unwrap_or(0);
        let ranks = merges.len().max(product as usize);
        widest.max(product) < PACKED_IDS && ranks < (1 << RANK_BITS) - 1
    }

    fn with(merges: &[Merge], packed: bool, product_is_rank: bool) -> Self {
        let bits = (merges.len() * 2).next_power_of_two().trailing_zeros().max(6);
        let (size, shift) = (1usize << bits, 64 - bits);
        // Eight bits of filter a pair.
        let filter_shift = 64 - (bits + 2 - 6);
        let mut filter = vec![0u64; 1 << (64 - filter_shift)];
        let rank_of =
            |place: u32, merge: &Merge| if product_is_rank { merge.product } else { place };
        for merge in merges {
            let (word, mask) = filter_place(pair_hash(merge.left, merge.right), filter_shift);
            if let Some(word) = filter.get_mut(word) {
                *word |= mask;
            }
        }
        // A pair that is listed twice keeps its last rank, as in the reference's map.
        let slots = if packed {
            let (mut buckets, shift) = (vec![Bucket::NONE; size / 2], shift + 1);
            for (place, merge) in (0u32..).zip(merges) {
                let key = packed_key(merge.left, merge.right);
                let mut at = home(pair_hash(merge.left, merge.right), shift);
                while buckets.get_mut(at).is_some_and(|b| !b.put(key, rank_of(place, merge))) {
                    at = (at + 1) & (size / 2 - 1);
                }
            }
            Slots::Packed { buckets, shift }
        } else {
            let mut slots = vec![(WIDE_EMPTY, NONE); size];
            for (place, merge) in (0u32..).zip(merges) {
                let key = wide_key(merge.left, merge.right);
                let mut at = home(pair_hash(merge.left, merge.right), shift);
                while slots.get(at).is_some_and(|s| s.0 != WIDE_EMPTY && s.0 != key) {
                    at = (at + 1) & (size - 1);
                }
                if let Some(slot) = slots.get_mut(at) {
                    *slot = (key, rank_of(place, merge));
                }
            }
            Slots::Wide { slots, shift }
        };
        let (products, bound) = if product_is_rank {
            (Vec::new(), merges.last().map_or(0, |merge| merge.product + 1))
        } else {
            (merges.iter().map(|merge| merge.product).collect(), merges.len() as u32)
        };
        Self { filter, filter_shift, slots, products, bound, classes: Vec::new() }
    }

    /// The rank at which `left` and `right` merge, or [`NONE`].
    #[inline(always)]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        let hash = pair_hash(left, right);
        let (word, mask) = filter_place(hash, self.filter_shift);
        match self.filter.get(word) {
            Some(word) if word & mask == mask => self.find(left, right, hash),
            _ => NONE,
        }
    }

    #[inline(always)]
    fn find(&self, left: u32, right: u32, hash: u64) -> u32 {
        match &self.slots {
            Slots::Packed { buckets, shift } => {
                find_from(buckets, home(hash, *shift), packed_key(left, right))
            }
            Slots::Wide { slots, shift } => find_wide(slots, *shift, left, right),
        }
    }

    /// What the merge of this rank makes.
    #[inline]
    pub fn product(&self, rank: u32) -> u32 {
        if self.products.is_empty() {
            return rank;
        }
        self.products.get(rank as usize).copied().unwrap_or(NONE)
    }

    /// What orders merges: those of one class go from left to right.
    #[inline(always)]
    pub fn class(&self, rank: u32) -> u32 {
        self.classes.get(rank as usize).copied().unwrap_or(rank)
    }

    /// Whether merges share a class.
    #[inline(always)]
    pub fn has_ties(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Whether the merge of this rank shares its class.
    #[inline]
    pub fn is_tied(&self, rank: u32) -> bool {
        let class = |rank: u32| self.classes.get(rank as usize).copied();
        let own = class(rank);
        own.is_some() && (own == class(rank.wrapping_add(1)) || own == class(rank.wrapping_sub(1)))
    }

    /// One more than the largest rank.
    pub fn bound(&self) -> usize {
        self.bound as usize
    }
}

/// Whether some of these ascending classes are one.
pub fn have_ties(classes: &[u32]) -> bool {
    classes.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

/// A question to a table: the pair, and the slot where the search begins.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub key: u64,
    pub home: u32,
}

/// A table whose slots are packed, for asking first and looking at the answer later. Without the
/// filter: where waiting is shared among many, another load in front of the one that decides only
/// makes the wait longer.
#[derive(Clone, Copy)]
pub struct Packed<'a> {
    buckets: &'a [Bucket],
    shift: u32,
    products: &'a [u32],
}

impl PairTable {
    #[inline]
    pub fn packed(&self) -> Option<Packed<'_>> {
        match &self.slots {
            Slots::Packed { buckets, shift } => {
                Some(Packed { buckets, shift: *shift, products: &self.products })
            }
            Slots::Wide { .. } => None,
        }
    }
}

impl Packed<'_> {
    /// Either id may be [`NONE`], which merges with nothing.
    #[inline(always)]
    pub fn ask(self, left: u32, right: u32) -> Asked {
        let home = home(pair_hash(left, right), self.shift) as u32;
        // At the ends of a piece there is nothing to wait for: one bucket, always near, serves.
        let home = home & u32::from(left.max(right) != NONE).wrapping_neg();
        Asked { key: packed_key(left, right), home }
    }

    /// Some bits of the answer: reading them brings it into a near cache.
    #[inline(always)]
    pub fn touch(self, home: u32) -> u64 {
        self.buckets.get(home as usize).map_or(0, |Bucket([first, _])| *first)
    }

    /// The rank at which the pair merges, or [`NONE`].
    #[inline(always)]
    pub fn answer(self, asked: Asked) -> u32 {
        let bucket = self.buckets.get(asked.home as usize).copied().unwrap_or(Bucket::NONE);
        let (rank, goes_on) = bucket.find(asked.key);
        // One branch, nearly always the same way.
        if goes_on & (rank == NONE) {
            let next = (asked.home as usize + 1) & self.buckets.len().wrapping_sub(1);
            return find_from(self.buckets, next, asked.key);
        }
        rank
    }

    #[inline(always)]
    pub fn product(self, rank: u32) -> u32 {
        if self.products.is_empty() {
            return rank;
        }
        self.products.get(rank as usize).copied().unwrap_or(NONE)
    }
}

/// Out of the way of what nearly all files need.
#[cold]
#[inline(never)]
fn find_wide(slots: &[(u64, u32)], shift: u32, left: u32, right: u32) -> u32 {
    let key = wide_key(left, right);
    let mask = slots.len().wrapping_sub(1);
    let mut at = home(pair_hash(left, right), shift);
    while let Some(&(slot, rank)) = slots.get(at) {
        if slot == key {
            return rank;
        }
        if slot == WIDE_EMPTY {
            break;
        }
        at = (at + 1) & mask;
    }
    NONE
}

#[inline]
fn pair_hash(left: u32, right: u32) -> u64 {
    wide_key(left, right).wrapping_mul(MULTIPLIER)
}

/// A word of the filter and two bits in it.
#[inline]
fn filter_place(hash: u64, shift: u32) -> (usize, u64) {
    ((hash >> shift) as usize, 1 << (hash >> 26 & 63) | 1 << (hash >> 20 & 63))
}

/// Where the search for a pair begins.
#[inline]
fn home(hash: u64, shift: u32) -> usize {
    (hash >> shift) as usize
}

#[inline]
fn packed_key(left: u32, right: u32) -> u64 {
    u64::from(left) << (ID_BITS + LOW_BITS) | u64::from(right) << LOW_BITS
}

#[inline]
fn wide_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn merges(scale: u32) -> Vec<Merge> {
        (0..4000u32)
            .map(|n| Merge { left: n * 7 % 1009 * scale, right: n * 13 % 997 * scale, product: n })
            .collect()
    }

    #[test]
    fn both_widths_answer_like_a_map() {
        for scale in [1, 700] {
            let merges = merges(scale);
            let mut oracle = HashMap::new();
            for (rank, merge) in (0u32..).zip(&merges) {
                oracle.insert((merge.left, merge.right), rank);
            }
            for packed in [true, false] {
                let table = PairTable::with(&merges, packed, false);
                for left in 0..300 {
                    for right in 0..300 {
                        let pair = (left * scale, right * scale);
                        let expected = oracle.get(&pair).copied().unwrap_or(NONE);
                        assert_eq!(table.rank(pair.0, pair.1), expected, "{pair:?} {packed}");
                    }
                }
            }
        }
    }

    #[test]
    fn ids_beyond_twenty_bits_choose_the_wide_table() {
        let wide = [Merge { left: 1 << 20, right: 3, product: 9 }];
        assert!(!PairTable::packs(&wide));
        let table = PairTable::new(&wide);
        assert_eq!(table.product(table.rank(1 << 20, 3)), 9);
        assert_eq!(table.rank(0, 3), NONE);
    }

    #[test]
    fn products_in_order_are_their_own_ranks() {
        let merge = |left, right, product| Merge { left, right, product };
        let ordered = [merge(0, 1, 7), merge(7, 1, 9)];
        let table = PairTable::new(&ordered);
        assert_eq!((table.rank(0, 1), table.rank(7, 1), table.bound()), (7, 9, 10));
        assert_eq!(table.product(7), 7);
        let giant = PairTable::new(&[merge(0, 1, 7), merge(7, 1, 1 << 20)]);
        assert_eq!((giant.product(giant.rank(7, 1)), giant.bound()), (1 << 20, 2));
        let table = PairTable::new(&[ordered[1], ordered[0]]);
        assert_eq!((table.rank(0, 1), table.product(1), table.bound()), (1, 7, 2));
    }

    #[test]
    fn an_empty_list_merges_nothing() {
        let table = PairTable::new(&[]);
        assert_eq!(table.rank(0, 0), NONE);
        assert_eq!(table.bound(), 0);
    }
}
