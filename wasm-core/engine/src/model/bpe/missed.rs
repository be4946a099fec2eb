//! Pieces that the first look into the cache did not find, a few at a time.
//!
//! Whatever is asked of a large table is asked for all of them before any answer is looked at, for
//! the reason that [`super::batch`] has.

use super::batch::{Batch, Miss};
use super::bytes::ByteUnits;
use super::cache::PieceCache;
use super::group::{Group, PIECES};
use super::key::Key;
use super::merge::fits_short;
use super::wide::Wide;
use super::Bpe;

/// How the ids of a piece are come by.
#[derive(Debug, Clone, Copy, Default)]
enum Way {
    /// They are here: up to three, and how many.
    Here(Wide),
    /// They are merged, under this number.
    Merged(usize),
    /// Nothing is known.
    #[default]
    Alone,
}

#[derive(Debug, Default)]
pub struct Missed {
    group: Group,
    ways: [Way; PIECES],
    /// The pieces that may be tokens, by their number among the misses.
    open: [u32; PIECES],
    /// Nobody reads it; without it the touching would be optimised away.
    touched: (u32, Wide),
}

impl Missed {
    /// How many pieces fit.
    pub const ROOM: usize = PIECES;

    /// Looks where the ids of some pieces are, and merges what can be merged together.
    #[inline(never)]
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
        let serves = units.are_packed && fits_short(&bpe.pairs);
        let Some(pairs) = bpe.pairs.packed().filter(|_| serves) else { return };
        let key = |place: u32| misses.get(place as usize).map(|miss| batch.key(miss.at()));
        let mut count = 0;
        for ((way, miss), place) in self.ways.iter_mut().zip(misses).zip(0..) {
            let key = batch.key(miss.at());
            if !key.is_short_ascii() {
                continue;
            }
            match cache.second_look(key) {
                Some(answer) if answer.last_lane() > 0 => *way = Way::Here(answer),
                Some(_) => {}
                None => {
                    self.open[count & (PIECES - 1)] = place;
                    count += 1;
                }
            }
        }
        let open = self.open.get(..count).unwrap_or_default();
        let slots = open.iter().filter_map(|place| key(*place));
        let slots = slots.fold(0, |touched, key| touched ^ bpe.known.touch_slot(key));
        let keys = open.iter().filter_map(|place| key(*place));
        let keys = keys.fold(Wide::default(), |touched, key| touched.xor(bpe.known.touch_key(key)));
        self.touched = (slots, keys);
        self.group.clear();
        for &place in open {
            let Some(miss) = misses.get(place as usize) else { continue };
            let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
            let way = match bpe.whole(key, text.get(start..end).unwrap_or_default()) {
                Some(id) => {
                    let answer = Wide::load_lanes(&[id, 0, 0, 1]);
                    cache.insert_answer(key, answer);
                    Way::Here(answer)
                }
                None => Way::Merged(self.group.push(units, key)),
            };
            self.ways[place as usize & (PIECES - 1)] = way;
        }
        self.group.merge(pairs);
    }

    /// Appends the ids of the piece of this place; says whether it has them.
    #[inline]
    pub fn take(&self, place: usize, cache: &mut PieceCache, key: Key, out: &mut Vec<u32>) -> bool {
        match self.ways.get(place).copied().unwrap_or_default() {
            Way::Here(answer) => {
                let count = answer.last_lane() as usize;
                out.extend(answer.lanes().into_iter().take(count));
            }
            Way::Merged(number) => {
                let before = out.len();
                self.group.ids(number, |id| out.push(id));
                cache.remember_key(key, out.get(before..).unwrap_or_default());
            }
            Way::Alone => return false,
        }
        true
    }
}
