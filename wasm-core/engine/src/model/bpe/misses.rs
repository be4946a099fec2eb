//! Pieces that the first look into the cache did not find, a few at a time.
//!
//! Whatever is asked of a large table is asked for all of them before any answer is looked at, for
//! the reason that [`crate::model::bpe::cache::batch`] has.

use super::Bpe;
use crate::model::bpe::cache::batch::{Batch, Miss};
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::model::bpe::cache::pieces::PieceCache;
use crate::model::bpe::cache::vocabulary::Known;
use crate::model::bpe::long::backtrack::PieceMerger;
use crate::model::bpe::merge::byte_units::ByteUnits;
use crate::model::bpe::merge::interleaved::{merge, LongGroup, ShortGroup, PIECES};
use crate::model::bpe::merge::merger::{fits_short, SHORT};
use crate::model::bpe::merge::pairs::{Packed, PACKED_IDS};
use crate::model::bpe::merge::symbols::Symbol;
use crate::model::bpe::multibyte::segments::{Groups, Model, Segments};
use crate::simd::lane16::Wide;
use std::ops::Range;

/// Where the ids of a piece are, if they are not among the answers.
#[derive(Debug, Clone, Copy, Default)]
enum Way {
    /// In the group, under this number.
    Merged(usize),
    /// In the group of long pieces.
    MergedLong(usize),
    /// Among the segments, the first one and the one behind the last.
    Segments(u32, u32),
    /// Not here: the caller takes them from a record of the cache, or encodes the piece.
    #[default]
    Alone,
}

#[derive(Debug)]
pub struct Missed {
    group: ShortGroup,
    long: LongGroup,
    ways: [Way; PIECES],
    /// Up to three ids of a piece, and how many. Zero there: see its way.
    answers: [Wide; PIECES],
    /// The pieces that are merged, by their number among the misses, and their number in the group.
    merging: [(u32, u32); PIECES],
    merged: usize,
    /// The short pieces that may be tokens, by their number among the misses.
    open: [u32; PIECES],
    opened: usize,
    /// The pieces that are merged from characters, by their number among the misses.
    char_pieces: [u32; PIECES],
    char_count: usize,
    /// The characters of one of them.
    symbols: Vec<Symbol>,
    /// Never read; without it the touching would be optimised away.
    touched: (u32, Wide),
}

impl Default for Missed {
    fn default() -> Self {
        Self {
            group: ShortGroup::default(),
            long: LongGroup::default(),
            ways: [Way::default(); PIECES],
            answers: [Wide::default(); PIECES],
            merging: [(0, 0); PIECES],
            merged: 0,
            open: [0; PIECES],
            opened: 0,
            char_pieces: [0; PIECES],
            char_count: 0,
            symbols: Vec::new(),
            touched: (0, Wide::default()),
        }
    }
}

impl Missed {
    /// How many pieces fit.
    pub const ROOM: usize = PIECES;

    /// Looks where the ids of some pieces are, and merges what can be merged together. `segments` is
    /// empty; the pieces that are cut are put there.
    pub fn prepare(
        &mut self,
        bpe: &Bpe,
        units: &ByteUnits,
        (cache, segments, merger): (&mut PieceCache, &mut Segments, &mut PieceMerger),
        batch: &Batch,
        text: &[u8],
        misses: &[Miss],
    ) {
        self.char_count = 0;
        self.ways = [Way::Alone; PIECES];
        self.answers = [Wide::default(); PIECES];
        let serves = units.are_packed && fits_short(&bpe.pairs);
        let Some(pairs) = bpe.pairs.packed().filter(|_| serves) else { return };
        self.group.clear();
        self.long.clear();
        self.look_again(bpe, units, cache, batch, text, misses);
        self.touch(&bpe.known, batch, misses);
        self.choose(bpe, units, cache, batch, text, misses);
        match (bpe.tables(), &bpe.atoms) {
            (Some(tables), Some(atoms)) if self.char_count > 0 => {
                let model = Model { tables, atoms };
                self.cut_pieces(model, segments, batch, text, misses);
                let (short, long) = (&mut self.group, &mut self.long);
                segments.queue_unknown(model, Groups { pairs, short, long }, merger, text);
                merge(&mut self.group, &mut self.long, pairs);
                segments.take_answers(&self.group);
            }
            (Some(_), _) => merge(&mut self.group, &mut self.long, pairs),
            (None, _) => {
                self.queue_parts(bpe, pairs, batch, text, misses);
                merge(&mut self.group, &mut self.long, pairs);
            }
        }
        self.finish(cache, batch, misses);
    }

    /// Cuts pieces into segments. Those for which there is no room are left to the caller.
    #[inline(never)]
    fn cut_pieces(
        &mut self,
        model: Model<'_>,
        segments: &mut Segments,
        batch: &Batch,
        text: &[u8],
        misses: &[Miss],
    ) {
        for &place in self.char_pieces.get(..self.char_count).unwrap_or_default() {
            let Some(miss) = misses.get(place as usize) else { continue };
            let (start, end) = batch.span(miss.at());
            if let Some(Range { start, end }) = segments.push(model.atoms, text, start..end) {
                self.ways[place as usize & (PIECES - 1)] = Way::Segments(start, end);
            }
        }
    }

    /// Queues parts that are not ASCII, of a vocabulary of characters. Those that are too long are left to
    /// the caller.
    #[inline(never)]
    fn queue_parts(
        &mut self,
        bpe: &Bpe,
        pairs: Packed<'_>,
        batch: &Batch,
        text: &[u8],
        misses: &[Miss],
    ) {
        for &place in self.char_pieces.get(..self.char_count).unwrap_or_default() {
            let Some(miss) = misses.get(place as usize) else { continue };
            let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
            if end - start > SHORT {
                continue;
            }
            let part = text.get(start..end).and_then(|part| std::str::from_utf8(part).ok());
            let part = part.unwrap_or_default();
            bpe.units.symbols(&bpe.vocab, part, bpe.spaced, &mut self.symbols);
            let ids = self.symbols.iter().map(|symbol| symbol.id);
            if ids.clone().any(|id| id >= PACKED_IDS) {
                continue;
            }
            if key.length() <= MAX_KEY {
                let number = self.group.push_symbols(pairs, key, ids) as u32;
                self.merging[self.merged & (PIECES - 1)] = (place, number);
                self.merged += 1;
            } else if ids.len() <= LongGroup::LONGEST {
                let number = self.long.push_symbols(pairs, Key::default(), ids);
                self.ways[place as usize & (PIECES - 1)] = Way::MergedLong(number);
            }
        }
    }

    /// Asks the cache for the pieces again. Short ones that it has not got may be tokens; long ones that
    /// are none are cut into segments or merged, if they are not too long for that.
    #[inline(never)]
    fn look_again(
        &mut self,
        bpe: &Bpe,
        units: &ByteUnits,
        cache: &mut PieceCache,
        batch: &Batch,
        text: &[u8],
        misses: &[Miss],
    ) {
        let mut opened = 0;
        for (n, miss) in misses.iter().enumerate().take(PIECES) {
            let key = batch.key(miss.at());
            if key.token().is_some() {
                continue;
            }
            if let Some(answer) = cache.second_look(key) {
                self.answers[n] = answer;
                continue;
            }
            if key.length() <= MAX_KEY {
                self.open[opened & (PIECES - 1)] = n as u32;
                opened += 1;
                continue;
            }
            let (start, end) = batch.span(miss.at());
            let piece = text.get(start..end).unwrap_or_default();
            if bpe.whole(key, piece).is_some() {
                continue;
            }
            if !bpe.merges_bytes(piece) {
                self.push_char_piece(n);
            } else if piece.len() <= LongGroup::LONGEST {
                self.ways[n] = Way::MergedLong(self.long.push_bytes(units, piece));
            }
        }
        self.opened = opened;
    }

    /// A piece that is to be merged from characters, by its number among the misses.
    #[inline(always)]
    fn push_char_piece(&mut self, n: usize) {
        self.char_pieces[self.char_count & (PIECES - 1)] = n as u32;
        self.char_count += 1;
    }

    /// Reads some bits of what the vocabulary will be asked for, which brings them into a near cache.
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

    /// Answers the pieces that are tokens, and queues others to be merged.
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
        for n in 0..self.opened {
            let place = self.open[n & (PIECES - 1)];
            let Some(miss) = misses.get(place as usize) else { continue };
            let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
            let piece = text.get(start..end).unwrap_or_default();
            match bpe.whole(key, piece) {
                Some(id) => {
                    let answer = Wide::load_lanes(&[id, 0, 0, 1]);
                    self.answers[place as usize & (PIECES - 1)] = answer;
                    cache.insert_answer(key, answer);
                }
                None if !bpe.merges_bytes(piece) => self.push_char_piece(place as usize),
                None => {
                    let number = self.group.push(units, key) as u32;
                    self.merging[self.merged & (PIECES - 1)] = (place, number);
                    self.merged += 1;
                }
            }
        }
    }

    /// Makes answers of the merged pieces with up to three ids, and ways of the others.
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

    /// Appends the ids of a piece, by its number among the misses; says whether they are here.
    #[inline]
    pub fn take(
        &self,
        n: usize,
        cache: &mut PieceCache,
        segments: &Segments,
        key: Key,
        piece: &[u8],
        out: &mut Vec<u32>,
    ) -> bool {
        let before = out.len();
        let answer = self.answers.get(n).copied().unwrap_or_default();
        if answer.last_lane() > 0 {
            out.extend_from_slice(&answer.lanes());
            out.truncate(before + answer.last_lane() as usize);
            return true;
        }
        match self.ways.get(n).copied().unwrap_or_default() {
            Way::Merged(number) => self.group.ids(number, |id| out.push(id)),
            Way::MergedLong(number) => self.long.ids(number, |id| out.push(id)),
            Way::Segments(from, to) => {
                segments.append_ids(from..to, Some((&self.group, &self.long)), out);
            }
            Way::Alone => return false,
        }
        cache.remember(key, piece, out.get(before..).unwrap_or_default());
        true
    }
}
