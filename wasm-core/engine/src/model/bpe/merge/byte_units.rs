//! The symbols of bytes: where merging starts in a byte-level vocabulary, and in the ASCII of others.

use super::merger::{fits_short, Merger, Short, SHORT};
use super::pairs::{PairTable, NONE, PACKED_IDS};
use super::symbols::Units;
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::vocab::Vocab;

static ALL_BYTES: [u8; 256] = {
    let (mut bytes, mut at) = ([0; 256], 0);
    while at < 256 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

#[derive(Debug)]
pub struct ByteUnits {
    ids: [u32; 256],
    /// Whether all of them can be asked for in a table of packed slots.
    pub are_packed: bool,
    /// The bytes without a token: text that has one of them is encoded as characters.
    lacks: Option<Box<[bool; 256]>>,
    /// Ranks of all pairs of bytes: the first round of every merge asks for nothing else.
    first_ranks: Vec<u32>,
}

impl ByteUnits {
    /// `None` unless every byte that UTF-8 can hold has a token, or `may_lack` some.
    pub fn new(vocab: &Vocab, pairs: &PairTable, may_lack: bool) -> Option<Self> {
        let mut ids = [0u32; 256];
        let mut lacks: Option<Box<[bool; 256]>> = None;
        let mut buffer = [0; 4];
        for ((byte, id), c) in (0u8..=255).zip(ids.iter_mut()).zip(CHAR_OF_BYTE) {
            *id = match vocab.id(c.encode_utf8(&mut buffer)) {
                Some(known) => known,
                None if matches!(byte, 0xC0 | 0xC1 | 0xF5..) => 0,
                None if may_lack => {
                    lacks.get_or_insert_with(|| Box::new([false; 256]))[usize::from(byte)] = true;
                    0
                }
                None => return None,
            };
        }
        let are_packed = ids.iter().all(|id| *id < PACKED_IDS);
        let mut units = Self { ids, are_packed, lacks, first_ranks: Vec::new() };
        units.rank_first_round(pairs);
        Some(units)
    }

    /// For text of a vocabulary of characters that is ASCII and in which, where it is `spaced`, spaces
    /// stand for blanks. `None` where a character is not one symbol.
    pub fn of_ascii(vocab: &Vocab, units: &Units, pairs: &PairTable, spaced: bool) -> Option<Self> {
        let mut ids = [0u32; 256];
        let (mut symbols, mut buffer) = (Vec::new(), [0; 4]);
        for (byte, id) in (0u8..0x80).zip(ids.iter_mut()) {
            let c = char::from(byte).encode_utf8(&mut buffer);
            units.symbols(vocab, c, spaced, &mut symbols);
            let &[symbol] = symbols.as_slice() else { return None };
            *id = symbol.id;
        }
        let are_packed = ids.iter().all(|id| *id < PACKED_IDS);
        let mut units = Self { ids, are_packed, lacks: None, first_ranks: Vec::new() };
        units.rank_first_round(pairs);
        Some(units)
    }

    /// Whether each byte of a text has a token.
    #[inline]
    pub fn spell(&self, text: &[u8]) -> bool {
        let Some(lacks) = &self.lacks else { return true };
        !text.iter().any(|&byte| lacks[usize::from(byte)])
    }

    /// The bytes with their ids. Those that no text has may share an id with one that some have, and
    /// come behind it.
    pub fn symbols(&self) -> impl Iterator<Item = (&'static [u8], u32)> + '_ {
        let bytes = ALL_BYTES.chunks(1).zip(self.ids);
        bytes.filter(|(byte, _)| self.spell(byte))
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
        self.first_ranks.get(at).copied().unwrap_or(NONE)
    }
}
