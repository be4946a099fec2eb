//! The way of bytes: pieces of raw text, a cache in front, and merges that start from bytes.

use super::misses::Missed;
use super::{Bpe, BpeScratch};
use crate::model::bpe::cache::batch::{Batch, VIEW};
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::model::bpe::cache::pieces::PieceCache;
use crate::model::bpe::merge::merger::{fits_short, Merger, Short, SHORT};
use crate::model::bpe::merge::pairs::{PairTable, PACKED_IDS};
use crate::model::bpe::merge::symbols::Units;
use crate::model::bpe::multibyte::segments::{self, Segments};
use crate::model::bpe::spaced::joins::BLANK;
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::split::scan::PieceScan;
use crate::vocab::Vocab;

/// So few missed pieces have nothing to share: what it takes to merge them together costs more.
const FEW: usize = 2;

/// Bytes that are copied together.
const BLOCK: usize = 16;

#[derive(Debug)]
pub struct ByteUnits {
    ids: [u32; 256],
    /// Whether all of them can be asked for in a table of packed slots.
    pub are_packed: bool,
    /// Ranks of all pairs of bytes: the first round of every merge asks for nothing else.
    first_ranks: Vec<u32>,
}

impl ByteUnits {
    /// `None` unless every byte that UTF-8 can hold has a token.
    pub fn new(vocab: &Vocab, pairs: &PairTable) -> Option<Self> {
        let mut ids = [0u32; 256];
        let mut buffer = [0; 4];
        for ((byte, id), c) in (0u8..=255).zip(ids.iter_mut()).zip(CHAR_OF_BYTE) {
            *id = match vocab.id(c.encode_utf8(&mut buffer)) {
                Some(known) => known,
                None if matches!(byte, 0xC0 | 0xC1 | 0xF5..) => 0,
                None => return None,
            };
        }
        let are_packed = ids.iter().all(|id| *id < PACKED_IDS);
        let mut units = Self { ids, are_packed, first_ranks: Vec::new() };
        units.rank_first_round(pairs);
        Some(units)
    }

    /// For text of a vocabulary of characters that is ASCII and in which spaces stand for blanks.
    /// `None` where a character is not one symbol.
    pub fn of_ascii(vocab: &Vocab, units: &Units, pairs: &PairTable) -> Option<Self> {
        let mut ids = [0u32; 256];
        let (mut symbols, mut buffer) = (Vec::new(), [0; 4]);
        for (byte, id) in (0u8..0x80).zip(ids.iter_mut()) {
            let c = if byte == b' ' { BLANK } else { char::from(byte) };
            units.symbols(vocab, c.encode_utf8(&mut buffer), &mut symbols);
            let &[symbol] = symbols.as_slice() else { return None };
            *id = symbol.id;
        }
        let are_packed = ids.iter().all(|id| *id < PACKED_IDS);
        let mut units = Self { ids, are_packed, first_ranks: Vec::new() };
        units.rank_first_round(pairs);
        Some(units)
    }

    /// Asks the table for all pairs of bytes.
    pub fn rank_first_round(&mut self, pairs: &PairTable) {
        self.first_ranks.clear();
        for left in self.ids {
            self.first_ranks.extend(self.ids.map(|right| pairs.rank(left, right)));
        }
    }

    /// Merges a piece from its bytes; answers the rank of the last merge.
    #[inline]
    pub fn merge(
        &self,
        pairs: &PairTable,
        merger: &mut Merger,
        piece: &[u8],
        out: &mut Vec<u32>,
    ) -> u32 {
        let fits = fits_short(pairs);
        if fits && piece.len() < 16 {
            let mut short = self.short::<16>(piece);
            let last = short.merge(pairs);
            short.for_each(|id, _| out.push(id));
            return last;
        }
        if fits && piece.len() < 32 {
            let mut short = self.short::<32>(piece);
            let last = short.merge(pairs);
            short.for_each(|id, _| out.push(id));
            return last;
        }
        if fits && piece.len() <= SHORT {
            let mut short = self.short::<64>(piece);
            let last = short.merge(pairs);
            short.for_each(|id, _| out.push(id));
            return last;
        }
        merger.ids.clear();
        merger.ids.extend(piece.iter().map(|&byte| self.id(byte)));
        merger.run(pairs);
        out.extend_from_slice(&merger.ids);
        merger.last_rank
    }

    /// A piece of fewer than `LANES` bytes, before its first merge.
    #[inline(always)]
    fn short<const LANES: usize>(&self, piece: &[u8]) -> Short<LANES> {
        let byte = |at: usize| piece.get(at).copied().unwrap_or_default();
        let first_rank = |_, _, at: usize| self.first_rank(byte(at), byte(at + 1));
        Short::new(piece.iter().map(|&byte| self.id(byte)), first_rank)
    }

    /// The ids of the bytes below 0x80.
    pub fn ascii(&self) -> &[u32] {
        self.ids.get(..0x80).unwrap_or_default()
    }

    #[inline(always)]
    pub fn id(&self, byte: u8) -> u32 {
        self.ids[usize::from(byte)]
    }

    #[inline(always)]
    pub fn first_rank(&self, left: u8, right: u8) -> u32 {
        let at = usize::from(left) << 8 | usize::from(right);
        self.first_ranks.get(at).copied().unwrap_or(crate::model::bpe::merge::pairs::NONE)
    }
}

impl Bpe {
    /// Whether [`Bpe::encode_pieces`] can be used.
    pub fn serves_bytes(&self) -> bool {
        self.bytes.is_some()
    }

    /// Whether characters of several bytes are merged as wholes.
    pub fn serves_chars(&self) -> bool {
        self.atoms.is_some()
    }

    /// The ids of a piece without caches and whole characters; for those who compare.
    pub fn merge_bytes(&self, piece: &[u8], out: &mut Vec<u32>) {
        let Some(bytes) = &self.bytes else { return };
        match self.strays.id(Key::new(piece, 0, piece.len()), piece) {
            Some(id) => out.push(id),
            None => {
                bytes.merge(&self.pairs, &mut Merger::default(), piece, out);
            }
        }
    }

    /// Encodes all pieces that `scan` cuts `text` into.
    #[inline]
    pub fn encode_pieces<S: PieceScan>(
        &self,
        scratch: &mut BpeScratch,
        scan: &S,
        text: &[u8],
        out: &mut Vec<u32>,
    ) {
        scratch.batch.clear();
        let mut start = 0;
        while start < text.len() {
            if S::HAS_WINDOWS {
                let rest = text.get(start..).unwrap_or_default();
                let end = match rest.first_chunk() {
                    Some(view) => queue_window(&mut scratch.batch, scan, view, start),
                    None => queue_window(&mut scratch.batch, scan, &padded(rest), start),
                };
                if scratch.batch.is_full() {
                    self.settle(scratch, text, out);
                }
                if end > start {
                    start = end;
                    continue;
                }
            }
            let end = scan.piece_end(text, start).clamp(start + 1, text.len());
            scratch.batch.push(Key::new(text, start, end - start), start, end);
            if scratch.batch.is_full() {
                self.settle(scratch, text, out);
            }
            start = end;
        }
        self.settle(scratch, text, out);
    }

    /// Encodes pieces that were cut beforehand.
    pub fn encode_ranges(
        &self,
        scratch: &mut BpeScratch,
        text: &[u8],
        ranges: &[(u32, u32)],
        out: &mut Vec<u32>,
    ) {
        scratch.batch.clear();
        for &(start, end) in ranges {
            let (start, end) = (start as usize, end as usize);
            scratch.batch.push(Key::new(text, start, end.saturating_sub(start)), start, end);
            if scratch.batch.is_full() {
                self.settle(scratch, text, out);
            }
        }
        self.settle(scratch, text, out);
    }

    /// Encodes the pieces of the queue and empties it.
    #[inline(never)]
    fn settle(&self, scratch: &mut BpeScratch, text: &[u8], out: &mut Vec<u32>) {
        let Some(bytes) = &self.bytes else { return };
        let BpeScratch { merger, cache, batch, missed, segments, .. } = scratch;
        batch.look_up(cache);
        let mut copied = 0;
        for misses in batch.misses().chunks(Missed::ROOM) {
            let together = misses.len() > FEW;
            if together {
                missed.prepare(self, bytes, cache, batch, text, misses);
            }
            for (n, miss) in misses.iter().enumerate() {
                batch.append_ids(copied, miss.filled(), out);
                copied = miss.filled();
                let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
                let piece = text.get(start..end).unwrap_or_default();
                if !together || !missed.take(n, cache, key, piece, out) {
                    let place = Place { key, text, start, end };
                    self.encode_missed(merger, cache, segments, place, out);
                }
            }
        }
        batch.append_ids(copied, batch.filled(), out);
        batch.clear();
    }

    /// A piece that the first table does not know, or that is too long for it.
    #[inline(never)]
    fn encode_missed(
        &self,
        merger: &mut Merger,
        cache: &mut PieceCache,
        segments: &mut Segments,
        place: Place<'_>,
        out: &mut Vec<u32>,
    ) {
        let Place { key, text, start, end } = place;
        let piece = text.get(start..end).unwrap_or_default();
        let remembered = !is_long_han_or_kana(piece);
        if remembered && cache.recall(key, piece, out) {
            return;
        }
        let Some(tables) = self.tables() else { return };
        let before = out.len();
        match (self.whole(key, piece), &self.atoms) {
            (Some(id), _) => out.push(id),
            (None, Some(atoms)) if !piece.is_ascii() => {
                let model = segments::Model { tables, atoms };
                segments.encode(model, merger, text, start..end, out);
            }
            _ => tables.merge(merger, piece, out),
        }
        if remembered {
            cache.remember(key, piece, out.get(before..).unwrap_or_default());
        }
    }

    /// The id of a piece that is known to be one token.
    #[inline]
    pub fn whole(&self, key: Key, piece: &[u8]) -> Option<u32> {
        self.known.id(key, piece.len()).or_else(|| self.strays.id(key, piece))
    }
}

/// A piece that was looked up in vain.
struct Place<'a> {
    key: Key,
    text: &'a [u8],
    start: usize,
    end: usize,
}

/// Such a piece is seldom seen again, but its parts are.
#[inline]
fn is_long_han_or_kana(piece: &[u8]) -> bool {
    let is_lead = |byte: &u8| matches!(byte, 0xE3..=0xE9);
    // The first character, or the one behind a blank or behind punctuation of three bytes.
    piece.len() > MAX_KEY
        && piece.first_chunk().is_some_and(|[a, b, _, c]| [a, b, c].into_iter().any(is_lead))
}

/// The end of a text, followed by what no scanner knows: no piece is settled because of it.
pub(super) fn padded(rest: &[u8]) -> [u8; VIEW] {
    // In blocks of a fixed size, which are a few stores: a copy of any other is a call of the host.
    let mut view = [0xFF; VIEW];
    let (whole, behind) = rest.as_chunks::<BLOCK>();
    for (place, block) in view.as_chunks_mut().0.iter_mut().zip(whole) {
        *place = *block;
    }
    let places = view.get_mut(rest.len() - behind.len()..).unwrap_or_default();
    for (place, byte) in places.iter_mut().zip(behind) {
        *place = *byte;
    }
    view
}

/// Queues the pieces that are settled in the window at the start of `view`, which is at `base` of
/// the text; answers where they end.
#[inline(always)]
fn queue_window<S: PieceScan>(
    batch: &mut Batch,
    scan: &S,
    view: &[u8; VIEW],
    base: usize,
) -> usize {
    let Some(window) = view.first_chunk() else { return base };
    match scan.starts(window) {
        // The start that is known already.
        1 => base,
        starts => batch.push_window(view, starts, base),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reading;
    use super::*;
    use crate::definition::Merge;
    use crate::oracle::bpe::{byte_level_with, bytes_alone, merge_slowly};
    use crate::oracle::random::Random;
    use crate::split::scan::{ScanVisitor, Scanner};

    struct Encode<'a>(&'a Bpe, &'a mut BpeScratch, &'a [Merge], &'a str);

    impl ScanVisitor for Encode<'_> {
        type Output = ();

        fn visit<S: PieceScan>(self, scan: &S) {
            let Self(bpe, scratch, merges, text) = self;
            let (mut expected, mut start) = (Vec::new(), 0);
            while start < text.len() {
                let end = scan.piece_end(text.as_bytes(), start);
                let symbols: Vec<u32> =
                    text.as_bytes()[start..end].iter().map(|&byte| byte.into()).collect();
                expected.extend(merge_slowly(&symbols, merges).into_iter().map(|token| token.0));
                start = end;
            }
            let mut got = vec![7];
            bpe.encode_pieces(scratch, scan, text.as_bytes(), &mut got);
            assert_eq!(got[1..], expected, "{text:?}");
        }
    }

    /// Batches, windows, the end of the text and a cache that fills up, against one piece after the
    /// other.
    #[test]
    fn pieces_are_encoded_as_one_by_one() {
        let mut random = Random::new(77);
        let mut vocab = bytes_alone();
        let mut merges = Vec::new();
        let mut known: Vec<u32> = b" aabbc1.\n".iter().map(|&byte| byte.into()).collect();
        while merges.len() < 60 {
            let (left, right) = (*random.pick(&known), *random.pick(&known));
            let text = format!("{}{}", vocab.text(left).unwrap(), vocab.text(right).unwrap());
            if vocab.id(&text).is_some() || text.chars().count() > 9 {
                continue;
            }
            let product = vocab.id_bound();
            vocab.insert(&text, product).unwrap();
            known.push(product);
            merges.push(Merge { left, right, product });
        }
        let definition = byte_level_with(vocab, merges.clone());
        let bpe = Bpe::new(definition, Reading::Bytes);
        let mut scratch = bpe.scratch();
        let atoms =
            ["a", "b", "ab", "c", " ", "  ", "\n", "1", "12", ".", "'s", "é", "你", "A", "/"];
        for round in 0..500 {
            let kinds = 2 + random.below(atoms.len() - 1);
            let length = random.below(if round % 50 == 0 { 4000 } else { 200 });
            let text: String = (0..length).map(|_| atoms[random.below(kinds)]).collect();
            for scanner in [Scanner::Cl100k, Scanner::Qwen2, Scanner::O200k, Scanner::Gpt2] {
                scanner.visit(Encode(&bpe, &mut scratch, &merges, &text));
            }
        }
    }
}
