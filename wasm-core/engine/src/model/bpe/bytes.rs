//! The way of bytes: pieces of raw text, a cache in front, and merges that start from bytes.

use super::cache::{Key, MAX_KEY};
use super::merge::{Merger, Short, SHORT};
use super::pairs::PairTable;
use super::{Bpe, BpeScratch};
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::split::scan::PieceScan;
use crate::vocab::Vocab;

/// Ids are collected on the stack and flushed in blocks: a store of fixed width is one instruction,
/// while growing a `Vec` by one to three ids each time is a call.
const BLOCK: usize = 1024;

struct Block<'a> {
    ids: [u32; BLOCK + 4],
    filled: usize,
    out: &'a mut Vec<u32>,
}

impl<'a> Block<'a> {
    fn new(out: &'a mut Vec<u32>) -> Self {
        Self { ids: [0; BLOCK + 4], filled: 0, out }
    }

    /// Appends the first `count` of three.
    #[inline(always)]
    fn push_some(&mut self, ids: [u32; 3], count: usize) {
        if self.filled > BLOCK {
            self.flush();
        }
        if let Some(place) = self.ids.get_mut(self.filled..).and_then(<[u32]>::first_chunk_mut) {
            *place = ids;
        }
        self.filled += count;
    }

    fn extend(&mut self, ids: &[u32]) {
        match self.ids.get_mut(self.filled..self.filled + ids.len()) {
            Some(place) => {
                place.iter_mut().zip(ids).for_each(|(place, id)| *place = *id);
                self.filled += ids.len();
            }
            None => {
                self.flush();
                self.out.extend_from_slice(ids);
            }
        }
    }

    #[inline(never)]
    fn flush(&mut self) {
        self.out.extend_from_slice(self.ids.get(..self.filled).unwrap_or_default());
        self.filled = 0;
    }
}

#[derive(Debug)]
pub struct ByteUnits {
    ids: [u32; 256],
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
        let mut units = Self { ids, first_ranks: Vec::new() };
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
        let byte = |at: usize| piece.get(at).copied().unwrap_or_default();
        let first_rank = |_, _, at: usize| self.first_rank(byte(at), byte(at + 1));
        let symbols = piece.iter().map(|&byte| self.id(byte));
        if piece.len() < 16 {
            let mut short = Short::<16>::new(symbols, first_rank);
            let last = short.merge(pairs);
            short.for_each(|id, _| out.push(id));
            return last;
        }
        if piece.len() <= SHORT {
            let mut short = Short::<64>::new(symbols, first_rank);
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

    #[inline]
    fn id(&self, byte: u8) -> u32 {
        self.ids[usize::from(byte)]
    }

    #[inline]
    fn first_rank(&self, left: u8, right: u8) -> u32 {
        let at = usize::from(left) << 8 | usize::from(right);
        self.first_ranks.get(at).copied().unwrap_or(super::pairs::NONE)
    }
}

impl Bpe {
    /// Whether [`Bpe::encode_pieces`] can be used.
    pub fn serves_bytes(&self) -> bool {
        self.bytes.is_some()
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
        let Some(bytes) = &self.bytes else { return };
        let mut ids = Block::new(out);
        let mut start = 0;
        while start < text.len() {
            if S::HAS_WINDOWS {
                if let Some(window) = text.get(start..).and_then(<[u8]>::first_chunk) {
                    let base = start;
                    // The lowest bit is the start that is known already.
                    let mut starts = scan.starts(window) & !1;
                    while starts != 0 {
                        let end = base + starts.trailing_zeros() as usize;
                        starts &= starts - 1;
                        self.encode_piece(bytes, scratch, text, start, end, &mut ids);
                        start = end;
                    }
                    if start > base {
                        continue;
                    }
                }
            }
            let end = scan.piece_end(text, start).clamp(start + 1, text.len());
            self.encode_piece(bytes, scratch, text, start, end, &mut ids);
            start = end;
        }
        ids.flush();
    }

    #[inline(always)]
    fn encode_piece(
        &self,
        bytes: &ByteUnits,
        scratch: &mut BpeScratch,
        text: &[u8],
        start: usize,
        end: usize,
        ids: &mut Block,
    ) {
        if end - start <= MAX_KEY {
            let (known, count) = scratch.cache.short(Key::new(text, start, end - start));
            ids.push_some(known, count);
            if count > 0 {
                return;
            }
        }
        self.encode_missed(bytes, scratch, text.get(start..end).unwrap_or_default());
        ids.extend(&scratch.missed);
    }

    /// Encodes pieces that were cut beforehand, by their ends.
    pub fn encode_ranges(
        &self,
        scratch: &mut BpeScratch,
        text: &[u8],
        ranges: &[(u32, u32)],
        out: &mut Vec<u32>,
    ) {
        let Some(bytes) = &self.bytes else { return };
        for &(start, end) in ranges {
            let (start, end) = (start as usize, end as usize);
            let Some(piece) = text.get(start..end) else { continue };
            if piece.len() <= MAX_KEY {
                let (ids, count) = scratch.cache.short(Key::new(text, start, piece.len()));
                if count > 0 {
                    out.extend_from_slice(ids.get(..count).unwrap_or_default());
                    continue;
                }
            }
            self.encode_missed(bytes, scratch, piece);
            out.extend_from_slice(&scratch.missed);
        }
    }

    /// A piece that the first table does not know, or that is too long for it, into
    /// `scratch.missed`.
    #[inline(never)]
    fn encode_missed(&self, bytes: &ByteUnits, scratch: &mut BpeScratch, piece: &[u8]) {
        let BpeScratch { merger, missed, cache, .. } = scratch;
        missed.clear();
        let key = (piece.len() <= MAX_KEY).then(|| Key::new(piece, 0, piece.len()));
        let known = cache.rest(key, piece);
        if !known.is_empty() {
            missed.extend_from_slice(known);
            return;
        }
        match self.strays.is_empty() {
            false if self.strays.contains_key(piece) => missed.extend(self.strays.get(piece)),
            _ => {
                bytes.merge(&self.pairs, merger, piece, missed);
            }
        }
        cache.insert(key, piece, missed);
    }
}
