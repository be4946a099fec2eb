//! Merging the symbols of one piece, in the order that the reference would.
//!
//! Short pieces live in arrays on the stack, indexed through a mask that is also the proof that no
//! index is out of bounds; the smallest rank is found by looking at all of them. Long pieces
//! use a [`MergeQueue`] and cost time in proportion to their length.

use super::pairs::{PairTable, NONE};
use super::queue::MergeQueue;
use super::symbols::Symbol;
use crate::simd::lane16::lowest;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pieces of up to this many symbols take the short way.
pub const SHORT: usize = 63;

/// Ranks have to fit beside the number of a lane; longer lists of merges go the long way.
const LANE_BITS: u32 = 6;
const SHORT_RANKS: usize = (NONE >> LANE_BITS) as usize;

/// Working memory, kept from piece to piece.
#[derive(Debug, Default)]
pub struct Merger {
    /// The symbols: filled by the caller, replaced by the result.
    pub ids: Vec<u32>,
    /// For each id of the result, the index of the first of the symbols that went into it.
    pub firsts: Vec<u32>,
    /// The rank of the merge that was applied last; [`NONE`] where nothing merged.
    pub last_rank: u32,
    ranks: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    queue: MergeQueue,
    positions: Vec<u32>,
    /// The class whose positions are being merged: a rank, where each merge has a class of its own.
    current: u32,
    /// What came up with a class that is not behind the current one.
    late: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Merger {
    /// Merges `self.ids` to the end.
    pub fn run(&mut self, pairs: &PairTable) {
        let count = self.ids.len();
        self.firsts.clear();
        if count > SHORT || !ranks_fit(pairs) {
            return self.run_long(pairs);
        }
        let symbols = self.ids.iter().copied();
        let mut short = Short::<64>::new(symbols, |left, right, _| pairs.rank(left, right));
        // Merges of one class are in the order of their ranks here, not of their places.
        let Some(last) = short.merge_while(pairs, |rank| !pairs.is_tied(rank)) else {
            return self.run_long(pairs);
        };
        self.last_rank = last;
        self.ids.clear();
        let (ids, firsts) = (&mut self.ids, &mut self.firsts);
        short.for_each(|id, first| {
            ids.push(id);
            firsts.push(first);
        });
    }

    fn run_long(&mut self, pairs: &PairTable) {
        let count = self.ids.len();
        self.last_rank = NONE;
        self.late.clear();
        let end = count as u32;
        self.next.clear();
        self.next.extend(1..=end);
        self.previous.clear();
        // The first symbol has no predecessor; wrapping makes its index one that no `get` finds.
        self.previous.extend((0..end).map(|n| n.wrapping_sub(1)));
        self.queue.reset(pairs.bound());
        self.ranks.clear();
        for (position, pair) in (0u32..).zip(self.ids.windows(2)) {
            let [left, right] = pair else { continue };
            let rank = pairs.rank(*left, *right);
            self.ranks.push(rank);
            if rank != NONE {
                self.queue.push(pairs.class(rank), position);
            }
        }
        self.ranks.push(NONE);

        let mut positions = std::mem::take(&mut self.positions);
        while let Some(class) = self.queue.pop(&mut positions) {
            self.current = class;
            for &position in &positions {
                self.merge_late(pairs, (class, position));
                self.merge_at(pairs, class, position);
            }
            self.merge_late(pairs, (class, NONE));
        }
        self.positions = positions;
        self.collect();
    }

    /// Applies the merges that came up late and belong in front of `next`. There are none where
    /// every merge is listed behind those that make its parts, as training lists them; but some
    /// files have a few that are not.
    #[inline]
    fn merge_late(&mut self, pairs: &PairTable, next: (u32, u32)) {
        while self.late.peek().is_some_and(|first| first.0 < next) {
            if let Some(Reverse((class, position))) = self.late.pop() {
                self.merge_at(pairs, class, position);
            }
        }
    }

    #[inline]
    fn push(&mut self, class: u32, position: u32) {
        if class > self.current {
            self.queue.push(class, position);
        } else {
            self.late.push(Reverse((class, position)));
        }
    }

    /// Applies the merge of `class` at `position`, unless the pair there has changed since.
    fn merge_at(&mut self, pairs: &PairTable, class: u32, position: u32) {
        let at = position as usize;
        let rank = self.ranks.get(at).copied().unwrap_or(NONE);
        if rank == NONE || pairs.class(rank) != class {
            return;
        }
        let Some(&right) = self.next.get(at) else { return };
        let Some(&after) = self.next.get(right as usize) else { return };
        let product = pairs.product(rank);
        self.last_rank = rank;
        set(&mut self.ids, at, product);
        set(&mut self.next, at, after);
        set(&mut self.ranks, right as usize, NONE);
        set(&mut self.previous, after as usize, position);
        let forward = match self.ids.get(after as usize) {
            Some(&following) => pairs.rank(product, following),
            None => NONE,
        };
        set(&mut self.ranks, at, forward);
        let before = self.previous.get(at).copied().unwrap_or(NONE);
        if let Some(&preceding) = self.ids.get(before as usize) {
            let backward = pairs.rank(preceding, product);
            set(&mut self.ranks, before as usize, backward);
            if backward != NONE {
                self.push(pairs.class(backward), before);
            }
        }
        if forward != NONE {
            self.push(pairs.class(forward), position);
        }
    }

    /// Moves the surviving symbols to the front.
    fn collect(&mut self) {
        let mut kept = 0;
        let mut at = 0u32;
        while let Some(&id) = self.ids.get(at as usize) {
            set(&mut self.ids, kept, id);
            self.firsts.push(at);
            kept += 1;
            at = self.next.get(at as usize).copied().unwrap_or(NONE);
        }
        self.ids.truncate(kept);
    }
}

/// Whether [`Short`] can serve a table.
#[inline]
pub fn fits_short(pairs: &PairTable) -> bool {
    ranks_fit(pairs) && !pairs.has_ties()
}

#[inline]
fn ranks_fit(pairs: &PairTable) -> bool {
    pairs.bound() <= SHORT_RANKS
}

/// Orders by rank, and pairs of equal rank from left to right.
#[inline(always)]
pub fn in_order(rank: u32, lane: usize) -> u32 {
    rank << LANE_BITS | lane as u32
}

/// `None` where no pair merges.
#[inline(always)]
pub fn rank_of(order: u32) -> Option<u32> {
    let rank = order >> LANE_BITS;
    (rank != NONE >> LANE_BITS).then_some(rank)
}

#[inline(always)]
pub fn lane_of(order: u32) -> usize {
    (order & ((1 << LANE_BITS) - 1)) as usize
}

#[inline]
fn set(values: &mut [u32], at: usize, value: u32) {
    if let Some(place) = values.get_mut(at) {
        *place = value;
    }
}

/// Appends the ids of some symbols; answers the rank of the last merge.
#[inline(always)]
pub fn merge_symbols(
    pairs: &PairTable,
    merger: &mut Merger,
    symbols: &[Symbol],
    out: &mut Vec<u32>,
) -> u32 {
    match symbols.len() {
        0..16 if fits_short(pairs) => merge_short::<16>(pairs, symbols, out),
        16..32 if fits_short(pairs) => merge_short::<32>(pairs, symbols, out),
        _ => {
            merger.ids.clear();
            merger.ids.extend(symbols.iter().map(|symbol| symbol.id));
            merger.run(pairs);
            out.extend_from_slice(&merger.ids);
            merger.last_rank
        }
    }
}

/// Symbols of a part that is as short as most of them.
#[inline(always)]
fn merge_short<const LANES: usize>(
    pairs: &PairTable,
    symbols: &[Symbol],
    out: &mut Vec<u32>,
) -> u32 {
    let ids = symbols.iter().map(|symbol| symbol.id);
    let mut short = Short::<LANES>::new(ids, |left, right, _| pairs.rank(left, right));
    let last = short.merge(pairs);
    short.for_each(|id, _| out.push(id));
    last
}

/// What a merge has changed: a new symbol, its neighbours ([`NONE`] where the piece ends), and the
/// lanes in which it and the one before it are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Change {
    pub rank: u32,
    pub before: u32,
    pub id: u32,
    pub after: u32,
    before_at: u8,
    at: u8,
}

/// A piece of fewer than `LANES` symbols, of which there is a power of two: a linked list in
/// arrays. The last lane means "no neighbour", and its id and rank are always [`NONE`].
#[derive(Debug)]
pub struct Short<const LANES: usize> {
    ids: [u32; LANES],
    /// Ranks with the lane behind them: the lowest says both, and equal ranks go from left to right.
    order: [u32; LANES],
    next: [u8; LANES],
    previous: [u8; LANES],
    count: usize,
}

impl<const LANES: usize> Short<LANES> {
    const MASK: usize = LANES - 1;
    const END: usize = LANES - 1;

    /// `first_rank(left id, right id, index of left)` ranks the pairs of the first round.
    #[inline(always)]
    pub fn new(
        symbols: impl Iterator<Item = u32>,
        first_rank: impl Fn(u32, u32, usize) -> u32,
    ) -> Self {
        let mut short = Self {
            ids: [NONE; LANES],
            order: [NONE; LANES],
            next: [Self::END as u8; LANES],
            previous: [Self::END as u8; LANES],
            count: 0,
        };
        for (at, id) in symbols.take(Self::END).enumerate() {
            short.ids[at & Self::MASK] = id;
            short.count = at + 1;
            if at > 0 {
                let before = (at - 1) & Self::MASK;
                short.next[before] = at as u8;
                short.previous[at & Self::MASK] = before as u8;
                short.order[before] = in_order(first_rank(short.ids[before], id, before), before);
            }
        }
        short
    }

    /// Merges to the end; answers the rank of the last merge.
    #[inline(always)]
    pub fn merge(&mut self, pairs: &PairTable) -> u32 {
        self.merge_while(pairs, |_| true).unwrap_or(NONE)
    }

    /// The same, unless a merge is not `served`: then this is no answer.
    #[inline(always)]
    fn merge_while(&mut self, pairs: &PairTable, served: impl Fn(u32) -> bool) -> Option<u32> {
        let mut last = NONE;
        while let Some(change) = self.step(pairs) {
            last = change.rank;
            if !served(last) {
                return None;
            }
            let Change { before, id, after, .. } = change;
            // The last lane has an id that nothing merges with; not asking is faster.
            let forward = if after == NONE { NONE } else { pairs.rank(id, after) };
            let backward = if before == NONE { NONE } else { pairs.rank(before, id) };
            self.set_ranks(change, backward, forward);
        }
        Some(last)
    }

    /// Applies the next merge. Before the one after it, [`Self::set_ranks`] has to say what the new
    /// symbol and its neighbours are to each other.
    #[inline(always)]
    pub fn step(&mut self, pairs: &PairTable) -> Option<Change> {
        let lowest = lowest(&self.order);
        let (best, at) = (rank_of(lowest)?, lane_of(lowest) & Self::MASK);
        let product = pairs.product(best);
        let right = self.next[at] as usize & Self::MASK;
        let after = self.next[right] as usize & Self::MASK;
        let before = self.previous[at] as usize & Self::MASK;
        self.ids[at] = product;
        self.next[at] = after as u8;
        self.previous[after] = at as u8;
        self.order[right] = NONE;
        Some(Change {
            rank: best,
            before: self.ids[before],
            id: product,
            after: self.ids[after],
            before_at: before as u8,
            at: at as u8,
        })
    }

    #[inline(always)]
    pub fn set_ranks(&mut self, change: Change, backward: u32, forward: u32) {
        let (before, at) = (usize::from(change.before_at), usize::from(change.at));
        self.order[before & Self::MASK] = in_order(backward, before);
        self.order[at & Self::MASK] = in_order(forward, at);
    }

    /// Calls `each(id, index of the first symbol)` for the symbols that are left.
    #[inline(always)]
    pub fn for_each(&self, mut each: impl FnMut(u32, u32)) {
        if self.count == 0 {
            return;
        }
        let mut at = 0;
        while at != Self::END {
            each(self.ids[at], at as u32);
            at = self.next[at] as usize & Self::MASK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Merge;
    use crate::oracle::bpe::merge_slowly;
    use crate::oracle::random::Random;

    /// A list of merges over a small alphabet; `trained` keeps every merge behind its parts.
    fn random_merges(random: &mut Random, trained: bool) -> Vec<Merge> {
        let mut merges: Vec<Merge> = Vec::new();
        for product in 4..random.below(30) as u32 + 5 {
            let mut known = || random.below(product as usize) as u32;
            merges.push(Merge { left: known(), right: known(), product });
        }
        if !trained {
            for n in (1..merges.len()).rev() {
                merges.swap(n, random.below(n + 1));
            }
        }
        merges
    }

    /// A list whose merges of few letters come in the wrong order: every merge makes an earlier one
    /// possible, as gemma3's runs of spaces do.
    #[test]
    fn a_list_out_of_order_costs_no_more_than_its_length() {
        let merges: Vec<Merge> =
            (0..12).rev().map(|n| Merge { left: n, right: n, product: n + 1 }).collect();
        let pairs = PairTable::new(&merges);
        let mut merger = Merger { ids: vec![0; 1 << 18], ..Merger::default() };
        merger.run(&pairs);
        assert_eq!(merger.ids, [12; 1 << 6]);
        // Each symbol is queued a few times, however often the order is broken.
        assert!(merger.queue.pushed() < 1 << 20);
    }

    #[test]
    fn both_ways_equal_the_slow_one() {
        let mut random = Random::new(7);
        let mut merger = Merger::default();
        for round in 0..4000 {
            let merges = random_merges(&mut random, round % 2 == 0);
            let pairs = PairTable::new(&merges);
            let length = random.below(if round % 3 == 0 { 200 } else { 40 });
            let symbols: Vec<u32> = (0..length).map(|_| random.below(4) as u32).collect();
            let expected = merge_slowly(&symbols, &merges);
            merger.ids = symbols.clone();
            merger.run(&pairs);
            let got: Vec<(u32, u32)> =
                merger.ids.iter().copied().zip(merger.firsts.iter().copied()).collect();
            assert_eq!(got, expected, "{symbols:?} {merges:?}");
            // The long way must serve short pieces just as well.
            merger.ids = symbols.clone();
            merger.firsts.clear();
            merger.run_long(&pairs);
            assert_eq!(merger.ids, expected.iter().map(|e| e.0).collect::<Vec<_>>());
        }
    }
}
