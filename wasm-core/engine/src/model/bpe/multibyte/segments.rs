//! Pieces with characters of several bytes: cut where no merge crosses, and the parts merged from
//! whole characters (see [`super::char_atoms`] for why that is exact).
//!
//! In Chinese and Japanese half of these segments are one character, whose id is at hand. The
//! others are few: nearly all of them were seen before, while their pieces were not. So they have a
//! cache of their own, small enough for a near cache of the processor.

use super::char_atoms::{Atom, CharAtoms};
use super::code_points::decode;
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::model::bpe::long::backtrack::{PieceMerger, Tables};
use crate::model::bpe::merge::merger::{fits_short, Merger, Short};
use crate::model::bpe::merge::pairs::{PairTable, NONE};
use crate::simd::lane16::Wide;
use std::ops::Range;

/// How many characters are looked at together, one bit each.
const BLOCK: usize = 64;
const MASK: usize = BLOCK - 1;

const SLOTS: usize = 1 << 13;
const MOST_IDS: usize = 3;

/// Room for the ids of a block: at most three for each character, stored four lanes wide.
const EMITTED: usize = 4 * BLOCK;

/// What segments are merged with.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    pub tables: Tables<'a>,
    pub atoms: &'a CharAtoms,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
struct Entry {
    key: Key,
    /// The ids, and behind them how many they are.
    answer: Wide,
}

/// Working memory, and what was merged before.
#[derive(Debug)]
pub struct Segments {
    cache: Vec<Entry>,
    ids: [u32; BLOCK],
    /// Where each character starts, and the last one ends.
    starts: [u32; BLOCK + 1],
    /// Ids on their way out: a store of fixed width is cheaper than growing a `Vec` by a few.
    emitted: [u32; EMITTED],
}

/// Some characters of a block.
#[derive(Clone, Copy)]
struct Segment {
    first: usize,
    last: usize,
    start: usize,
    end: usize,
}

/// What is known of the characters of a block, one bit each; of a pair, at the right one.
#[derive(Clone, Copy, Default)]
struct Marks {
    /// Something may join it with the one before it.
    joined: u64,
    /// A fragment may do harm between it and the one before it.
    harmed: u64,
    /// It is no atom.
    spelled: u64,
}

impl Segments {
    /// `is_used`: whether there will be anything to remember.
    pub fn new(is_used: bool) -> Self {
        Self {
            cache: vec![Entry::default(); if is_used { SLOTS } else { 0 }],
            ids: [0; BLOCK],
            starts: [0; BLOCK + 1],
            emitted: [0; EMITTED],
        }
    }

    /// Encodes `text[piece]`, which consists of whole characters.
    pub fn encode(
        &mut self,
        model: Model<'_>,
        merger: &mut PieceMerger,
        text: &[u8],
        piece: Range<usize>,
        out: &mut Vec<u32>,
    ) {
        let mut from = piece.start;
        while from < piece.end {
            let (count, marks) = self.look(model.atoms, text, from..piece.end);
            let end = self.starts.get(count).map_or(piece.end, |&end| end as usize);
            let stop = match end < piece.end {
                true => self.last_clean_cut(model.atoms, text, count, marks),
                false => Some(count),
            };
            let Some(stop) = stop else {
                // One run of joined characters, longer than any word: from bytes, as a whole.
                let rest = text.get(from..piece.end).unwrap_or_default();
                model.tables.merge(merger, rest, out);
                return;
            };
            let mut ends = !(marks.joined | marks.harmed) & !1;
            if stop < BLOCK {
                ends = ends & !(u64::MAX << stop) | 1 << stop;
            }
            let (mut first, mut filled) = (0, 0);
            while first < stop {
                // No bit: the end of a block that is full.
                let last = (ends.trailing_zeros() as usize).min(stop);
                ends &= ends.wrapping_sub(1);
                if last - first == 1 && marks.spelled >> first & 1 == 0 {
                    self.emitted[filled & (EMITTED - 1)] = self.ids[first & MASK];
                    filled += 1;
                } else {
                    let segment = self.characters(first, last, piece.end);
                    // A whole piece has been looked up already, in a larger cache.
                    let length = segment.end.saturating_sub(segment.start);
                    let key = match length <= MAX_KEY && length < piece.len() {
                        true => Some(Key::new(text, segment.start, length)),
                        false => None,
                    };
                    let answer = key.map(|key| self.known(key)).unwrap_or_default();
                    if let Some(place) =
                        self.emitted.get_mut(filled..).and_then(<[u32]>::first_chunk_mut)
                    {
                        answer.store(place);
                    }
                    let count = answer.last_lane() as usize;
                    filled += count;
                    if count == 0 {
                        out.extend_from_slice(self.emitted.get(..filled).unwrap_or_default());
                        filled = 0;
                        self.encode_new(model, merger, text, segment, key, marks, out);
                    }
                }
                first = last;
            }
            out.extend_from_slice(self.emitted.get(..filled).unwrap_or_default());
            from = self.starts.get(stop).map_or(piece.end, |&start| start as usize);
        }
    }

    /// Decodes up to a block of characters and asks for each of them and for each pair; answers how
    /// many they are.
    #[inline(always)]
    fn look(&mut self, atoms: &CharAtoms, text: &[u8], piece: Range<usize>) -> (usize, Marks) {
        let mut marks = Marks::default();
        let (mut at, mut count) = (piece.start, 0);
        let (mut left, mut left_atom) = (0, Atom::default());
        while count < BLOCK && at < piece.end {
            let (code, width) = decode(text, at);
            let atom = atoms.atom(code);
            let pair = atoms.pair(left, code);
            let risk = left_atom.risks(atom);
            let joined = pair.joins();
            marks.joined |= joined << count;
            marks.harmed |= (joined & pair.harms() | risk) << count;
            marks.spelled |= atom.is_none() << count;
            self.ids[count & MASK] = atom.id();
            self.starts[count & MASK] = at as u32;
            (left, left_atom) = (code, atom);
            at += width;
            count += 1;
        }
        if let Some(end) = self.starts.get_mut(count) {
            *end = at.min(piece.end) as u32;
        }
        // In front of the first one is a cut.
        marks.joined &= !1;
        marks.harmed &= !1;
        if marks.harmed | marks.spelled != 0 {
            marks.harmed = self.spread(atoms, text, count, marks);
        }
        (count, marks)
    }

    /// All harmful pairs: those known, and beside characters that are not sound every one that a
    /// fragment fits.
    #[inline(never)]
    fn spread(&self, atoms: &CharAtoms, text: &[u8], count: usize, marks: Marks) -> u64 {
        let inside = (u64::MAX >> (BLOCK - count.clamp(1, BLOCK))) & !1;
        let mut harmed = marks.harmed;
        let mut judged = harmed;
        loop {
            let unsound = marks.spelled | harmed | harmed >> 1;
            let mut asked = (unsound | unsound << 1) & inside & !judged;
            if asked == 0 {
                return harmed;
            }
            judged |= asked;
            while asked != 0 {
                let at = asked.trailing_zeros() as usize;
                asked &= asked - 1;
                harmed |= u64::from(self.has_fragment(atoms, text, at)) << at;
            }
        }
    }

    /// The last cut of a block which nothing behind the block can make harmful: no fragment fits
    /// the pair behind it.
    #[inline(never)]
    fn last_clean_cut(
        &self,
        atoms: &CharAtoms,
        text: &[u8],
        count: usize,
        marks: Marks,
    ) -> Option<usize> {
        let mut cuts = !(marks.joined | marks.harmed | 1) & !(1 << (count.wrapping_sub(1) & MASK));
        while cuts != 0 {
            let at = MASK - cuts.leading_zeros() as usize;
            if !self.has_fragment(atoms, text, at + 1) {
                return Some(at);
            }
            cuts &= !(1 << at);
        }
        None
    }

    /// Whether any fragment fits between a character of the block and the one before it.
    fn has_fragment(&self, atoms: &CharAtoms, text: &[u8], at: usize) -> bool {
        let [left, right] = [at.wrapping_sub(1), at]
            .map(|at| decode(text, self.starts.get(at).map_or(0, |&start| start as usize)).0);
        atoms.has_fragment(left, right)
    }

    #[inline(always)]
    fn characters(&self, first: usize, last: usize, end: usize) -> Segment {
        let place = |at: usize| self.starts.get(at).map_or(end, |&start| start as usize);
        Segment { first, last, start: place(first), end: place(last) }
    }

    /// The ids of a segment that was merged before, and how many they are.
    #[inline(always)]
    fn known(&self, key: Key) -> Wide {
        match self.cache.get(slot(key)) {
            Some(entry) => entry.answer.if_equal(entry.key.bits(), key.bits()),
            None => Wide::default(),
        }
    }

    /// Merges a segment and remembers it, if it has a key.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn encode_new(
        &mut self,
        model: Model<'_>,
        merger: &mut PieceMerger,
        text: &[u8],
        segment: Segment,
        key: Option<Key>,
        marks: Marks,
        out: &mut Vec<u32>,
    ) {
        let before = out.len();
        self.merge(model, merger, text, segment, marks, out);
        let ids = out.get(before..).unwrap_or_default();
        let Some(key) = key.filter(|_| ids.len() <= MOST_IDS) else { return };
        let mut lanes = [0, 0, 0, ids.len() as u32];
        for (place, id) in lanes.iter_mut().zip(ids) {
            *place = *id;
        }
        if let Some(entry) = self.cache.get_mut(slot(key)) {
            *entry = Entry { key, answer: Wide::load_lanes(&lanes) };
        }
    }

    #[inline(always)]
    fn merge(
        &self,
        model: Model<'_>,
        merger: &mut PieceMerger,
        text: &[u8],
        segment: Segment,
        marks: Marks,
        out: &mut Vec<u32>,
    ) {
        let Segment { first, last, start, end } = segment;
        let within = |marks: u64| marks >> first & (u64::MAX >> (BLOCK - (last - first)));
        if within(marks.spelled) | within(marks.harmed) & !1 != 0 {
            let part = text.get(start..end).unwrap_or_default();
            model.tables.merge(merger, part, out);
            return;
        }
        let ids = self.ids.get(first..last).unwrap_or_default();
        merge_atoms(model.tables.pairs, &mut merger.merger, ids, out);
    }
}

#[inline(always)]
fn slot(key: Key) -> usize {
    (key.hash() >> (64 - SLOTS.trailing_zeros())) as usize
}

#[inline(always)]
fn merge_atoms(pairs: &PairTable, merger: &mut Merger, ids: &[u32], out: &mut Vec<u32>) {
    match *ids {
        [left, right] => match pairs.rank(left, right) {
            NONE => out.extend_from_slice(ids),
            rank => out.push(pairs.product(rank)),
        },
        _ if ids.len() < 16 && fits_short(pairs) => {
            let first_rank = |left, right, _| pairs.rank(left, right);
            let mut short = Short::<16>::new(ids.iter().copied(), first_rank);
            short.merge(pairs);
            short.for_each(|id, _| out.push(id));
        }
        _ => {
            merger.ids.clear();
            merger.ids.extend_from_slice(ids);
            merger.run(pairs);
            out.extend_from_slice(&merger.ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::definition::Merge;
    use crate::model::bpe::{Bpe, Reading};
    use crate::oracle::bpe::{byte_level_with, bytes_alone, merge_slowly};
    use crate::oracle::random::Random;

    /// Characters that have bytes in common, of every length.
    const ALPHABET: [char; 12] = ['a', ' ', 'é', 'è', 'ĩ', '你', '佩', '亠', '㽠', '쓠', '🌶', '🍶'];

    /// A byte-level vocabulary over the alphabet, dense with tokens that begin or end inside a
    /// character; `trained` keeps every merge behind those that make its parts.
    fn bpe(random: &mut Random, trained: bool) -> (Bpe, Vec<Merge>) {
        let mut vocab = bytes_alone();
        let mut merges = Vec::new();
        let mut known: Vec<u32> = (0..256).collect();
        let count = random.below(160);
        let mut tries = 0;
        while merges.len() < count && tries < 4000 {
            tries += 1;
            // Half of the merges are some step of forming a word.
            let text: String = (0..1 + random.below(4)).map(|_| *random.pick(&ALPHABET)).collect();
            let symbols: Vec<u32> = text.bytes().map(u32::from).collect();
            let mut symbols: Vec<u32> =
                merge_slowly(&symbols, &merges).into_iter().map(|token| token.0).collect();
            let at = random.below(symbols.len());
            symbols.rotate_left(at);
            let [left, right] = match *symbols.as_slice() {
                [left, right, ..] if at + 1 < symbols.len() || random.below(2) == 0 => {
                    [left, right]
                }
                _ => [*random.pick(&known), *random.pick(&known)],
            };
            let text = format!("{}{}", vocab.text(left).unwrap(), vocab.text(right).unwrap());
            if vocab.id(&text).is_some() || text.chars().count() > 14 {
                continue;
            }
            let product = vocab.id_bound();
            vocab.insert(&text, product).unwrap();
            known.push(product);
            merges.push(Merge { left, right, product });
        }
        if !trained {
            for at in (1..merges.len()).rev() {
                merges.swap(at, random.below(at + 1));
            }
        }
        let definition = byte_level_with(vocab, merges.clone());
        (Bpe::new(definition, Reading::Bytes), merges)
    }

    /// From characters, from bytes by table, from bytes by definition.
    #[test]
    fn whole_characters_merge_as_their_bytes_do() {
        let mut random = Random::new(31);
        let mut atoms = 0;
        for round in 0..400 {
            let (bpe, merges) = bpe(&mut random, round % 3 != 0);
            let known = bpe.atoms.as_ref().unwrap();
            atoms += ALPHABET
                .map(|c| known.atom(c.into()).is_none())
                .iter()
                .filter(|n| **n == 0)
                .count();
            let mut scratch = bpe.scratch();
            for round in 0..60 {
                let length = random.below(if round % 20 == 0 { 300 } else { 24 });
                let first = random.below(ALPHABET.len());
                let kinds = 1 + random.below(ALPHABET.len());
                let text: String = (0..length)
                    .map(|_| ALPHABET[(first + random.below(kinds)) % ALPHABET.len()])
                    .collect();
                let symbols: Vec<u32> = text.bytes().map(u32::from).collect();
                let expected: Vec<u32> =
                    merge_slowly(&symbols, &merges).into_iter().map(|token| token.0).collect();
                let mut got = Vec::new();
                bpe.encode_ranges(
                    &mut scratch,
                    text.as_bytes(),
                    &[(0, text.len() as u32)],
                    &mut got,
                );
                assert_eq!(got, expected, "{text:?} {merges:?}");
            }
        }
        assert!(atoms > 2000, "{atoms}");
    }
}
