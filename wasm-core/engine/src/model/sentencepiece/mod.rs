//! SentencePiece's models: Unigram, byte-pair encoding, words, characters.
//!
//! Each cuts the whole text into parts, and each part is a piece or unknown. What becomes of unknown
//! parts is the same for all: they are spelled in bytes, or neighbours are one.

mod agenda;
mod merges;
mod pieces;
mod unigram;
mod words;

#[cfg(test)]
mod tests;

use super::token::Token;
use crate::definition::{PieceAlgorithm, SentencePiece as Definition};
use crate::model::bpe::cache::key::Key;
use crate::model::bpe::cache::pieces::PieceCache;
use crate::model::bpe::BpeScratch;
use crate::vocab::Vocab;
use merges::{Merger, Merges};
use pieces::Pieces;
use unigram::{Best, Unigram};

/// A stretch of the text and the piece it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    start: u32,
    end: u32,
    id: u32,
}

#[derive(Debug)]
pub struct SentencePiece {
    pieces: Pieces,
    algorithm: Algorithm,
}

#[derive(Debug)]
enum Algorithm {
    Unigram(Box<Unigram>),
    Merges(Box<Merges>),
    /// Byte-pair encoding, step by step.
    Agenda,
    Words,
    Chars,
}

/// What encoding writes to, kept from call to call; belongs to one tokenizer.
#[derive(Debug)]
pub struct SentencePieceScratch {
    parts: Vec<Part>,
    best: Vec<Best>,
    merger: Merger,
    ids: Vec<u32>,
    cache: PieceCache,
    bpe: Option<Box<BpeScratch>>,
}

impl SentencePiece {
    pub fn new(definition: Definition) -> Self {
        let unigram = match definition.algorithm {
            PieceAlgorithm::Unigram => Some(Unigram::new(&definition)),
            _ => None,
        };
        let wanted = definition.algorithm;
        let pieces = Pieces::new(definition);
        let algorithm = match (wanted, unigram) {
            (PieceAlgorithm::Unigram, Some(unigram)) => Algorithm::Unigram(Box::new(unigram)),
            (PieceAlgorithm::Word, _) => Algorithm::Words,
            (PieceAlgorithm::Char, _) => Algorithm::Chars,
            _ => match Merges::new(&pieces) {
                Some(merges) => Algorithm::Merges(Box::new(merges)),
                None => Algorithm::Agenda,
            },
        };
        Self { pieces, algorithm }
    }

    pub fn vocab(&self) -> &Vocab {
        &self.pieces.vocab
    }

    pub fn unk(&self) -> u32 {
        self.pieces.unk
    }

    /// Whether no piece has the two side by side; `None` where a text has to be seen as a whole.
    /// Unknown characters on both sides would become one, so the one before has to be known.
    pub fn apart(&self, left: char, right: char) -> Option<bool> {
        let Algorithm::Merges(merges) = &self.algorithm else { return None };
        let known = self.pieces.bytes.is_some()
            || self
                .pieces
                .vocab
                .id(left.encode_utf8(&mut [0; 4]))
                .is_some_and(|id| id != self.unk());
        Some(known && !merges.joins.joined(left, right))
    }

    pub fn scratch(&self) -> SentencePieceScratch {
        SentencePieceScratch {
            parts: Vec::new(),
            best: Vec::new(),
            merger: Merger::default(),
            ids: Vec::new(),
            cache: match &self.algorithm {
                Algorithm::Merges(merges) if merges.bpe.is_none() => PieceCache::default(),
                _ => PieceCache::none(),
            },
            bpe: match &self.algorithm {
                Algorithm::Merges(merges) => merges.bpe.as_ref().map(|bpe| Box::new(bpe.scratch())),
                _ => None,
            },
        }
    }

    /// The tokens of a text, with the bytes that each covers. Of an unknown part that is spelled in
    /// bytes the last one covers the part, the others nothing before it.
    pub fn tokens(&self, scratch: &mut SentencePieceScratch, text: &str, out: &mut Vec<Token>) {
        scratch.parts.clear();
        self.parts(scratch, text);
        let first = out.len();
        for &Part { start, end, id } in &scratch.parts {
            match (&self.pieces.bytes, id == self.pieces.unk) {
                (Some(ids), true) => {
                    let content = text.as_bytes().get(start as usize..end as usize);
                    let spelled = content.unwrap_or_default().iter();
                    let spelled = spelled.filter_map(|&byte| ids.get(usize::from(byte)));
                    out.extend(spelled.map(|&id| Token { id, start, end: start }));
                    if let Some(last) = out.last_mut() {
                        last.end = end;
                    }
                }
                (None, true) if out.len() > first && out.last().is_some_and(|t| t.id == id) => {
                    if let Some(last) = out.last_mut() {
                        last.end = end;
                    }
                }
                _ => out.push(Token { id, start, end }),
            }
        }
    }

    /// Ids only: the same ones.
    pub fn ids(&self, scratch: &mut SentencePieceScratch, text: &str, out: &mut Vec<u32>) {
        let first = out.len();
        let Algorithm::Merges(merges) = &self.algorithm else {
            scratch.parts.clear();
            self.parts(scratch, text);
            self.push_ids(text, &scratch.parts, first, out);
            return;
        };
        if let (Some(bpe), Some(scratch)) = (&merges.bpe, &mut scratch.bpe) {
            self.pieces.stretches(text, |stretch, user_defined| {
                bpe.ids(scratch, stretch, out);
                out.extend(user_defined);
            });
            let unk = self.pieces.unk;
            if self.pieces.bytes.is_none() && out.iter().skip(first).any(|&id| id == unk) {
                self.fuse_unknown(first, out);
            }
            return;
        }
        merges.joins.parts(text, |start, end| {
            let part = text.get(start..end).unwrap_or_default();
            let key = Key::new(text.as_bytes(), start, end - start);
            let (ids, count) = scratch.cache.short(key);
            if count > 0 {
                self.append(ids.get(..count).unwrap_or_default(), first, out);
                return;
            }
            scratch.ids.clear();
            if scratch.cache.recall(key, part.as_bytes(), &mut scratch.ids) {
                self.append(&scratch.ids, first, out);
                return;
            }
            scratch.parts.clear();
            merges.parts(&self.pieces, part, &mut scratch.merger, &mut scratch.parts);
            self.push_ids(part, &scratch.parts, 0, &mut scratch.ids);
            scratch.cache.remember(key, part.as_bytes(), &scratch.ids);
            self.append(&scratch.ids, first, out);
        });
    }

    /// Leaves one of unknown ids side by side.
    fn fuse_unknown(&self, first: usize, out: &mut Vec<u32>) {
        let unk = self.pieces.unk;
        let new = out.split_off(first);
        for one in new.chunk_by(|left, right| (*left == unk) == (*right == unk)) {
            let kept = if one.first() == Some(&unk) { 1 } else { one.len() };
            out.extend_from_slice(one.get(..kept).unwrap_or_default());
        }
    }

    /// Appends ids of which the first may be the unknown one, as may the one before it.
    #[inline]
    fn append(&self, ids: &[u32], first: usize, out: &mut Vec<u32>) {
        let unk = self.pieces.unk;
        match ids {
            [id, rest @ ..] if *id == unk && out.len() > first && out.last() == Some(id) => {
                out.extend_from_slice(rest);
            }
            ids => out.extend_from_slice(ids),
        }
    }

    fn push_ids(&self, text: &str, parts: &[Part], first: usize, out: &mut Vec<u32>) {
        for &Part { start, end, id } in parts {
            if id != self.pieces.unk {
                out.push(id);
            } else if let Some(ids) = &self.pieces.bytes {
                let content = text.as_bytes().get(start as usize..end as usize);
                let spelled = content.unwrap_or_default().iter();
                out.extend(spelled.filter_map(|&byte| ids.get(usize::from(byte))));
            } else {
                self.append(&[id], first, out);
            }
        }
    }

    fn parts(&self, scratch: &mut SentencePieceScratch, text: &str) {
        let SentencePieceScratch { parts, best, merger, .. } = scratch;
        match &self.algorithm {
            Algorithm::Unigram(unigram) => unigram.parts(text, best, parts),
            Algorithm::Merges(merges) => merges.parts(&self.pieces, text, merger, parts),
            Algorithm::Agenda => agenda::parts(&self.pieces, text, parts),
            Algorithm::Words => words::words(&self.pieces, text, parts),
            Algorithm::Chars => words::chars(&self.pieces, text, parts),
        }
    }
}
