//! Pieces that wait to be looked up together.
//!
//! Looking up one piece is a load from a large table, which mostly comes from a far cache, and
//! WebAssembly has no prefetch instruction. So pieces are queued first, with what they are looked up
//! by. Then a loop touches the lines of all of them: it is so short that a processor has many lines on
//! their way at the same time. Only then is anything compared.
//!
//! A line is touched by a store of a byte that has this value already. A load would do, too, but a
//! processor finishes instructions in their order, so those behind a load wait for it; it finishes a
//! store before the line is there. Loads are used in two cases: for the first pieces of an instance,
//! since the first store to a page makes a copy of the page; and for small batches, which would be
//! compared before the stores are done.

use super::key::{Key, MAX_KEY, REACH};
use super::pieces::{slot, PieceCache, Table, SHORT_IDS};
use super::records::Records;
use crate::simd::lane16::Wide;
use crate::split::scan::WINDOW;

/// How many pieces fit.
pub const SIZE: usize = 2048;
const MASK: usize = SIZE - 1;
const UNROLLED: usize = 8;
/// This number of pieces of an instance are touched by loads before stores are used.
const FIRST_PIECES: usize = 1 << 13;
/// A batch of fewer pieces is touched by loads.
const ENOUGH_FOR_STORES: usize = 256;
/// Room for ids: at least [`SHORT_IDS`] for each piece; what is left is for records. A power of two.
const IDS: usize = 4 * SIZE;
const _: () = assert!(IDS > SHORT_IDS * SIZE && IDS.is_power_of_two());

/// Up to this many ids are copied without a call, [`IDS_TOGETHER`] in each round of a loop.
const FEW: usize = 64;
const IDS_TOGETHER: usize = 16;

/// What [`Batch::push_window`] looks at: a window, and what follows the last start in it.
pub const VIEW: usize = WINDOW + REACH;

#[derive(Debug)]
pub struct Batch {
    keys: [Key; SIZE],
    /// Where each piece starts (the lower half) and its slot in the cache: one store instead of two.
    places: [u64; SIZE],
    /// Where the pieces end whose keys do not say how long they are.
    ends: [u32; SIZE],
    queued: usize,
    /// The ids of the pieces that the cache knows, one behind the other. A store of fixed width is
    /// one instruction, while growing a `Vec` by one to three ids each time is a call. A store
    /// writes four lanes, of which at most three are ids; there is room for it behind any place.
    ids: [u32; IDS + IDS_TOGETHER],
    filled: usize,
    /// Where the others are.
    misses: [Miss; SIZE],
    missed: usize,
    /// How many pieces were touched by loads since the instance began.
    touched_by_loads: usize,
    /// Never read; without it the touching would be optimised away.
    touched: Wide,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            keys: [Key::default(); SIZE],
            places: [0; SIZE],
            ends: [0; SIZE],
            queued: 0,
            ids: [0; IDS + IDS_TOGETHER],
            filled: 0,
            misses: [Miss::default(); SIZE],
            missed: 0,
            touched_by_loads: 0,
            touched: Wide::default(),
        }
    }
}

/// A piece that the cache did not know at once, and how many ids come before those of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Miss(u32);

impl Miss {
    #[inline(always)]
    fn new(at: usize, filled: usize) -> Self {
        Self(at as u32 | (filled as u32) << 16)
    }

    #[inline(always)]
    pub fn at(self) -> usize {
        self.0 as usize & MASK
    }

    #[inline(always)]
    pub fn filled(self) -> usize {
        self.0 as usize >> 16
    }
}

#[inline(always)]
fn slot_of(place: u64) -> u32 {
    (place >> 32) as u32
}

impl Batch {
    /// This many pieces can be added while [`Self::is_full`] is false.
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
        self.write(self.queued, key, start, end);
        self.queued += 1;
    }

    /// Adds a token that stands in the text as itself.
    pub fn push_token(&mut self, id: u32) {
        self.push(Key::of_token(id), 0, 0);
    }

    #[inline(always)]
    fn write(&mut self, at: usize, key: Key, start: usize, end: usize) {
        let at = at & MASK;
        self.keys[at] = key;
        self.places[at] = start as u64 | u64::from(slot(key)) << 32;
        if end - start > MAX_KEY {
            self.ends[at] = end as u32;
        }
    }

    /// Adds the pieces that start in the window at the start of `view`, which is at `base` of the
    /// text: one begins there, the others at the bits of `starts`. Answers where the last one
    /// starts, which is not added.
    ///
    /// A function of its own: its loop has few values to keep, and compilers of WebAssembly find a
    /// register for each of them only where nothing else is about.
    #[inline(never)]
    pub fn push_window(&mut self, view: &[u8; VIEW], starts: u64, base: usize) -> usize {
        let (mut rest, mut from, mut at) = (starts & !1, 0, self.queued);
        let mut next = |rest: u64| {
            let to = rest.trailing_zeros() as usize;
            if let Some(reach) = view.get(from & (WINDOW - 1)..).and_then(<[u8]>::first_chunk) {
                let key = match to - from {
                    length @ ..=MAX_KEY => Key::of_window(reach, length),
                    _ => Key::of_long(view.get(from..to).unwrap_or_default()),
                };
                self.write(at, key, base + from, base + to);
            }
            at += 1;
            from = to;
            rest & rest.wrapping_sub(1)
        };
        // Two in a round: some hosts check in each round whether the call has to end.
        while rest != 0 {
            rest = next(rest);
            if rest == 0 {
                break;
            }
            rest = next(rest);
        }
        self.queued = at;
        base + from
    }

    /// Asks the cache for all of them.
    pub fn look_up(&mut self, cache: &mut PieceCache, text: &[u8]) {
        (self.filled, self.missed) = (0, 0);
        match cache.parts() {
            Some((mut table, records)) => {
                if self.touched_by_loads >= FIRST_PIECES && self.count() >= ENOUGH_FOR_STORES {
                    self.touch_by_stores(&mut table);
                } else {
                    self.touched_by_loads = self.touched_by_loads.saturating_add(self.count());
                    self.touch_by_loads(&table);
                }
                self.compare(table, records, text);
            }
            None => {
                self.missed = self.count();
                self.misses = std::array::from_fn(|at| Miss::new(at, 0));
            }
        }
    }

    /// The places of all pieces, eight together. Some of the last eight may be of an earlier batch: touching
    /// them does no harm.
    #[inline(always)]
    fn eights(&self) -> impl Iterator<Item = &[u64]> {
        self.places.chunks_exact(UNROLLED).take(self.count().div_ceil(UNROLLED))
    }

    #[inline(never)]
    fn touch_by_stores(&self, table: &mut Table<'_>) {
        for places in self.eights() {
            for &place in places {
                table.touch_by_store(slot_of(place));
            }
        }
    }

    #[inline(never)]
    fn touch_by_loads(&mut self, table: &Table<'_>) {
        let mut touched = Wide::default();
        for places in self.eights() {
            for &place in places {
                touched = touched.xor(table.touch_by_load(slot_of(place)));
            }
        }
        self.touched = touched;
    }

    fn compare(&mut self, mut table: Table<'_>, records: &Records, text: &[u8]) {
        let mut at = self.copy_known(&table, 0);
        while at < self.count() {
            let count = self.look_further(&mut table, records, text, at);
            if count == 0 {
                self.misses[self.missed & MASK] = Miss::new(at, self.filled);
                self.missed += 1;
            }
            self.filled += count;
            at = self.copy_known(&table, at + 1);
        }
    }

    /// Copies the ids of pieces up to the first one whose ids are not in its entry at home; answers
    /// where that is. No call is in its loop: hosts would keep nothing in registers.
    #[inline(never)]
    fn copy_known(&mut self, table: &Table<'_>, from: usize) -> usize {
        let (mut at, mut filled) = (from, self.filled);
        while at < self.count() {
            let answer = table.answer(self.keys[at & MASK], slot_of(self.places[at & MASK]));
            let (_, behind) = self.ids.split_at_mut_checked(filled & (IDS - 1)).unwrap_or_default();
            let Some(place) = behind.first_chunk_mut() else { break };
            answer.store(place);
            let count = answer.last_lane() as usize;
            if count == 0 {
                break;
            }
            filled += count;
            at += 1;
        }
        self.filled = filled;
        at
    }

    /// Copies the ids of a piece from the entry beside, or from its record, if there is room for them
    /// and those of all other pieces; answers how many there are.
    #[inline(always)]
    fn look_further(
        &mut self,
        table: &mut Table<'_>,
        records: &Records,
        text: &[u8],
        at: usize,
    ) -> usize {
        let (key, slot) = (self.keys[at & MASK], slot_of(self.places[at & MASK]));
        let mut answer = table.answer(key, slot);
        if answer == Wide::default() {
            answer = table.answer_beside(key, slot);
            if answer == Wide::default() {
                return 0;
            }
        }
        let (start, end) = self.span(at);
        let (filled, room) = (self.filled, IDS - SHORT_IDS * (self.count() - at));
        let places = self.ids.get_mut(filled..).unwrap_or_default().as_chunks_mut().0;
        match (answer.last_lane() as usize, places) {
            (0, places) => {
                let piece = text.get(start..end).unwrap_or_default();
                let (ids, count) = records.blocks_of(answer, piece);
                if filled + count > room {
                    return 0;
                }
                for (place, block) in places.iter_mut().zip(ids) {
                    *place = *block;
                }
                count
            }
            (count, [place, ..]) => {
                answer.store(place);
                count
            }
            (_, []) => 0,
        }
    }

    /// Appends ids of pieces that the cache knows. Between two misses there are few of them, and
    /// hosts copy memory by a call that costs more than a few stores.
    #[inline(always)]
    pub fn append_ids(&self, from: usize, to: usize, out: &mut Vec<u32>) {
        if to.saturating_sub(from) > FEW {
            out.extend_from_slice(self.ids.get(from..to).unwrap_or_default());
            return;
        }
        // Whole blocks, and then without those that are too many: stores that depend on how many
        // there are cost more than some that do not.
        let end = out.len() + to.saturating_sub(from);
        let mut at = from;
        while at < to {
            let Some((_, behind)) = self.ids.split_at_checked(at) else { break };
            let Some(block) = behind.first_chunk::<IDS_TOGETHER>() else { break };
            out.extend_from_slice(block);
            at += IDS_TOGETHER;
        }
        out.truncate(end);
    }

    /// How many ids the known pieces have together.
    pub fn filled(&self) -> usize {
        self.filled
    }

    pub fn misses(&self) -> &[Miss] {
        self.misses.get(..self.missed).unwrap_or_default()
    }

    pub fn key(&self, at: usize) -> Key {
        self.keys[at & MASK]
    }

    pub fn span(&self, at: usize) -> (usize, usize) {
        let start = self.places[at & MASK] as u32 as usize;
        match self.key(at).length() {
            length @ ..=MAX_KEY => (start, start + length),
            _ => (start, self.ends[at & MASK] as usize),
        }
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
        let (mut known, mut missed, mut long, mut full) = (0, 0, 0, 0);
        for round in 0..200 {
            batch.clear();
            let (mut text, mut pieces) = (Vec::new(), Vec::new());
            let most_ids = *random.pick(&[3, 9, 200]);
            while !batch.is_full() && random.below(if round % 9 == 0 { 5000 } else { 200 }) > 0 {
                let length = if random.below(4) == 0 { 17 } else { 1 + random.below(3) };
                let piece: Vec<u8> = (0..length)
                    .map(|n| b'a' + random.below(if n < 3 { 9 } else { 1 }) as u8)
                    .collect();
                let key = Key::new(&piece, 0, length);
                if random.below(3) == 0 {
                    let ids: Vec<u32> = (round..).take(1 + random.below(most_ids)).collect();
                    cache.remember(key, &piece, &ids);
                }
                batch.push(key, text.len(), text.len() + length);
                text.extend_from_slice(&piece);
                pieces.push(piece);
            }
            let mut one_by_one = cache.clone();
            batch.look_up(&mut cache, &text);
            assert_eq!(batch.count(), pieces.len());
            let (mut ids, mut misses, mut from) = (Vec::new(), batch.misses().iter(), 0);
            let mut next = misses.next();
            let (mut got, mut copied) = (Vec::new(), 0);
            for (at, piece) in pieces.iter().enumerate() {
                let key = Key::new(piece, 0, piece.len());
                assert_eq!((batch.span(at), batch.key(at)), ((from, from + piece.len()), key));
                from += piece.len();
                let before = ids.len();
                let is_known = one_by_one.recall(key, piece, &mut ids);
                match next.filter(|miss| miss.at() == at) {
                    Some(miss) => {
                        // It has no room for more ids.
                        assert!(!is_known || ids.len() + 3 * SIZE > IDS);
                        batch.append_ids(copied, miss.filled(), &mut got);
                        copied = miss.filled();
                        got.extend_from_slice(&ids[before..]);
                        next = misses.next();
                        missed += 1;
                        full += usize::from(is_known);
                    }
                    None => assert!(is_known),
                }
                known += usize::from(is_known);
                long += usize::from(ids.len() > before + 3);
            }
            batch.append_ids(copied, batch.filled(), &mut got);
            assert_eq!(got, ids);
            assert!(next.is_none());
        }
        let counts = [known, missed, long, full];
        assert!(
            counts.into_iter().zip([5000, 500, 500, 50]).all(|(n, least)| n > least),
            "{counts:?}"
        );
        assert!(batch.touched_by_loads >= FIRST_PIECES);
        batch.clear();
        batch.push(Key::new(b"a", 0, 1), 0, 1);
        batch.look_up(&mut PieceCache::none(), b"a");
        assert_eq!((batch.misses().len(), batch.filled()), (1, 0));
    }
}
