//! The way of bytes: pieces of raw text, a cache in front, and merges that start from bytes.

use super::misses::Missed;
use super::{Bpe, BpeScratch};
use crate::model::bpe::cache::batch::{Batch, VIEW};
use crate::model::bpe::cache::key::Key;
use crate::model::bpe::cache::pieces::PieceCache;
use crate::model::bpe::long::backtrack::PieceMerger;
use crate::model::bpe::merge::merger::Merger;
use crate::model::bpe::multibyte::segments::{self, Segments};
use crate::split::byte_level::byte_of_char;
use crate::split::scan::PieceScan;

/// So few missed pieces have nothing to share: what it takes to merge them together costs more.
const FEW: usize = 2;

/// Bytes that are copied together.
const BLOCK: usize = 16;

impl Bpe {
    /// Whether [`Bpe::encode_pieces`] can be used.
    pub fn serves_bytes(&self) -> bool {
        self.bytes.is_some()
    }

    /// Whether it can be used for this text.
    #[inline]
    pub fn spells(&self, text: &[u8]) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| bytes.spell(text))
    }

    /// Whether characters of several bytes are merged as wholes.
    pub fn serves_chars(&self) -> bool {
        self.atoms.is_some()
    }

    /// The ids of a piece without caches and whole characters, for comparisons.
    pub fn merge_bytes(&self, piece: &[u8], out: &mut Vec<u32>) {
        let Some(bytes) = &self.bytes else { return };
        match self.unreachable.id(Key::new(piece, 0, piece.len()), piece) {
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

    /// The ids of a piece in the byte alphabet; says whether it is one whose bytes have tokens.
    pub(super) fn spelled_ids(
        &self,
        scratch: &mut BpeScratch,
        piece: &str,
        out: &mut Vec<u32>,
    ) -> bool {
        let mut bytes = std::mem::take(&mut scratch.spelled);
        bytes.clear();
        if self.serves_bytes() {
            bytes.extend(piece.chars().map_while(byte_of_char));
        }
        let serves = bytes.len() == piece.chars().count() && self.spells(&bytes);
        match self.tables().filter(|_| serves) {
            // A step that cuts letters of the alphabet may have cut inside a character.
            Some(tables) if std::str::from_utf8(&bytes).is_err() => {
                tables.merge(&mut scratch.merger, &bytes, out);
            }
            _ if serves => self.encode_ranges(scratch, &bytes, &[(0, bytes.len() as u32)], out),
            _ => {}
        }
        scratch.spelled = bytes;
        serves
    }

    /// Encodes the pieces of the queue and empties it.
    #[inline(never)]
    fn settle(&self, scratch: &mut BpeScratch, text: &[u8], out: &mut Vec<u32>) {
        let Some(bytes) = &self.bytes else { return };
        let BpeScratch { merger, cache, batch, missed, segments, .. } = scratch;
        let segments: &mut Segments = segments;
        batch.look_up(cache, text);
        let mut copied = 0;
        for misses in batch.misses().chunks(Missed::ROOM) {
            segments.clear();
            let together = misses.len() > FEW;
            if together {
                let working = (&mut *cache, &mut *segments, &mut *merger);
                missed.prepare(self, bytes, working, batch, text, misses);
            }
            for (n, miss) in misses.iter().enumerate() {
                batch.append_ids(copied, miss.filled(), out);
                copied = miss.filled();
                let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
                let piece = text.get(start..end).unwrap_or_default();
                if !together || !missed.take(n, cache, segments, key, piece, out) {
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
        merger: &mut PieceMerger,
        cache: &mut PieceCache,
        segments: &mut Segments,
        place: Place<'_>,
        out: &mut Vec<u32>,
    ) {
        let Place { key, text, start, end } = place;
        let piece = text.get(start..end).unwrap_or_default();
        if cache.recall(key, piece, out) {
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
        cache.remember(key, piece, out.get(before..).unwrap_or_default());
    }

    /// Whether a piece is merged from bytes, together with others. Of Han characters, kana, Hangul and
    /// Thai letters many are one token: merging from characters takes fewer steps there. In a
    /// vocabulary of characters only ASCII has bytes.
    #[inline]
    pub fn merges_bytes(&self, piece: &[u8]) -> bool {
        let begins_one = |pair: &[u8]| match *pair {
            [lead, next] => matches!(lead, 0xE3..=0xED) | ((lead == 0xE0) & (next >= 0xB8)),
            _ => false,
        };
        match self.bytes {
            // Without a branch for each byte.
            Some(_) => !piece.windows(2).fold(false, |any, pair| any | begins_one(pair)),
            None => piece.is_ascii(),
        }
    }

    /// The id of a piece that is known to be one token.
    #[inline]
    pub fn whole(&self, key: Key, piece: &[u8]) -> Option<u32> {
        self.known.id(key, piece.len()).or_else(|| self.unreachable.id(key, piece))
    }
}

/// A piece that was looked up in vain.
struct Place<'a> {
    key: Key,
    text: &'a [u8],
    start: usize,
    end: usize,
}

/// The end of a text, with spaces behind it. For the piece in front of them they are what the end of
/// the text is, and those at the end of a window are not settled.
pub(super) fn padded(rest: &[u8]) -> [u8; VIEW] {
    // In blocks of a fixed size, which are a few stores: a copy of any other is a call of the host.
    let mut view = [b' '; VIEW];
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
    use crate::split::byte_level::CHAR_OF_BYTE;
    use crate::split::scan::{ScanVisitor, Scanner};
    use crate::vocab::Vocab;

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
        let symbols = b" aabbc1.\n\xC3\xA9\xD0\xB6\xD1\x8F\xEA\xB0\x80";
        let mut known: Vec<u32> = symbols.iter().map(|&byte| byte.into()).collect();
        while merges.len() < 90 {
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
        // Of ids with two texts characters are not known, so all pieces are merged from bytes.
        let mut shared = vocab.clone();
        shared.insert("another text", merges[0].product).unwrap();
        let mut models = [vocab, shared].map(|vocab| {
            let bpe = Bpe::new(byte_level_with(vocab, merges.clone()), Reading::Bytes);
            let scratch = bpe.scratch();
            (bpe, scratch)
        });
        assert!(models[0].0.atoms.is_some() && models[1].0.atoms.is_none());
        let atoms = [
            "a", "b", "ab", "c", " ", "  ", "\n", "1", "12", ".", "'s", "é", "я", "ж", "Жя", "你",
            "가", "A", "/",
        ];
        for round in 0..500 {
            let kinds = 2 + random.below(atoms.len() - 1);
            let length = random.below(if round % 50 == 0 { 4000 } else { 200 });
            let text: String = (0..length).map(|_| atoms[random.below(kinds)]).collect();
            let (bpe, scratch) = &mut models[round % 2];
            for scanner in [Scanner::Cl100k, Scanner::Qwen2, Scanner::O200k, Scanner::Gpt2] {
                scanner.visit(Encode(bpe, scratch, &merges, &text));
            }
        }
    }

    /// Pieces in the byte alphabet, also such that begin inside a character or have bytes without a
    /// token, which vanish.
    #[test]
    fn spelled_pieces_are_those_bytes() {
        const LACKING: [u8; 2] = [3, 0xF2];
        let mut random = Random::new(79);
        let mut vocab = Vocab::new();
        for (byte, c) in (0u8..=255).zip(CHAR_OF_BYTE) {
            if !LACKING.contains(&byte) {
                vocab.insert(&c.to_string(), byte.into()).unwrap();
            }
        }
        let (mut merges, mut known): (Vec<Merge>, Vec<u32>) =
            (Vec::new(), [97, 98, 99, 32, 0xC3, 0xA9, 0xE4, 0xBD, 0xA0].into());
        while merges.len() < 80 {
            let (left, right) = (*random.pick(&known), *random.pick(&known));
            let text = format!("{}{}", vocab.text(left).unwrap(), vocab.text(right).unwrap());
            if vocab.id(&text).is_none() && text.chars().count() < 12 {
                let product = vocab.id_bound();
                vocab.insert(&text, product).unwrap();
                known.push(product);
                merges.push(Merge { left, right, product });
            }
        }
        let bpe = Bpe::new(byte_level_with(vocab, merges.clone()), Reading::Bytes);
        let mut scratch = bpe.scratch();
        let (mut cut, mut lacking) = (0, 0);
        for round in 0..3000 {
            let length = 1 + random.below(if round % 30 == 0 { 600 } else { 40 });
            let atoms: [&[u8]; 8] =
                [b"a", b"b", b"c", b" ", b"\xC3\xA9", b"\xE4\xBD\xA0", b"\xA9", b"\x03"];
            let kinds = 1 + random.below(atoms.len());
            let bytes: Vec<u8> =
                (0..length).flat_map(|_| atoms[random.below(kinds)].iter().copied()).collect();
            let piece: String = bytes.iter().map(|&byte| CHAR_OF_BYTE[usize::from(byte)]).collect();
            let symbols: Vec<u32> = bytes.iter().map(|&byte| byte.into()).collect();
            let symbols: Vec<u32> = symbols.into_iter().filter(|&id| id != 3).collect();
            cut += usize::from(std::str::from_utf8(&bytes).is_err());
            lacking += usize::from(bytes.len() > symbols.len());
            let expected: Vec<u32> =
                merge_slowly(&symbols, &merges).into_iter().map(|token| token.0).collect();
            let mut ids = Vec::new();
            bpe.ids(&mut scratch, &piece, &mut ids);
            assert_eq!(ids, expected, "{piece:?}");
        }
        assert!(cut > 300 && lacking > 200, "{cut} {lacking}");
    }
}
