//! A piece is a token, or unknown.

use super::{token::Token, unknown_token};
use crate::definition::WordLevel as Definition;
use crate::error::Result;
use crate::vocab::Vocab;

#[derive(Debug)]
pub struct WordLevel {
    pub vocab: Vocab,
    unk_token: String,
    /// The reference loads a file without it and fails at the first unknown piece.
    unk: Option<u32>,
}

impl WordLevel {
    pub fn new(definition: Definition) -> Self {
        let Definition { vocab, unk_token } = definition;
        let unk = vocab.id(&unk_token);
        Self { vocab, unk_token, unk }
    }

    #[inline]
    pub fn id(&self, piece: &str) -> Result<u32> {
        let id = self.vocab.id(piece).or(self.unk);
        id.ok_or_else(|| unknown_token(&self.unk_token))
    }

    /// The same as if the vocabulary had the piece only if `permits` says so.
    pub fn permitted_id(&self, piece: &str, permits: impl Fn(u32) -> bool) -> Result<u32> {
        let id = self.vocab.id(piece).filter(|&id| permits(id)).or(self.unk);
        id.ok_or_else(|| unknown_token(&self.unk_token))
    }

    pub fn tokens(&self, piece: &str, out: &mut Vec<Token>) -> Result<()> {
        out.push(Token { id: self.id(piece)?, start: 0, end: piece.len() as u32 });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn model(unk_token: &str) -> WordLevel {
        let mut vocab = Vocab::new();
        for (id, text) in (0..).zip(["a", "b", "<unk>"]) {
            vocab.insert(text, id).unwrap();
        }
        WordLevel::new(Definition { vocab, unk_token: unk_token.to_owned() })
    }

    #[test]
    fn known_or_unknown() {
        let known = model("<unk>");
        assert_eq!((known.id("b").unwrap(), known.id("ab").unwrap()), (1, 2));
        assert_eq!(known.permitted_id("b", |id| id != 1).unwrap(), 2);
        assert_eq!(known.permitted_id("b", |id| id != 0).unwrap(), 1);
        let mut tokens = Vec::new();
        known.tokens("xyz", &mut tokens).unwrap();
        assert_eq!(tokens, [Token { id: 2, start: 0, end: 3 }]);
    }

    #[test]
    fn without_an_unknown_token_only_unknown_pieces_fail() {
        let model = model("[UNK]");
        assert_eq!(model.id("a").unwrap(), 0);
        assert_eq!(model.id("x").unwrap_err().kind, ErrorKind::Unsupported);
    }
}
