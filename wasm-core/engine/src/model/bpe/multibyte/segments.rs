//! Pieces with characters of several bytes: cut where no merge crosses, and the segments merged from
//! whole characters (see [`super::char_atoms`] for why that is exact).
//!
//! In Chinese and Japanese half of these segments are one character, whose id is at hand. The
//! others are few: nearly all of them were seen before, while their pieces were not. So they have a
//! cache of their own, small enough for a near cache of the processor.
//!
//! Several pieces are cut first. Then the cache is asked for the segments of all of them, and those that
//! it does not know are merged in turns, for the reason that [`crate::model::bpe::cache::batch`] has. A
//! piece that has no others beside it, or for which there is no room, is encoded by itself.

use super::char_atoms::{Atom, CharAtoms};
use super::code_points::decode;
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::model::bpe::cache::pieces::answer_of;
use crate::model::bpe::long::backtrack::{PieceMerger, Tables};
use crate::model::bpe::merge::interleaved::{LongGroup, ShortGroup};
use crate::model::bpe::merge::merger::{fits_short, Merger, Short};
use crate::model::bpe::merge::pairs::{Packed, PairTable};
use crate::simd::lane16::Wide;
use std::ops::Range;

/// How many characters are looked at together, one bit each.
const BLOCK: usize = 64;

/// Room for the characters of pieces that are encoded together, and one place behind each block.
const CHARS: usize = 1024;
const MASK: usize = CHARS - 1;

const SLOTS: usize = 1 << 14;

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

/// A segment that is not a single atom: the cache is asked for it, or it is merged.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    /// What it is remembered by. The key of an empty piece: it is not remembered.
    key: Key,
    /// Its first character, and the one behind its last.
    first: u32,
    end: u32,
    /// Its place among the answers.
    answer: u32,
    /// Whether it is merged from whole characters, not from bytes.
    is_clean: bool,
    way: Way,
}

/// How a segment was merged. Its ids are there; if they are up to three, among the answers, too.
#[derive(Debug, Clone, Copy, Default)]
enum Way {
    /// In the group of short pieces, under this number.
    Merged(u32),
    /// In the group of long pieces.
    MergedLong(u32),
    /// In a list, from here to there.
    Alone(u32, u32),
    /// Not at all: the cache knows it, or it was not asked yet.
    #[default]
    Unmerged,
}

/// What is merged in turns.
pub struct Groups<'a> {
    pub pairs: Packed<'a>,
    pub short: &'a mut ShortGroup,
    pub long: &'a mut LongGroup,
}

/// Working memory, and what was merged before.
#[derive(Debug)]
pub struct Segments {
    cache: Vec<Entry>,
    /// The ids of characters, where they are atoms.
    ids: [u32; CHARS],
    /// Where each character starts, and behind those of a block, where the last one ends.
    starts: [u32; CHARS],
    chars: usize,
    /// For each segment up to three ids and how many. Zero there: the first number is its place in `open`.
    answers: [Wide; CHARS],
    answered: usize,
    open: [Open; CHARS],
    opened: usize,
    /// The open segments that the cache does not know.
    unknown: Vec<u32>,
    /// The ids of segments that are merged alone.
    alone: Vec<u32>,
    /// Never read; without it the touching would be optimised away.
    touched: (Wide, u64),
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
            ids: [0; CHARS],
            starts: [0; CHARS],
            chars: 0,
            answers: [Wide::default(); CHARS],
            answered: 0,
            open: [Open::default(); CHARS],
            opened: 0,
            unknown: Vec::new(),
            alone: Vec::new(),
            touched: (Wide::default(), 0),
        }
    }

    /// Forgets all pieces.
    pub fn clear(&mut self) {
        (self.chars, self.answered, self.opened) = (0, 0, 0);
        self.alone.clear();
    }

    /// Adds `text[piece]`, which consists of whole characters; answers the numbers of its segments.
    /// `None`: there is no room for them.
    #[inline(never)]
    pub fn push(
        &mut self,
        atoms: &CharAtoms,
        text: &[u8],
        piece: Range<usize>,
    ) -> Option<Range<u32>> {
        let (chars, answered, opened) = (self.chars, self.answered, self.opened);
        let mut from = piece.start;
        while from < piece.end {
            // There is room for as many segments as for characters. One more block stays free, for
            // [`Self::encode`].
            if self.chars + 2 * (BLOCK + 1) > CHARS {
                (self.chars, self.answered, self.opened) = (chars, answered, opened);
                return None;
            }
            from = self.push_block(atoms, text, from..piece.end, piece.len());
        }
        Some(answered as u32..self.answered as u32)
    }

    /// Asks the cache for the segments of all pieces, and queues those that it does not know for merging
    /// in turns. Behind it come that merging and [`Self::take_answers`], then [`Self::append_ids`].
    pub fn queue_unknown(
        &mut self,
        model: Model<'_>,
        mut groups: Groups<'_>,
        merger: &mut PieceMerger,
        text: &[u8],
    ) {
        self.touch();
        self.look_up(0);
        self.touch_pairs(groups.pairs);
        self.queue(model.tables, Some(&mut groups), merger, text);
        self.chars = 0;
    }

    /// Encodes `text[piece]`, which consists of whole characters, by itself. The ids of pieces that were
    /// pushed before can be had all the same.
    pub fn encode(
        &mut self,
        model: Model<'_>,
        merger: &mut PieceMerger,
        text: &[u8],
        piece: Range<usize>,
        out: &mut Vec<u32>,
    ) {
        let (chars, answered, opened) = (self.chars, self.answered, self.opened);
        let alone = self.alone.len();
        let mut from = piece.start;
        while from < piece.end {
            from = self.push_block(model.atoms, text, from..piece.end, piece.len());
            self.look_up(opened);
            self.queue(model.tables, None, merger, text);
            self.append_ids(answered as u32..self.answered as u32, None, out);
            (self.chars, self.answered, self.opened) = (chars, answered, opened);
            self.alone.truncate(alone);
        }
    }

    /// Cuts a block at the start of `rest` into segments; answers where the last one ends.
    #[inline(always)]
    fn push_block(
        &mut self,
        atoms: &CharAtoms,
        text: &[u8],
        rest: Range<usize>,
        piece_len: usize,
    ) -> usize {
        let base = self.chars;
        let (count, marks) = self.look(atoms, text, rest.clone());
        self.chars += count + 1;
        let end = self.starts[(base + count) & MASK] as usize;
        let stop = match end < rest.end {
            true => self.last_clean_cut(atoms, text, base, count, marks),
            false => Some(count),
        };
        let Some(stop) = stop else {
            // One run of joined characters, longer than any word: from bytes, as a whole.
            self.starts[(base + 1) & MASK] = rest.end as u32;
            self.open(Key::default(), base, base + 1, false);
            return rest.end;
        };
        self.cut(text, base, stop, marks, piece_len);
        self.starts[(base + stop) & MASK] as usize
    }

    /// Decodes up to a block of characters and asks for each of them and for each pair; answers how
    /// many they are.
    #[inline(always)]
    fn look(&mut self, atoms: &CharAtoms, text: &[u8], rest: Range<usize>) -> (usize, Marks) {
        let mut marks = Marks::default();
        let (mut at, mut count, base) = (rest.start, 0, self.chars);
        let (mut left, mut left_atom) = (0, Atom::default());
        while count < BLOCK && at < rest.end {
            let (code, width) = decode(text, at);
            let atom = atoms.atom(code);
            let pair = atoms.pair(left, code);
            let risk = left_atom.risks(atom);
            let joined = pair.joins();
            marks.joined |= joined << count;
            marks.harmed |= (joined & pair.harms() | risk) << count;
            marks.spelled |= atom.is_none() << count;
            self.ids[(base + count) & MASK] = atom.id();
            self.starts[(base + count) & MASK] = at as u32;
            (left, left_atom) = (code, atom);
            at += width;
            count += 1;
        }
        self.starts[(base + count) & MASK] = at.min(rest.end) as u32;
        // In front of the first one is a cut.
        marks.joined &= !1;
        marks.harmed &= !1;
        if marks.harmed | marks.spelled != 0 {
            marks.harmed = self.spread(atoms, text, base, count, marks);
        }
        (count, marks)
    }

    /// All harmful pairs: those known, and beside characters that are not sound every one that a
    /// fragment fits.
    #[inline(never)]
    fn spread(
        &self,
        atoms: &CharAtoms,
        text: &[u8],
        base: usize,
        count: usize,
        marks: Marks,
    ) -> u64 {
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
                harmed |= u64::from(self.has_fragment(atoms, text, base + at)) << at;
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
        base: usize,
        count: usize,
        marks: Marks,
    ) -> Option<usize> {
        let last = 1 << (count.wrapping_sub(1) & (BLOCK - 1));
        let mut cuts = !(marks.joined | marks.harmed | 1) & !last;
        while cuts != 0 {
            let at = BLOCK - 1 - cuts.leading_zeros() as usize;
            if !self.has_fragment(atoms, text, base + at + 1) {
                return Some(at);
            }
            cuts &= !(1 << at);
        }
        None
    }

    /// Whether any fragment fits between a character and the one before it.
    fn has_fragment(&self, atoms: &CharAtoms, text: &[u8], at: usize) -> bool {
        let [left, right] =
            [at.wrapping_sub(1), at].map(|at| decode(text, self.starts[at & MASK] as usize).0);
        atoms.has_fragment(left, right)
    }

    /// Adds the segments of the first `stop` characters of a block that begins at `base`.
    #[inline(always)]
    fn cut(&mut self, text: &[u8], base: usize, stop: usize, marks: Marks, piece_len: usize) {
        let mut ends = !(marks.joined | marks.harmed) & !1;
        if stop < BLOCK {
            ends = ends & !(u64::MAX << stop) | 1 << stop;
        }
        let mut first = 0;
        while first < stop {
            // No bit: the end of a block that is full.
            let last = (ends.trailing_zeros() as usize).min(stop);
            ends &= ends.wrapping_sub(1);
            if last - first == 1 && marks.spelled >> first & 1 == 0 {
                let id = self.ids[(base + first) & MASK];
                self.answers[self.answered & MASK] = Wide::load_lanes(&[id, 0, 0, 1]);
                self.answered += 1;
            } else {
                let [start, end] = [first, last].map(|at| self.starts[(base + at) & MASK] as usize);
                // A whole piece has been looked up already, in a larger cache.
                let key = match end.saturating_sub(start) {
                    length if length <= MAX_KEY && length < piece_len => {
                        Key::new(text, start, length)
                    }
                    _ => Key::default(),
                };
                let within = |marks: u64| marks >> first & (u64::MAX >> (BLOCK - (last - first)));
                let is_clean = within(marks.spelled | marks.harmed) == 0;
                self.open(key, base + first, base + last, is_clean);
            }
            first = last;
        }
    }

    #[inline(always)]
    fn open(&mut self, key: Key, first: usize, end: usize, is_clean: bool) {
        let [first, end, answer] = [first, end, self.answered].map(|at| at as u32);
        let way = Way::default();
        self.open[self.opened & MASK] = Open { key, first, end, answer, is_clean, way };
        self.opened += 1;
        self.answered += 1;
    }

    /// Reads some bits of what the cache will be asked for, which brings them into a near cache.
    #[inline(never)]
    fn touch(&mut self) {
        let mut touched = Wide::default();
        for open in self.open.iter().take(self.opened) {
            if let Some(entry) = self.cache.get(slot(open.key)) {
                touched = touched.xor(entry.key.bits());
            }
        }
        self.touched.0 = touched;
    }

    /// Asks the cache for the open segments from this one on.
    #[inline(never)]
    fn look_up(&mut self, from: usize) {
        self.unknown.clear();
        for n in from..self.opened {
            let open = self.open[n & MASK];
            let known = self.cache.get(slot(open.key)).copied().unwrap_or_default();
            let answer = known.answer.if_equal(known.key.bits(), open.key.bits());
            self.answers[open.answer as usize & MASK] = answer;
            if answer.last_lane() == 0 {
                self.unknown.push(n as u32);
            }
        }
    }

    /// Reads some bits of what the table will be asked for first.
    #[inline(never)]
    fn touch_pairs(&mut self, pairs: Packed<'_>) {
        let mut touched = 0;
        for &n in &self.unknown {
            let Open { first, end, is_clean: true, .. } = self.open[n as usize & MASK] else {
                continue;
            };
            let ids = self.ids.get(first as usize..end as usize).unwrap_or_default();
            for pair in ids.windows(2) {
                if let [left, right] = *pair {
                    touched ^= pairs.touch(pairs.ask(left, right).home);
                }
            }
        }
        self.touched.1 = touched;
    }

    /// Queues the unknown segments for merging in turns; merges those for which there is no room there.
    #[inline(never)]
    fn queue(
        &mut self,
        tables: Tables<'_>,
        mut groups: Option<&mut Groups<'_>>,
        merger: &mut PieceMerger,
        text: &[u8],
    ) {
        let unknown = std::mem::take(&mut self.unknown);
        for &n in &unknown {
            let open = self.open[n as usize & MASK];
            let Open { key, first, end, is_clean, answer, .. } = open;
            let ids = self.ids.get(first as usize..end as usize).unwrap_or_default();
            let bytes = [first, end].map(|at| self.starts[at as usize & MASK] as usize);
            let part = text.get(bytes[0]..bytes[1]).unwrap_or_default();
            self.answers[answer as usize & MASK] = Wide::load_lanes(&[n, 0, 0, 0]);
            let queued = groups.as_mut().and_then(|groups| match is_clean {
                true => groups.push_symbols(key, ids),
                false => groups.push_bytes(tables, part),
            });
            self.open[n as usize & MASK].way = match queued {
                Some(way) => way,
                None => {
                    let from = self.alone.len();
                    match is_clean {
                        true => merge_atoms(tables.pairs, &mut merger.merger, ids, &mut self.alone),
                        false => tables.merge(merger, part, &mut self.alone),
                    }
                    if let Some(answer) = self.alone.get(from..).and_then(answer_of) {
                        self.settle(open, answer);
                    }
                    Way::Alone(from as u32, self.alone.len() as u32)
                }
            };
        }
        self.unknown = unknown;
    }

    /// Remembers the segments that were merged in turns, if they have up to three ids.
    #[inline(never)]
    pub fn take_answers(&mut self, short: &ShortGroup) {
        for at in 0..self.unknown.len() {
            let Some(&n) = self.unknown.get(at) else { break };
            let open = self.open[n as usize & MASK];
            if let Way::Merged(number) = open.way {
                let answer = short.answer_of(number as usize);
                if answer.last_lane() > 0 {
                    self.settle(open, answer);
                }
            }
        }
    }

    /// Keeps the answer of a segment, and remembers it if it has a key.
    #[inline(always)]
    fn settle(&mut self, open: Open, answer: Wide) {
        self.answers[open.answer as usize & MASK] = answer;
        if open.key != Key::default() {
            if let Some(entry) = self.cache.get_mut(slot(open.key)) {
                *entry = Entry { key: open.key, answer };
            }
        }
    }

    /// Appends the ids of some segments.
    #[inline(never)]
    pub fn append_ids(
        &self,
        segments: Range<u32>,
        groups: Option<(&ShortGroup, &LongGroup)>,
        out: &mut Vec<u32>,
    ) {
        for at in segments {
            let answer = self.answers[at as usize & MASK];
            let (before, lanes, count) = (out.len(), answer.lanes(), answer.last_lane() as usize);
            if count > 0 {
                out.extend_from_slice(&lanes);
                out.truncate(before + count);
                continue;
            }
            match (self.open[lanes[0] as usize & MASK].way, groups) {
                (Way::Merged(number), Some((short, _))) => {
                    short.ids(number as usize, |id| out.push(id));
                }
                (Way::MergedLong(number), Some((_, long))) => {
                    long.ids(number as usize, |id| out.push(id));
                }
                (Way::Alone(from, to), _) => {
                    let alone = self.alone.get(from as usize..to as usize);
                    out.extend_from_slice(alone.unwrap_or_default());
                }
                (_, _) => {}
            }
        }
    }
}

impl Groups<'_> {
    #[inline(always)]
    fn push_symbols(&mut self, key: Key, ids: &[u32]) -> Option<Way> {
        let fits = ids.len() <= ShortGroup::LONGEST && !self.short.is_full();
        fits.then(|| {
            Way::Merged(self.short.push_symbols(self.pairs, key, ids.iter().copied()) as u32)
        })
    }

    #[inline(always)]
    fn push_bytes(&mut self, tables: Tables<'_>, part: &[u8]) -> Option<Way> {
        if part.len() <= MAX_KEY && !self.short.is_full() {
            let key = Key::new(part, 0, part.len());
            return Some(Way::Merged(self.short.push(tables.bytes, key) as u32));
        }
        let fits = part.len() <= LongGroup::LONGEST && !self.long.is_full();
        fits.then(|| Way::MergedLong(self.long.push_bytes(tables.bytes, part) as u32))
    }
}

#[inline(always)]
fn slot(key: Key) -> usize {
    (key.hash() >> (64 - SLOTS.trailing_zeros())) as usize
}

#[inline(always)]
fn merge_atoms(pairs: &PairTable, merger: &mut Merger, ids: &[u32], out: &mut Vec<u32>) {
    if ids.len() < 16 && fits_short(pairs) {
        let first_rank = |left, right, _| pairs.rank(left, right);
        let mut short = Short::<16>::new(ids.iter().copied(), first_rank);
        short.merge(pairs);
        short.for_each(|id, _| out.push(id));
        return;
    }
    merger.ids.clear();
    merger.ids.extend_from_slice(ids);
    merger.run(pairs);
    out.extend_from_slice(&merger.ids);
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

    /// From characters, from bytes by table, from bytes by definition; pieces alone, and many together.
    #[test]
    fn whole_characters_merge_as_their_bytes_do() {
        let mut random = Random::new(31);
        let (mut atoms, mut together) = (0, 0);
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
                let count = if round % 15 == 0 { 1 + random.below(90) } else { 1 };
                let longest = if round % 20 == 0 { 300 } else { 24 };
                let first = random.below(ALPHABET.len());
                let kinds = 1 + random.below(ALPHABET.len());
                let (mut text, mut ranges, mut expected) = (String::new(), Vec::new(), Vec::new());
                for _ in 0..count {
                    let start = text.len();
                    let longest = if random.below(30) == 0 { 300 } else { longest };
                    let length = random.below(longest);
                    let chars = (0..length)
                        .map(|_| ALPHABET[(first + random.below(kinds)) % ALPHABET.len()]);
                    text.extend(chars);
                    ranges.push((start as u32, text.len() as u32));
                    let symbols: Vec<u32> = text[start..].bytes().map(u32::from).collect();
                    let ids = merge_slowly(&symbols, &merges);
                    expected.extend(ids.into_iter().map(|token| token.0));
                }
                together += usize::from(count > 2);
                let mut got = Vec::new();
                bpe.encode_ranges(&mut scratch, text.as_bytes(), &ranges, &mut got);
                assert_eq!(got, expected, "{text:?} {ranges:?} {merges:?}");
            }
        }
        assert!(atoms > 2000 && together > 1000, "{atoms} {together}");
    }
}
