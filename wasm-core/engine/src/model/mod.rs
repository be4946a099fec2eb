//! The models: from a piece of text to ids.

pub mod bpe;
pub mod greedy;
pub mod llama;
pub mod sentencepiece;
pub mod token;
pub mod trie;
pub mod unigram;
pub mod word_level;
pub mod word_piece;

use crate::cuts::Because;
use crate::definition;
use crate::definition::llama::LlamaModel;
use crate::error::{Error, Result};
use crate::vocab::Vocab;
use bpe::{Bpe, BpeScratch, Reading};
use greedy::Greedy;
use llama::Llama;
use sentencepiece::{SentencePiece, SentencePieceScratch};
use std::ops::Range;
use unigram::{Unigram, UnigramScratch};
use word_level::WordLevel;
use word_piece::WordPiece;

pub use token::Token;

/// The model of a file, as tables.
#[derive(Debug)]
pub enum Model {
    Bpe(Box<Bpe>),
    WordLevel(Box<WordLevel>),
    WordPiece(Box<WordPiece>),
    Unigram(Box<Unigram>),
    SentencePiece(Box<SentencePiece>),
    Greedy(Box<Greedy>),
    Llama(Box<Llama>),
}

/// What encoding with a model writes to, kept from call to call; belongs to one tokenizer.
#[derive(Debug)]
pub enum ModelScratch {
    Bpe(Box<BpeScratch>),
    Unigram(UnigramScratch),
    /// The model writes to nothing but its result.
    None,
    SentencePiece(Box<SentencePieceScratch>),
}

impl Model {
    pub fn new(definition: definition::Model, reading: Reading) -> Result<Self> {
        Ok(match definition {
            definition::Model::Bpe(model) => Self::Bpe(Box::new(Bpe::new(model, reading))),
            definition::Model::WordLevel(model) => Self::WordLevel(Box::new(WordLevel::new(model))),
            definition::Model::WordPiece(model) => Self::WordPiece(Box::new(WordPiece::new(model))),
            definition::Model::Unigram(model) => Self::Unigram(Box::new(Unigram::new(model))),
            definition::Model::SentencePiece(model) => {
                Self::SentencePiece(Box::new(SentencePiece::new(model)))
            }
            definition::Model::Greedy(model) => Self::Greedy(Box::new(Greedy::new(model))),
            definition::Model::Llama(LlamaModel::Scored { bpe, ranks }) => {
                Self::Bpe(Box::new(Bpe::with_ties(bpe, reading, ranks)))
            }
            definition::Model::Llama(LlamaModel::Texts(texts)) if !texts.merges.is_empty() => {
                let (bpe, classes) = texts.by_id();
                Self::Bpe(Box::new(Bpe::with_ties(bpe, reading, classes)))
            }
            definition::Model::Llama(llama) => Self::Llama(Box::new(Llama::new(llama)?)),
        })
    }

    pub fn vocab(&self) -> &Vocab {
        match self {
            Self::Bpe(model) => &model.vocab,
            Self::Greedy(model) => &model.vocab,
            Self::Llama(llama) => llama.vocab(),
            Self::WordLevel(model) => &model.vocab,
            Self::WordPiece(model) => &model.vocab,
            Self::Unigram(model) => &model.vocab,
            Self::SentencePiece(model) => model.vocab(),
        }
    }

    /// How many tokens the model says it has: what comes behind it is numbered from here on.
    pub fn size(&self) -> usize {
        match self {
            Self::Unigram(model) => model.size(),
            _ => self.vocab().len(),
        }
    }

    pub fn scratch(&self) -> ModelScratch {
        match self {
            Self::Bpe(bpe) => ModelScratch::Bpe(Box::new(bpe.scratch())),
            Self::Unigram(_) => ModelScratch::Unigram(UnigramScratch::default()),
            Self::WordLevel(_) | Self::WordPiece(_) | Self::Greedy(_) | Self::Llama(_) => {
                ModelScratch::None
            }
            Self::SentencePiece(model) => ModelScratch::SentencePiece(Box::new(model.scratch())),
        }
    }

    /// The tokens of a piece, with the bytes that each covers.
    pub fn tokens(
        &self,
        scratch: &mut ModelScratch,
        piece: &str,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        match (self, scratch) {
            (Self::Bpe(model), ModelScratch::Bpe(scratch)) => {
                model.tokens(scratch, piece, out);
                Ok(())
            }
            (Self::Unigram(model), ModelScratch::Unigram(scratch)) => {
                model.tokens(scratch, piece, out)
            }
            (Self::SentencePiece(model), ModelScratch::SentencePiece(scratch)) => {
                model.tokens(scratch, piece, out);
                Ok(())
            }
            (Self::WordLevel(model), _) => model.tokens(piece, out),
            (Self::WordPiece(model), _) => model.tokens(piece, out),
            (Self::Greedy(model), _) => {
                model.tokens(piece, out);
                Ok(())
            }
            (Self::Llama(llama), _) => llama.tokens(piece, out),
            _ => Err(wrong_scratch()),
        }
    }

    /// The same as if the vocabulary had an entry only where `permits` says so: with its id and the
    /// bytes of the piece that it would cover. False: this model cannot do without an entry.
    pub fn permitted_tokens(
        &self,
        scratch: &mut ModelScratch,
        piece: &str,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Token>,
    ) -> Result<bool> {
        match (self, scratch) {
            (Self::Unigram(model), ModelScratch::Unigram(scratch)) => {
                model.permitted_tokens(scratch, piece, permits, out)?;
            }
            (Self::WordLevel(model), _) => {
                let id = model.permitted_id(piece, |id| permits(id, 0..piece.len()))?;
                out.push(Token { id, start: 0, end: piece.len() as u32 });
            }
            (Self::WordPiece(model), _) => model.permitted_tokens(piece, permits, out)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Ids only: the same ones.
    pub fn ids(&self, scratch: &mut ModelScratch, piece: &str, out: &mut Vec<u32>) -> Result<()> {
        match (self, scratch) {
            (Self::Bpe(model), ModelScratch::Bpe(scratch)) => {
                model.ids(scratch, piece, out);
                Ok(())
            }
            (Self::Unigram(model), ModelScratch::Unigram(scratch)) => {
                model.ids(scratch, piece, out)
            }
            (Self::SentencePiece(model), ModelScratch::SentencePiece(scratch)) => {
                model.ids(scratch, piece, out);
                Ok(())
            }
            (Self::WordLevel(model), _) => {
                out.push(model.id(piece)?);
                Ok(())
            }
            (Self::WordPiece(model), _) => model.ids(piece, out),
            (Self::Greedy(model), _) => {
                model.ids(piece, out);
                Ok(())
            }
            (Self::Llama(llama), _) => {
                let mut tokens = Vec::new();
                llama.tokens(piece, &mut tokens)?;
                out.extend(tokens.iter().map(|token| token.id));
                Ok(())
            }
            _ => Err(wrong_scratch()),
        }
    }

    /// Whether [`Self::spaced_ids`] can be used.
    pub fn reads_blanks(&self) -> bool {
        matches!(self, Self::Bpe(bpe) if bpe.has_parts())
    }

    /// The ids of a text in which spaces stand for blanks. `leads`: as if one more stood before it.
    pub fn spaced_ids(
        &self,
        scratch: &mut ModelScratch,
        text: &str,
        leads: bool,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (bpe, scratch) = self.as_bpe(scratch).ok_or_else(wrong_scratch)?;
        bpe.spaced_ids(scratch, text, leads, out);
        Ok(())
    }

    /// The ids of raw bytes, cut beforehand. Asks for [`Self::serves_bytes`].
    pub fn range_ids(
        &self,
        scratch: &mut ModelScratch,
        text: &[u8],
        ranges: &[(u32, u32)],
        out: &mut Vec<u32>,
    ) -> Result<()> {
        match (self, scratch) {
            (Self::Bpe(bpe), ModelScratch::Bpe(scratch)) => {
                bpe.encode_ranges(scratch, text, ranges, out);
            }
            (Self::Greedy(greedy), _) => {
                for &(start, end) in ranges {
                    let piece = text.get(start as usize..end as usize);
                    greedy.byte_ids(piece.unwrap_or_default(), out);
                }
            }
            _ => return Err(wrong_scratch()),
        }
        Ok(())
    }

    /// Whether a piece has the ids of its two halves if they meet between these characters, in every
    /// piece that has them side by side.
    pub fn apart(&self, left: char, right: char) -> std::result::Result<(), Because> {
        const JOINED: Because = "a token has the two characters side by side";
        let apart = match self {
            Self::Bpe(bpe) => bpe.apart(left, right),
            Self::SentencePiece(model) => model.apart(left, right),
            Self::Greedy(greedy) => Some(greedy.apart(left, right)),
            Self::Unigram(_) | Self::Llama(_) | Self::WordPiece(_) | Self::WordLevel(_) => None,
        };
        match apart {
            Some(true) => Ok(()),
            Some(false) => Err(JOINED),
            None => Err("it sees a piece as a whole, and no step always ends one at a cut"),
        }
    }

    /// The text of a token that [`Self::tokens`] gave for `piece`.
    pub fn text<'a>(&'a self, token: Token, piece: &'a str) -> &'a str {
        match self {
            Self::Unigram(model) => model.text(token, piece),
            _ => self.vocab().text(token.id).unwrap_or_default(),
        }
    }

    /// Whether pieces can be raw bytes, cut by a scanner.
    pub fn serves_bytes(&self) -> bool {
        match self {
            Self::Bpe(bpe) => bpe.serves_bytes(),
            Self::Greedy(_) => true,
            _ => false,
        }
    }

    /// Whether [`Self::range_ids`] can be used for this text.
    pub fn spells(&self, text: &[u8]) -> bool {
        match self {
            Self::Bpe(bpe) => bpe.spells(text),
            _ => self.serves_bytes(),
        }
    }

    /// SentencePiece's own models; what they say of a token differs from HuggingFace's.
    pub fn as_sentencepiece(&self) -> Option<&SentencePiece> {
        match self {
            Self::SentencePiece(model) => Some(model),
            _ => None,
        }
    }

    pub fn is_bpe(&self) -> bool {
        matches!(self, Self::Bpe(_))
    }

    /// The model and its scratch for the ways that only byte-pair encoding has.
    #[inline]
    pub fn as_bpe<'a>(
        &'a self,
        scratch: &'a mut ModelScratch,
    ) -> Option<(&'a Bpe, &'a mut BpeScratch)> {
        match (self, scratch) {
            (Self::Bpe(bpe), ModelScratch::Bpe(scratch)) => Some((bpe, scratch)),
            _ => None,
        }
    }
}

/// A file may do without the token for what is unknown, until something is.
fn unknown_token(name: &str) -> Error {
    Error::unsupported(
        "model:unk_token",
        format!("the text is not in the vocabulary, and neither is the unk_token {name:?}"),
    )
    .at_path("$.model.unk_token")
}

fn wrong_scratch() -> Error {
    Error::internal("the scratch belongs to another model")
}
