//! The models: from a piece of text to ids.

pub mod bpe;
pub mod trie;

use crate::definition;
use crate::error::{Error, Result};
use crate::vocab::Vocab;
use bpe::{Bpe, BpeScratch};

/// A token of a piece: its id and the bytes of the piece it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub id: u32,
    pub start: u32,
    pub end: u32,
}

/// The model of a file, as tables.
#[derive(Debug)]
pub enum Model {
    Bpe(Box<Bpe>),
}

/// What encoding with a model writes to, kept from call to call; belongs to one tokenizer.
#[derive(Debug)]
pub enum ModelScratch {
    Bpe(Box<BpeScratch>),
}

impl Model {
    /// `byte_level`: pieces reach the model spelled in the byte alphabet.
    pub fn new(definition: definition::Model, byte_level: bool) -> Result<Self> {
        match definition {
            definition::Model::Bpe(bpe) => Ok(Self::Bpe(Box::new(Bpe::new(bpe, byte_level)))),
            other => Err(Error::unsupported(
                format!("model:{}", other.name()),
                format!("the model \"{}\" is not served by the core", other.name()),
            )
            .at_path("$.model.type")),
        }
    }

    pub fn vocab(&self) -> &Vocab {
        match self {
            Self::Bpe(bpe) => &bpe.vocab,
        }
    }

    pub fn scratch(&self) -> ModelScratch {
        match self {
            Self::Bpe(bpe) => ModelScratch::Bpe(Box::new(bpe.scratch())),
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
            (Self::Bpe(bpe), ModelScratch::Bpe(scratch)) => bpe.tokens(scratch, piece, out),
        }
        Ok(())
    }

    /// Ids only: the same ones.
    pub fn ids(&self, scratch: &mut ModelScratch, piece: &str, out: &mut Vec<u32>) -> Result<()> {
        match (self, scratch) {
            (Self::Bpe(bpe), ModelScratch::Bpe(scratch)) => bpe.ids(scratch, piece, out),
        }
        Ok(())
    }

    /// Whether pieces can be raw bytes, cut by a scanner.
    pub fn serves_bytes(&self) -> bool {
        match self {
            Self::Bpe(bpe) => bpe.serves_bytes(),
        }
    }

    /// The model and its scratch for the ways that only byte-pair encoding has.
    #[inline]
    pub fn as_bpe<'a>(
        &'a self,
        scratch: &'a mut ModelScratch,
    ) -> Option<(&'a Bpe, &'a mut BpeScratch)> {
        match (self, scratch) {
            (Self::Bpe(bpe), ModelScratch::Bpe(scratch)) => Some((bpe, scratch)),
        }
    }
}
