//! From the texts of tokens back to text: the decoder chain of a file.

pub mod machine;
pub mod output;
pub mod steps;
pub mod table;
pub mod token_bytes;

#[cfg(test)]
mod tests;

use crate::definition::llama::TokenBytes;
use crate::definition::{Decoder, PrependScheme};
use crate::error::{Error, Result};

use machine::{Machine, Machines};
use output::stage::append;
use steps::replace::Replace;
use steps::strip::Strip;
use steps::whole::Whole;
use steps::{
    bpe, byte_fallback, byte_level, ctc, join, metaspace, pieces, replace, strip, word_piece,
};

pub use output::utf8::{Utf8, REPLACEMENT};
pub use steps::byte_fallback::{ByteRuns, MAX_RUN};
pub use steps::replace::CompileRegex;

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

    /// The text of a list of tokens. Which tokens to leave out (unknown ids, special ones) is
    /// settled before.
    pub fn decode_tokens<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) -> Result<String> {
        let mut text = String::new();
        let mut machines = self.machines(ByteRuns::Exact);
        for token in tokens {
            machines.push(token, &mut |part| append(&mut text, part))?;
        }
        machines.flush(&mut |part| append(&mut text, part))?;
        Ok(text)
    }

    /// The bytes of a list of tokens, before anything becomes U+FFFD. `None`: they are in the table
    /// of the tokenizer, or tokens have no bytes of their own.
    pub fn decode_token_bytes<'t>(
        &self,
        tokens: impl IntoIterator<Item = &'t str>,
    ) -> Option<Result<Vec<u8>>> {
        match self.steps.as_deref() {
            Some([Step::Pieces(pieces)]) if !pieces.rewrites_all() => Some(pieces.bytes(tokens)),
            _ => None,
        }
    }

    /// Fresh machines for one list of tokens.
    pub fn machines(&self, runs: ByteRuns) -> Machines<'_> {
        Machines(match self.steps.as_deref() {
            Some(steps) => {
                let mut machines = Vec::with_capacity(steps.len());
                let mut joined = false;
                for step in steps {
                    let mut machine = step.machine(runs);
                    if let Machine::Whole(whole) = &mut machine {
                        // Only the first: what it makes of an empty token is what the next one gets.
                        if std::mem::take(&mut joined) {
                            whole.comes_joined();
                        }
                    }
                    joined |= step.joins();
                    machines.push(machine);
                }
                machines
            }
            None => vec![Machine::Join(join::JoinMachine::default())],
        })
    }

    /// Whether the chain is `ByteLevel` alone: then all that counts is the bytes of the tokens.
    pub fn is_byte_level(&self) -> bool {
        matches!(self.steps.as_deref(), Some([Step::ByteLevel]))
    }

    /// The step, if there is one, that lets nothing out before the list ends: it wants to see all
    /// of a token, and gets one that joins everything.
    pub fn held_by(&self) -> Option<&'static str> {
        let mut joined = false;
        for step in self.steps.iter().flatten() {
            if matches!(step, Step::Pieces(pieces) if pieces.rewrites_all()) {
                return Some("denormalizer");
            }
            if joined {
                if let Machine::Whole(_) | Machine::ByteLevel(_) = step.machine(ByteRuns::Exact) {
                    return Some(step.name());
                }
            }
            joined |= step.joins();
        }
        None
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
    fn machine(&self, runs: ByteRuns) -> Machine<'_> {
        match self {
            Self::ByteLevel => Machine::ByteLevel(byte_level::ByteLevelMachine::default()),
            Self::ByteFallback => {
                Machine::ByteFallback(byte_fallback::ByteFallbackMachine::new(runs))
            }
            Self::Fuse => Machine::Fuse,
            Self::Strip(strip) => Machine::Strip(strip::StripMachine::new(*strip)),
            Self::Replace(replace) => match replace.literal() {
                Some(machine) => Machine::Literal(machine),
                None => Machine::Whole(Whole::new(replace::ReplaceStage::new(replace))),
            },
            &Self::Metaspace { replacement, prepend } => {
                Machine::Metaspace(metaspace::MetaspaceMachine::new(replacement, prepend))
            }
            Self::Bpe { suffix } => Machine::Bpe(bpe::BpeMachine::new(suffix)),
            Self::WordPiece { prefix, cleanup } => {
                let stage = word_piece::WordPieceStage::new(prefix, *cleanup);
                Machine::Whole(Whole::new(stage))
            }
            Self::Ctc(ctc) => Machine::Whole(Whole::new(ctc::CtcStage::new(ctc))),
            Self::Pieces(pieces) => Machine::Whole(Whole::new(pieces::PiecesStage::new(pieces))),
        }
    }

    /// As tokenizer.json names it.
    fn name(&self) -> &'static str {
        match self {
            Self::ByteLevel => "ByteLevel",
            Self::ByteFallback => "ByteFallback",
            Self::Fuse => "Fuse",
            Self::Strip(_) => "Strip",
            Self::Replace(_) => "Replace",
            Self::Metaspace { .. } => "Metaspace",
            Self::Bpe { .. } => "BPEDecoder",
            Self::WordPiece { .. } => "WordPiece",
            Self::Ctc(_) => "CTC",
            Self::Pieces(_) => "SentencePiece",
        }
    }

    /// Whether all tokens become one.
    fn joins(&self) -> bool {
        matches!(self, Self::ByteLevel | Self::Fuse)
    }

    /// Whether what becomes of a token depends on nothing but the token and on its being the first.
    fn forgets(&self) -> bool {
        matches!(
            self,
            Self::Strip(_) | Self::Replace(_) | Self::Metaspace { .. } | Self::WordPiece { .. }
        )
    }
}
