//! Pieces that the first look into the cache did not find, a few at a time.
//!
//! Whatever is asked of a large table is asked for all of them before any answer is looked at, for
//! the reason that [`crate::model::bpe::cache::batch`] has.

use super::Bpe;
use crate::model::bpe::cache::batch::{Batch, Miss};
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::model::bpe::cache::pieces::PieceCache;
use crate::model::bpe::cache::records::Place;
use crate::model::bpe::cache::vocabulary::Known;
use crate::model::bpe::merge::byte_units::ByteUnits;
use crate::model::bpe::merge::interleaved::{merge, LongGroup, ShortGroup, PIECES};
use crate::model::bpe::merge::merger::fits_short;
use crate::simd::lane16::Wide;

/// How the ids of a piece are come by, if they are not among the answers.
#[derive(Debug, Clone, Copy, Default)]
enum Way {
    /// They are kept, from the one place to the other.
    Kept(usize, usize),
    /// They are merged, under this number.
    Merged(usize),
    /// They are merged among the long pieces.
    MergedLong(usize),
    /// Nothing is known.
    #[default]
    Alone,
}

#[derive(Debug)]
pub struct Missed {
    group: ShortGroup,
    long: LongGroup,
    /// What the cache knows of long pieces.
    kept: Vec<u32>,
    ways: [Way; PIECES],
    /// Up to three ids of a piece, and how many: none where its way says more.
    answers: [Wide; PIECES],
    /// The pieces that are merged, by their number among the misses, and their number in the group.
    merging: [(u32, u32); PIECES],
    merged: usize,
    /// The pieces that may be tokens, by their number among the misses.
    open: [u32; PIECES],
    opened: usize,
    /// The pieces that may have records, by their number, and where.
    far: [(u32, Option<Place>); PIECES],
    gone_far: usize,
    /// Never read; without it the touching would be optimised away.
    touched: (u32, Wide),
}

impl Default for Missed {
    fn default() -> Self {
        Self {
            group: ShortGroup::default(),
            long: LongGroup::default(),
            kept: Vec::new(),
            ways: [Way::default(); PIECES],
            answers: [Wide::default(); PIECES],
            merging: [(0, 0); PIECES],
            merged: 0,
            open: [0; PIECES],
            opened: 0,
            far: [(0, None); PIECES],
            gone_far: 0,
            touched: (0, Wide::default()),
        }
    }
}

impl Missed {
    /// How many pieces fit.
    pub const ROOM: usize = PIECES;

    /// Looks where the ids of some pieces are, and merges what can be merged together.
    pub fn prepare(
        &mut self,
        bpe: &Bpe,
        units: &ByteUnits,
        cache: &mut PieceCache,
        batch: &Batch,
        text: &[u8],
        misses: &[Miss],
    ) {
        self.ways = [Way::Alone; PIECES];
        self.answers = [Wide::default(); PIECES];
        let serves = units.are_packed && fits_short(&bpe.pairs);
        let Some(pairs) = bpe.pairs.packed().filter(|_| serves) else { return };
        self.look_again(cache, batch, text, misses);
        self.begin_long(bpe, units, cache, batch, text, misses);
        self.touch(&bpe.known, batch, misses);
        self.group.clear();
        self.choose(bpe, units, cache, batch, text, misses);
        merge(&mut self.group, &mut self.long, pairs);
        self.finish(cache, batch, misses);
    }

    /// Asks the cache for the short pieces again; those that it has not got may be tokens. Touches
    /// what it will be asked for the others.
    #[inline(never)]
    fn look_again(&mut self, cache: &mut PieceCache, batch: &Batch, text: &[u8], misses: &[Miss]) {
        let (mut opened, mut gone_far, mut touched) = (0, 0, 0);
        for ((known, miss), place) in self.answers.iter_mut().zip(misses).zip(0..) {
            let key = batch.key(miss.at());
            if key.token().is_some() {
                continue;
            }
            if key.length() <= MAX_KEY {
                match cache.second_look(key) {
                    Some(answer) if answer.last_lane() > 0 => {
                        *known = answer;
                        continue;
                    }
                    // It has more ids than fit there.
                    Some(_) => {}
                    None => {
                        self.open[opened & (PIECES - 1)] = place;
                        opened += 1;
                        continue;
                    }
                }
            }
            let (start, end) = batch.span(miss.at());
            let piece = text.get(start..end).unwrap_or_default();
            let kept = cache.records.place(key, piece);
            touched ^= kept.map_or(0, |kept| cache.records.touch(kept));
            self.far[gone_far & (PIECES - 1)] = (place, kept);
            gone_far += 1;
        }
        (self.opened, self.gone_far, self.touched.0) = (opened, gone_far, touched);
    }

    /// Asks the cache for the pieces with many bytes or ids, and leaves the others to be merged.
    #[inline(never)]
    fn begin_long(
        &mut self,
        bpe: &Bpe,
        units: &ByteUnits,
        cache: &PieceCache,
        batch: &Batch,
        text: &[u8],
        misses: &[Miss],
    ) {
        self.long.clear();
        self.kept.clear();
        for &(place, kept) in self.far.get(..self.gone_far).unwrap_or_default() {
            let Some(miss) = misses.get(place as usize) else { continue };
            let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
            let piece = text.get(start..end).unwrap_or_default();
            let known = kept.map_or(&[][..], |kept| cache.records.ids(kept, key, piece));
            self.ways[place as usize & (PIECES - 1)] = if !known.is_empty() {
                let before = self.kept.len();
                self.kept.extend_from_slice(known);
                Way::Kept(before, self.kept.len())
            } else if piece.len() <= MAX_KEY {
                // A record of another piece.
                self.open[self.opened & (PIECES - 1)] = place;
                self.opened += 1;
                continue;
            } else if piece.len() <= LongGroup::LONGEST
                && bpe.merges_bytes(piece)
                && bpe.whole(key, piece).is_none()
            {
                Way::MergedLong(self.long.push_bytes(units, piece))
            } else {
                continue;
            };
        }
    }

    /// Touches what the vocabulary will be asked for.
    #[inline(never)]
    fn touch(&mut self, known: &Known, batch: &Batch, misses: &[Miss]) {
        let open = self.open.get(..self.opened).unwrap_or_default();
        let keys = || {
            let misses = open.iter().filter_map(|place| misses.get(*place as usize));
            misses.map(|miss| batch.key(miss.at()))
        };
        let slots = keys().fold(0, |touched, key| touched ^ known.touch_slot(key));
        let keys = keys().fold(Wide::default(), |touched, key| touched.xor(known.touch_key(key)));
        self.touched = (slots, keys);
    }

    /// Takes what is a token, and leaves the others to be merged.
    #[inline(never)]
    fn choose(
        &mut self,
        bpe: &Bpe,
        units: &ByteUnits,
        cache: &mut PieceCache,
        batch: &Batch,
        text: &[u8],
        misses: &[Miss],
    ) {
        self.merged = 0;
        for &place in self.open.get(..self.opened).unwrap_or_default() {
            let Some(miss) = misses.get(place as usize) else { continue };
            let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
            let piece = text.get(start..end).unwrap_or_default();
            match bpe.whole(key, piece) {
                Some(id) => {
                    let answer = Wide::load_lanes(&[id, 0, 0, 1]);
                    self.answers[place as usize & (PIECES - 1)] = answer;
                    cache.insert_answer(key, answer);
                }
                None if !bpe.merges_bytes(piece) => {}
                None => {
                    let number = self.group.push(units, key) as u32;
                    self.merging[self.merged & (PIECES - 1)] = (place, number);
                    self.merged += 1;
                }
            }
        }
    }

    /// Looks at what came of the pieces that were merged.
    #[inline(never)]
    fn finish(&mut self, cache: &mut PieceCache, batch: &Batch, misses: &[Miss]) {
        for &(place, number) in self.merging.get(..self.merged).unwrap_or_default() {
            let Some(miss) = misses.get(place as usize) else { continue };
            let answer = self.group.answer_of(number as usize);
            if answer.last_lane() > 0 {
                self.answers[place as usize & (PIECES - 1)] = answer;
                cache.insert_answer(batch.key(miss.at()), answer);
            } else {
                self.ways[place as usize & (PIECES - 1)] = Way::Merged(number as usize);
            }
        }
    }

    /// Appends the ids of the piece of this place among the misses; says whether it has them.
    #[inline]
    pub fn take(
        &self,
        place: usize,
        cache: &mut PieceCache,
        key: Key,
        piece: &[u8],
        out: &mut Vec<u32>,
    ) -> bool {
        let before = out.len();
        let answer = self.answers.get(place).copied().unwrap_or_default();
        if answer.last_lane() > 0 {
            out.extend_from_slice(&answer.lanes());
            out.truncate(before + answer.last_lane() as usize);
            return true;
        }
        match self.ways.get(place).copied().unwrap_or_default() {
            Way::Kept(from, to) => {
                out.extend_from_slice(self.kept.get(from..to).unwrap_or_default());
            }
            Way::Merged(number) => {
                self.group.ids(number, |id| out.push(id));
                cache.remember_key(key, out.get(before..).unwrap_or_default());
            }
            Way::MergedLong(number) => {
                self.long.ids(number, |id| out.push(id));
                cache.records.insert(key, piece, out.get(before..).unwrap_or_default());
            }
            Way::Alone => return false,
        }
        true
    }
}
