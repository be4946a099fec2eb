//! The `model` of a tokenizer.json: the large part, read without building a tree of it.

use super::merges::read_merges;
use super::vocab::{read_scored, read_vocab};
use crate::definition::{Bpe, Model, Unigram, WordLevel, WordPiece};
use crate::error::{Error, Result};
use crate::formats::json::{syntax_error, Node};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Value;
use std::borrow::Cow;

/// Which model it is decides which of these count; the others may hold anything.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    dropout: Option<Value>,
    unk_token: Option<Value>,
    unk_id: Option<Value>,
    continuing_subword_prefix: Option<Value>,
    end_of_word_suffix: Option<Value>,
    max_input_chars_per_word: Option<Value>,
    fuse_unk: Option<Value>,
    byte_fallback: Option<Value>,
    ignore_merges: Option<Value>,
    #[serde(borrow)]
    vocab: Option<&'a RawValue>,
    #[serde(borrow)]
    merges: Option<&'a RawValue>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Bpe,
    WordPiece,
    WordLevel,
    Unigram,
}

/// `offset` is where `text` starts in the file.
pub fn read(text: &str, offset: u64) -> Result<Model> {
    let parts: Parts = serde_json::from_str(text)
        .map_err(|error| syntax_error(&error, text, offset).at_path("$.model"))?;
    let source = Source { text, offset };
    Ok(match parts.kind()? {
        Kind::Bpe => Model::Bpe(parts.bpe(source)?),
        Kind::WordPiece => Model::WordPiece(parts.word_piece(source)?),
        Kind::WordLevel => Model::WordLevel(parts.word_level(source)?),
        Kind::Unigram => Model::Unigram(parts.unigram(source)?),
    })
}

/// The text of the model and its place in the file.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    offset: u64,
}

impl Source<'_> {
    fn offset_of(self, raw: &RawValue) -> u64 {
        let inside = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.offset + inside as u64
    }
}

impl Parts<'_> {
    /// Files of old versions leave the type out. The reference then takes the first model that the
    /// fields fit, in this order.
    fn kind(&self) -> Result<Kind> {
        let is_map = self.vocab.is_some_and(|raw| raw.get().starts_with('{'));
        let is_list = self.vocab.is_some_and(|raw| raw.get().starts_with('['));
        Ok(match self.kind.as_deref() {
            Some("BPE") => Kind::Bpe,
            Some("WordPiece") => Kind::WordPiece,
            Some("WordLevel") => Kind::WordLevel,
            Some("Unigram") => Kind::Unigram,
            Some(other) => {
                return Err(Error::unsupported(
                    format!("model:{other}"),
                    format!("the model \"{other}\" is not served by the core"),
                )
                .at_path("$.model.type"))
            }
            None if is_map && self.merges.is_some() => Kind::Bpe,
            None if is_map && self.unk_token.is_some() => {
                let word_piece = self.continuing_subword_prefix.is_some()
                    && self.max_input_chars_per_word.is_some();
                if word_piece {
                    Kind::WordPiece
                } else {
                    Kind::WordLevel
                }
            }
            None if is_list => Kind::Unigram,
            None => {
                return Err(Error::unsupported(
                    "model:untyped",
                    "a model without \"type\" whose fields are those of no known model",
                )
                .at_path("$.model"))
            }
        })
    }

    fn bpe(&self, source: Source) -> Result<Bpe> {
        let dropout = self.dropout.as_ref().map(|value| field(value, "dropout"));
        if dropout.is_some_and(|node| node.value.as_f64() != Some(0.0)) {
            return Err(Error::unsupported(
                "model:dropout",
                "dropout makes the ids random; the core only serves repeatable ones",
            )
            .at_path("$.model.dropout"));
        }
        let (Some(vocab), Some(merges)) = (self.vocab, self.merges) else {
            return Err(missing("a BPE model needs \"vocab\" and \"merges\""));
        };
        let vocab = read_vocab(vocab.get(), source.offset_of(vocab))?;
        let continuing_subword_prefix =
            optional_string(&self.continuing_subword_prefix, "continuing_subword_prefix")?;
        let prefix = continuing_subword_prefix.as_deref().unwrap_or_default();
        let merges = read_merges(merges.get(), source.offset_of(merges), &vocab, prefix)?;
        let unk = match optional_string(&self.unk_token, "unk_token")? {
            None => None,
            Some(token) => Some(vocab.id(&token).ok_or_else(|| {
                // The reference loads such a file and fails at the first unknown character.
                Error::unsupported(
                    "model:unk_token",
                    format!("the unk_token \"{token}\" is not in the vocabulary"),
                )
                .at_path("$.model.unk_token")
            })?),
        };
        Ok(Bpe {
            vocab,
            merges,
            unk,
            fuse_unk: flag(&self.fuse_unk, "fuse_unk")?,
            byte_fallback: flag(&self.byte_fallback, "byte_fallback")?,
            ignore_merges: flag(&self.ignore_merges, "ignore_merges")?,
            continuing_subword_prefix,
            end_of_word_suffix: optional_string(&self.end_of_word_suffix, "end_of_word_suffix")?,
        })
    }

    fn word_piece(&self, source: Source) -> Result<WordPiece> {
        let Some(vocab) = self.vocab else {
            return Err(missing("a WordPiece model needs \"vocab\""));
        };
        let longest = self.max_input_chars_per_word.as_ref();
        let longest = longest.ok_or_else(|| absent("max_input_chars_per_word"))?;
        Ok(WordPiece {
            vocab: read_vocab(vocab.get(), source.offset_of(vocab))?,
            unk_token: string(&self.unk_token, "unk_token")?,
            continuing_subword_prefix: string(
                &self.continuing_subword_prefix,
                "continuing_subword_prefix",
            )?,
            max_input_chars_per_word: field(longest, "max_input_chars_per_word").usize()?,
        })
    }

    fn word_level(&self, source: Source) -> Result<WordLevel> {
        let Some(vocab) = self.vocab else {
            return Err(missing("a WordLevel model needs \"vocab\""));
        };
        Ok(WordLevel {
            vocab: read_vocab(vocab.get(), source.offset_of(vocab))?,
            unk_token: string(&self.unk_token, "unk_token")?,
        })
    }

    fn unigram(&self, source: Source) -> Result<Unigram> {
        let Some(vocab) = self.vocab else {
            return Err(missing("a Unigram model needs \"vocab\""));
        };
        let (vocab, scores) = read_scored(vocab.get(), source.offset_of(vocab))?;
        let unk = self.unk_id.as_ref().map(|value| field(value, "unk_id").usize()).transpose()?;
        if unk.is_some_and(|id| id >= scores.len()) {
            return Err(
                Error::invalid("the unk_id is not in the vocabulary").at_path("$.model.unk_id")
            );
        }
        Ok(Unigram {
            vocab,
            scores,
            unk: unk.and_then(|id| u32::try_from(id).ok()),
            byte_fallback: flag(&self.byte_fallback, "byte_fallback")?,
        })
    }
}

fn field<'a>(value: &'a Value, key: &str) -> Node<'a> {
    Node::new(value, format!("$.model.{key}"))
}

fn absent(key: &str) -> Error {
    missing(&format!("the field \"{key}\" is missing"))
}

fn missing(message: &str) -> Error {
    Error::invalid(message).at_path("$.model")
}

fn optional_string(value: &Option<Value>, key: &str) -> Result<Option<String>> {
    value.as_ref().map(|value| Ok(field(value, key).string()?.to_owned())).transpose()
}

fn string(value: &Option<Value>, key: &str) -> Result<String> {
    optional_string(value, key)?.ok_or_else(|| absent(key))
}

fn flag(value: &Option<Value>, key: &str) -> Result<bool> {
    value.as_ref().map_or(Ok(false), |value| field(value, key).bool())
}
