//! The pieces of a SentencePiece model: what text may become, and what it may not.

use crate::definition::{PieceKind, SentencePiece as Definition};
use crate::model::trie::Trie;
use crate::vocab::Vocab;

#[derive(Debug)]
pub struct Pieces {
    pub vocab: Vocab,
    pub scores: Vec<f32>,
    kinds: Vec<PieceKind>,
    pub unk: u32,
    /// The ids of the 256 bytes, where the model falls back to them.
    pub bytes: Option<Vec<u32>>,
    user_defined: Trie,
}

impl Pieces {
    pub fn new(definition: Definition) -> Self {
        let Definition { vocab, scores, kinds, unk, byte_fallback, .. } = definition;
        let user_defined = (0u32..)
            .zip(&kinds)
            .filter(|(_, kind)| **kind == PieceKind::UserDefined)
            .filter_map(|(id, _)| Some((vocab.text(id)?.as_bytes(), id)));
        let user_defined = Trie::new(user_defined);
        let id_of = |byte: u8| vocab.id(&format!("<0x{byte:02X}>")).unwrap_or(unk);
        let bytes = byte_fallback.then(|| (0..=255).map(id_of).collect());
        Self { vocab, scores, kinds, unk, bytes, user_defined }
    }

    pub fn kind(&self, id: u32) -> PieceKind {
        self.kinds.get(id as usize).copied().unwrap_or(PieceKind::Unused)
    }

    /// The piece that text of this content is or merges to. Names of control pieces, of bytes and
    /// of the unknown are text like any other.
    #[inline]
    pub fn possible(&self, text: &str) -> Option<u32> {
        let id = self.vocab.id(text)?;
        let kind = self.kind(id);
        matches!(kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused).then_some(id)
    }

    /// The id that text of this content ends as: unused pieces are unknown.
    pub fn result(&self, text: &str) -> u32 {
        let used = self.possible(text).filter(|&id| self.kind(id) != PieceKind::Unused);
        used.unwrap_or(self.unk)
    }

    /// The length of the symbol that begins at `start`, and whether it is a user-defined one.
    /// `None` at the end.
    #[inline]
    pub fn symbol(&self, text: &str, start: usize) -> Option<(usize, bool)> {
        let rest = text.get(start..)?;
        match self.user_defined.longest_prefix(rest.as_bytes()) {
            Some((length, _)) => Some((length, true)),
            None => rest.chars().next().map(|c| (c.len_utf8(), false)),
        }
    }

    /// Calls `each` for the text up to each user-defined symbol, with this one, and for the rest.
    pub fn stretches<'a>(&self, text: &'a str, mut each: impl FnMut(&'a str, Option<u32>)) {
        let (mut start, mut at) = (0, if self.user_defined.longest() > 0 { 0 } else { text.len() });
        while let Some((length, user_defined)) = self.symbol(text, at) {
            if user_defined {
                let id = text.get(at..at + length).and_then(|symbol| self.possible(symbol));
                each(text.get(start..at).unwrap_or_default(), id);
                start = at + length;
            }
            at += length;
        }
        each(text.get(start..).unwrap_or_default(), None);
    }

    pub fn has_unused(&self) -> bool {
        self.kinds.contains(&PieceKind::Unused)
    }

    pub fn ids(&self) -> impl Iterator<Item = (u32, &str, PieceKind)> {
        let kinds = (0u32..).zip(&self.kinds);
        kinds.filter_map(|(id, &kind)| Some((id, self.vocab.text(id)?, kind)))
    }
}
