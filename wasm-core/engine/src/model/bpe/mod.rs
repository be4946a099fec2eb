//! Byte-pair encoding by listed merges.
//!
//! Two ways lead to the same ids. The way of *characters* follows the reference step by step and
//! serves every file: characters become symbols, and symbols are merged. The way of *bytes*
//! (`byte_text`) is for byte-level vocabularies: it starts from the raw bytes, before they were
//! spelled in the byte alphabet, and remembers pieces in a cache. Where a vocabulary of characters
//! says that nothing joins two of them, the way of characters is taken part by part, with the cache
//! (`spaced_text`).
//!
//! `README.md` beside this file defines the words, and says what each room has.

pub mod byte_text;
pub mod cache;
pub mod learn;
pub mod long;
pub mod merge;
mod misses;
pub mod multibyte;
pub mod spaced;
mod spaced_text;

use super::token::Token;
use crate::definition::Bpe as Definition;
use crate::vocab::Vocab;
use cache::batch::Batch;
use cache::key::Key;
use cache::pieces::PieceCache;
use cache::unreachable::Unreachable;
use cache::vocabulary::Known;
use learn::Learned;
use long::backtrack::{PieceMerger, Tables};
use long::longest_token::Longest;
use merge::byte_units::ByteUnits;
use merge::pairs::PairTable;
use merge::symbols::{Symbol, Units, BLANK, BLANK_TEXT};
use misses::Missed;
use multibyte::char_atoms::CharAtoms;
use multibyte::segments::Segments;
use spaced::joins::Joins;

/// How pieces reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As they are.
    Characters,
    /// With spaces that stand for blanks, if the model can do with that.
    Spaced,
    /// In the byte alphabet.
    Bytes,
}

/// Text that has one of the bytes which the vocabulary lacks is encoded as characters, by the same
/// merges: that has to be all the difference.
fn may_lack_bytes(definition: &Definition) -> bool {
    let Definition { merges, unk, byte_fallback, ignore_merges, .. } = definition;
    let is_unknown = |id: u32| Some(id) == *unk;
    !byte_fallback
        && !ignore_merges
        && !merges.iter().any(|merge| is_unknown(merge.left) || is_unknown(merge.right))
}

#[derive(Debug)]
pub struct Bpe {
    pub vocab: Vocab,
    pairs: PairTable,
    units: Units,
    /// `None` where single bytes are missing from the vocabulary in a way that could be seen.
    bytes: Option<ByteUnits>,
    /// The same for parts that are ASCII, in a vocabulary of characters that has parts.
    ascii: Option<ByteUnits>,
    /// Whether spaces stand for blanks in parts.
    spaced: bool,
    known: Known,
    /// `None` where long pieces are merged like others.
    longest: Option<Longest>,
    /// `None` where all pieces are merged from bytes.
    atoms: Option<CharAtoms>,
    unreachable: Unreachable,
    /// `None` where a piece has to be merged as a whole.
    joins: Option<Joins>,
    ignore_merges: bool,
    /// What a new cache starts from: the vocabulary, with what encoding it gives.
    seed: PieceCache,
}

/// What encoding writes to, kept from call to call; belongs to one tokenizer.
#[derive(Debug)]
pub struct BpeScratch {
    merger: PieceMerger,
    symbols: Vec<Symbol>,
    cache: PieceCache,
    batch: Box<Batch>,
    missed: Box<Missed>,
    segments: Box<Segments>,
    /// The bytes of a piece that comes in the byte alphabet.
    spelled: Vec<u8>,
}

impl Bpe {
    pub fn new(definition: Definition, reading: Reading) -> Self {
        Self::with_ties(definition, reading, Vec::new())
    }

    /// With a class for each merge, ascending, or none: of one class the leftmost in the text comes
    /// first, whichever it is. Only characters have classes.
    pub fn with_ties(definition: Definition, reading: Reading, mut classes: Vec<u32>) -> Self {
        let mut pairs = PairTable::classed(&definition.merges, &classes);
        let units = Units::new(&definition);
        let decorated =
            definition.continuing_subword_prefix.as_ref().is_some_and(|p| !p.is_empty())
                || definition.end_of_word_suffix.as_ref().is_some_and(|s| !s.is_empty());
        let mut bytes = match reading == Reading::Bytes && !decorated && classes.is_empty() {
            true => ByteUnits::new(&definition.vocab, &pairs, may_lack_bytes(&definition)),
            false => None,
        };
        let joins = if bytes.is_some() { None } else { Joins::new(&definition) };
        let spaced = reading == Reading::Spaced;
        let Definition { vocab, mut merges, ignore_merges, .. } = definition;
        let Learned { seed, mut unreachable, known, all_happen } = match &mut bytes {
            Some(bytes) => learn::learn(&vocab, &mut merges, &mut pairs, bytes, ignore_merges),
            None if joins.is_some() => {
                learn::learn_chars(&vocab, &mut merges, &mut classes, &mut pairs, &units, spaced)
            }
            None => Learned { seed: PieceCache::none(), ..Learned::default() },
        };
        let known = Known::new(&known);
        unreachable
            .retain(|piece, _| known.id(Key::new(piece, 0, piece.len()), piece.len()).is_none());
        let unreachable = Unreachable::new(unreachable);
        let atoms = bytes.as_ref().and_then(|bytes| CharAtoms::new(&vocab, &merges, &pairs, bytes));
        let ascii = match joins {
            Some(_) => ByteUnits::of_ascii(&vocab, &units, &pairs, spaced),
            None => None,
        };
        let longest = match (&bytes, &ascii) {
            (Some(bytes), _) if all_happen => {
                Longest::new(&merges, &pairs, bytes.symbols(), &known)
            }
            (None, Some(_)) if all_happen => {
                let blank = if spaced { " " } else { BLANK_TEXT };
                Longest::new(&merges, &pairs, units.all(&vocab, blank), &known)
            }
            _ => None,
        };
        Self {
            vocab,
            pairs,
            units,
            bytes,
            ascii,
            spaced,
            known,
            longest,
            atoms,
            unreachable,
            joins,
            ignore_merges,
            seed,
        }
    }

    pub fn scratch(&self) -> BpeScratch {
        BpeScratch {
            merger: PieceMerger::default(),
            symbols: Vec::new(),
            cache: self.seed.clone(),
            batch: Box::default(),
            missed: Box::default(),
            segments: Box::new(Segments::new(self.atoms.is_some())),
            spelled: Vec::new(),
        }
    }

    /// What pieces of bytes are merged with.
    fn tables(&self) -> Option<Tables<'_>> {
        let Self { pairs, known, .. } = self;
        let bytes = self.bytes.as_ref()?;
        Some(Tables { pairs, bytes, known, longest: self.longest.as_ref(), chars: None })
    }

    /// Appends the ids of a long part of a vocabulary of characters; says whether it could.
    fn long_part(&self, merger: &mut PieceMerger, part: &str, out: &mut Vec<u32>) -> bool {
        let Self { pairs, known, ascii, longest: longest @ Some(_), .. } = self else {
            return false;
        };
        let Some(bytes) = ascii else { return false };
        let chars = (!part.is_ascii()).then_some((&self.units, &self.vocab));
        let tables = Tables { pairs, bytes, known, longest: longest.as_ref(), chars };
        match self.spaced && part.contains(BLANK) {
            true => tables.by_longest(merger, part.replace(BLANK, " ").as_bytes(), out),
            false => tables.by_longest(merger, part.as_bytes(), out),
        }
    }

    /// Whether no token has the two side by side; `None` where a piece has to be merged as a whole.
    pub fn apart(&self, left: char, right: char) -> Option<bool> {
        self.joins.as_ref().map(|joins| !joins.joined(left, right))
    }

    /// The way of characters, with the bytes that each token covers.
    pub fn tokens(&self, scratch: &mut BpeScratch, piece: &str, out: &mut Vec<Token>) {
        if self.ignore_merges {
            if let Some(id) = self.vocab.id(piece) {
                out.push(Token { id, start: 0, end: piece.len() as u32 });
                return;
            }
        }
        self.merge_symbols(scratch, piece);
        // The reference adds up the lengths of symbols, so a dropped character shifts the rest.
        let mut end = 0;
        let mut symbols = scratch.symbols.iter();
        let firsts = &scratch.merger.merger.firsts;
        for (n, &id) in scratch.merger.merger.ids.iter().enumerate() {
            let first = firsts.get(n).copied().unwrap_or_default();
            let after = firsts.get(n + 1).map_or(scratch.symbols.len(), |&f| f as usize);
            let start = end;
            for symbol in symbols.by_ref().take(after.saturating_sub(first as usize)) {
                end += symbol.len;
            }
            out.push(Token { id, start, end });
        }
    }

    /// The way of characters, ids only.
    pub fn ids(&self, scratch: &mut BpeScratch, piece: &str, out: &mut Vec<u32>) {
        if self.ignore_merges {
            if let Some(id) = self.vocab.id(piece) {
                out.push(id);
                return;
            }
        }
        if self.spelled_ids(scratch, piece, out) {
            return;
        }
        let Some(joins) = &self.joins else {
            self.merge_symbols(scratch, piece);
            out.extend_from_slice(&scratch.merger.merger.ids);
            return;
        };
        self.encode_parts(joins, scratch, piece, out);
    }

    fn merge_symbols(&self, scratch: &mut BpeScratch, piece: &str) {
        let BpeScratch { merger: PieceMerger { merger, .. }, symbols, .. } = scratch;
        self.units.symbols(&self.vocab, piece, false, symbols);
        merger.ids.clear();
        merger.ids.extend(symbols.iter().map(|symbol| symbol.id));
        merger.run(&self.pairs);
    }
}
