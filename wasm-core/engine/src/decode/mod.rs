//! From the texts of tokens back to text: the decoder chain of a file.

pub mod byte_level;

mod bpe;
mod byte_fallback;
mod ctc;
mod fuse;
mod metaspace;
mod pieces;
mod replace;
mod sentence_piece;
mod stage;
mod strip;
pub mod token_bytes;
mod word_piece;

#[cfg(test)]
mod tests;

use crate::definition::{Decoder, PrependScheme};
use crate::error::{Error, Result};
use crate::llama::TokenBytes;
use crate::text::FindMatches;

use replace::Replace;
use sentence_piece::SentencePiece;
use stage::{append, Stage};
use strip::Strip;

/// Makes a finder of a regular expression.
pub type CompileRegex<'a> = dyn Fn(&str) -> Result<Box<dyn FindMatches>> + 'a;

/// How a caller that knows its tokens' bytes should go about decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodePlan {
    /// The chain is `ByteLevel` alone: the text is [`byte_level::finish_bytes`] of all tokens'
    /// [`byte_level::push_token_bytes`], one behind the other.
    ByteLevel,
    /// Anything else: [`Decoders::decode_tokens`].
    Chain,
}

/// A file's decoder chain.
#[derive(Debug)]
pub struct Decoders {
    /// `None`: no decoder at all, which is not the same as a chain without steps.
    steps: Option<Vec<Step>>,
    /// The whole decoder, where it goes by ids.
    pub token_bytes: Option<Box<TokenBytes>>,
}

#[derive(Debug)]
enum Step {
    ByteLevel,
    ByteFallback,
    Fuse,
    Strip(Strip),
    Replace(Replace),
    Metaspace { replacement: char, prepend: PrependScheme },
    Bpe { suffix: String },
    WordPiece { prefix: String, cleanup: bool },
    Ctc(ctc::Ctc),
    Pieces(Box<pieces::Pieces>),
}

impl Decoders {
    pub fn new(chain: &Option<Vec<Decoder>>, compile_regex: &CompileRegex<'_>) -> Result<Self> {
        if let Some([Decoder::TokenBytes(bytes)]) = chain.as_deref() {
            return Ok(Self { steps: None, token_bytes: Some(bytes.clone()) });
        }
        let compile = |decoder: &Decoder| Step::new(decoder, compile_regex);
        let steps = match chain {
            Some(chain) => Some(chain.iter().map(compile).collect::<Result<_>>()?),
            None => None,
        };
        Ok(Self { steps, token_bytes: None })
    }

    pub fn plan(&self) -> DecodePlan {
        match self.steps.as_deref() {
            Some([Step::ByteLevel]) => DecodePlan::ByteLevel,
            _ => DecodePlan::Chain,
        }
    }

    /// The text of a list of tokens. Which tokens to leave out (unknown ids, special ones) is
    /// settled before.
    pub fn decode_tokens<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) -> Result<String> {
        let tokens = tokens.into_iter();
        let Some(steps) = self.steps.as_deref() else {
            return joined_with_spaces(tokens);
        };
        if let [Step::ByteLevel] = steps {
            let mut bytes = Vec::new();
            tokens.for_each(|token| byte_level::push_token_bytes(token, &mut bytes));
            return Ok(byte_level::finish_bytes(bytes));
        }
        match SentencePiece::recognise(steps) {
            Some(chain) => chain.decode(tokens),
            None => decode_in_stages(steps, tokens),
        }
    }
}

impl Step {
    fn new(decoder: &Decoder, compile_regex: &CompileRegex<'_>) -> Result<Self> {
        Ok(match decoder {
            Decoder::ByteLevel => Self::ByteLevel,
            Decoder::ByteFallback => Self::ByteFallback,
            Decoder::Fuse => Self::Fuse,
            &Decoder::Strip { content, start, stop } => Self::Strip(Strip { content, start, stop }),
            Decoder::Replace { pattern, content } => {
                Self::Replace(Replace::new(pattern, content, compile_regex)?)
            }
            &Decoder::Metaspace { replacement, prepend } => {
                Self::Metaspace { replacement, prepend }
            }
            Decoder::Bpe { suffix } => Self::Bpe { suffix: suffix.clone() },
            Decoder::WordPiece { prefix, cleanup } => {
                Self::WordPiece { prefix: prefix.clone(), cleanup: *cleanup }
            }
            Decoder::Ctc { pad_token, word_delimiter_token, cleanup } => Self::Ctc(ctc::Ctc {
                pad: pad_token.clone(),
                word_delimiter: word_delimiter_token.clone(),
                cleanup: *cleanup,
            }),
            Decoder::SentencePiece(definition) => {
                Self::Pieces(Box::new(pieces::Pieces::new(definition)?))
            }
            Decoder::TokenBytes(_) => return Err(Error::internal("a table of bytes stands alone")),
        })
    }

    /// A fresh machine for one list of tokens.
    fn stage(&self) -> Box<dyn Stage + '_> {
        match self {
            Self::ByteLevel => Box::new(byte_level::ByteLevelStage::default()),
            Self::ByteFallback => Box::new(byte_fallback::ByteFallbackStage::default()),
            Self::Fuse => Box::new(fuse::FuseStage::default()),
            Self::Strip(strip) => Box::new(*strip),
            Self::Replace(replace) => Box::new(replace::ReplaceStage::new(replace)),
            &Self::Metaspace { replacement, prepend } => {
                Box::new(metaspace::MetaspaceStage::new(replacement, prepend))
            }
            Self::Bpe { suffix } => Box::new(bpe::BpeStage::new(suffix)),
            Self::WordPiece { prefix, cleanup } => {
                Box::new(word_piece::WordPieceStage::new(prefix, *cleanup))
            }
            Self::Ctc(ctc) => Box::new(ctc::CtcStage::new(ctc)),
            Self::Pieces(pieces) => Box::new(pieces::PiecesStage::new(pieces)),
        }
    }
}

fn joined_with_spaces<'t>(tokens: impl Iterator<Item = &'t str>) -> Result<String> {
    let mut text = String::new();
    for (index, token) in tokens.enumerate() {
        if index > 0 {
            append(&mut text, " ")?;
        }
        append(&mut text, token)?;
    }
    Ok(text)
}

fn decode_in_stages<'t>(steps: &[Step], tokens: impl Iterator<Item = &'t str>) -> Result<String> {
    let mut stages: Vec<_> = steps.iter().map(Step::stage).collect();
    let mut text = String::new();
    for token in tokens {
        push_through(&mut stages, token, &mut text)?;
    }
    let mut rest = stages.as_mut_slice();
    while let Some((stage, behind)) = rest.split_first_mut() {
        stage.finish(&mut |token| push_through(behind, token, &mut text))?;
        rest = behind;
    }
    Ok(text)
}

fn push_through(stages: &mut [Box<dyn Stage + '_>], token: &str, text: &mut String) -> Result<()> {
    match stages.split_first_mut() {
        Some((stage, behind)) => stage.push(token, &mut |token| push_through(behind, token, text)),
        None => append(text, token),
    }
}
