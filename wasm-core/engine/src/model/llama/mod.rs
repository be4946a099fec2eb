//! The models that llama.cpp computes in its own way.

mod longest;
mod texts;
mod unigram;
mod word_piece;

pub use longest::Longest;
pub use texts::Texts;
pub use unigram::Unigram;
pub use word_piece::WordPiece;

use super::token::Token;
use crate::definition::llama::LlamaModel;
use crate::error::{Error, Result};
use crate::vocab::Vocab;

#[derive(Debug)]
pub enum Llama {
    Texts(Texts),
    WordPiece(WordPiece),
    Unigram(Unigram),
    Longest(Longest),
}

impl Llama {
    pub fn new(definition: LlamaModel) -> Result<Self> {
        Ok(match definition {
            LlamaModel::Texts(texts) => Self::Texts(Texts::new(texts)),
            LlamaModel::WordPiece { vocab, unk } => Self::WordPiece(WordPiece::new(vocab, unk)),
            LlamaModel::Unigram(unigram) => Self::Unigram(Unigram::new(unigram)),
            LlamaModel::Longest { vocab, bytes } => Self::Longest(Longest::new(vocab, &bytes)),
            LlamaModel::Scored { .. } => {
                return Err(Error::internal("scored pairs are merged by ids"));
            }
        })
    }

    pub fn vocab(&self) -> &Vocab {
        match self {
            Self::Texts(model) => model.vocab(),
            Self::WordPiece(model) => &model.vocab,
            Self::Unigram(model) => &model.vocab,
            Self::Longest(model) => &model.vocab,
        }
    }

    pub fn tokens(&self, piece: &str, out: &mut Vec<Token>) -> Result<()> {
        match self {
            Self::Texts(model) => return model.tokens(piece, out),
            Self::WordPiece(model) => model.tokens(piece, out),
            Self::Unigram(model) => model.tokens(piece, out),
            Self::Longest(model) => model.tokens(piece, out),
        }
        Ok(())
    }
}
