//! The `model` of a tokenizer.json: the large part, read without building a tree of it.

use super::merges::read_merges;
use super::vocab::{read_scored, read_vocab};
use super::{is_json, raw, Way};
use crate::definition::{Bpe, Model, Unigram, WordLevel, WordPiece};
use crate::error::{Error, Result};
use crate::formats::json::{syntax_error, Node};
use crate::formats::json_fields::{fields, joined};
use serde::Deserialize;
use serde_json::Value;

/// Which model it is decides which of these count; the others may hold anything.
struct Parts<'a> {
    small: Small,
    large: Large<'a>,
}

#[derive(Deserialize)]
struct Small {
    #[serde(rename = "type")]
    kind: Option<String>,
    dropout: Option<Value>,
    unk_token: Option<Value>,
    unk_id: Option<Value>,
    continuing_subword_prefix: Option<Value>,
    end_of_word_suffix: Option<Value>,
    max_input_chars_per_word: Option<Value>,
    fuse_unk: Option<Value>,
    byte_fallback: Option<Value>,
    ignore_merges: Option<Value>,
}

/// The texts of the values.
#[derive(Default, Deserialize)]
struct Large<'a> {
    #[serde(borrow, default, deserialize_with = "raw")]
    vocab: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    merges: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn carefully(text: &'a str) -> serde_json::Result<Self> {
        Ok(Self { small: serde_json::from_str(text)?, large: serde_json::from_str(text)? })
    }

    /// The same without reading through the large values.
    fn quickly(text: &'a str) -> Option<Self> {
        let found = fields(text)?;
        let mut large = Large::default();
        let mut seen = Vec::new();
        for &(key, value) in &found {
            let place = match key {
                "vocab" => &mut large.vocab,
                "merges" => &mut large.merges,
                _ => continue,
            };
            if seen.contains(&key) {
                return None;
            }
            seen.push(key);
            *place = Some(value).filter(|value| *value != "null");
        }
        let rest = found.iter().filter(|(key, _)| !matches!(*key, "vocab" | "merges"));
        let small: Small = serde_json::from_str(&joined(rest)).ok()?;
        let is_bpe = Self::is_bpe(&small, &large);
        // Nothing else reads the merges, so nothing else would see that they are no JSON.
        let merges_are_read = is_bpe || large.merges.is_none_or(is_json);
        merges_are_read.then_some(Self { small, large })
    }

    /// Whether the reader of byte-pair encoding reads the merges.
    fn is_bpe(small: &Small, large: &Large) -> bool {
        match small.kind.as_deref() {
            Some(kind) => kind == "BPE",
            None => large.vocab.is_some_and(|vocab| vocab.starts_with('{')),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Bpe,
    WordPiece,
    WordLevel,
    Unigram,
}

/// `offset` is where `text` starts in the file.
pub(super) fn read(text: &str, offset: u64, way: Way) -> Result<Model> {
    let parts = match way {
        Way::Quick => Parts::quickly(text).ok_or_else(|| missing("not that simple"))?,
        Way::Careful => Parts::carefully(text)
            .map_err(|error| syntax_error(&error, text, offset).at_path("$.model"))?,
    };
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
    fn offset_of(self, raw: &str) -> u64 {
        let inside = (raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.offset + inside as u64
    }
}

impl Parts<'_> {
    /// Files of old versions leave the type out. The reference then takes the first model that the
    /// fields fit, in this order.
    fn kind(&self) -> Result<Kind> {
        let is_map = self.large.vocab.is_some_and(|raw| raw.starts_with('{'));
        let is_list = self.large.vocab.is_some_and(|raw| raw.starts_with('['));
        Ok(match self.small.kind.as_deref() {
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
            None if is_map && self.large.merges.is_some() => Kind::Bpe,
            None if is_map && self.small.unk_token.is_some() => {
                let word_piece = self.small.continuing_subword_prefix.is_some()
                    && self.small.max_input_chars_per_word.is_some();
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
        let dropout = self.small.dropout.as_ref().map(|value| field(value, "dropout"));
        if dropout.is_some_and(|node| node.value.as_f64() != Some(0.0)) {
            return Err(Error::unsupported(
                "model:dropout",
                "dropout makes the ids random; the core only serves repeatable ones",
            )
            .at_path("$.model.dropout"));
        }
        let (Some(vocab), Some(merges)) = (self.large.vocab, self.large.merges) else {
            return Err(missing("a BPE model needs \"vocab\" and \"merges\""));
        };
        let vocab = read_vocab(vocab, source.offset_of(vocab))?;
        let continuing_subword_prefix =
            optional_string(&self.small.continuing_subword_prefix, "continuing_subword_prefix")?;
        let prefix = continuing_subword_prefix.as_deref().unwrap_or_default();
        let merges = read_merges(merges, source.offset_of(merges), &vocab, prefix)?;
        let unk = match optional_string(&self.small.unk_token, "unk_token")? {
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
            fuse_unk: flag(&self.small.fuse_unk, "fuse_unk")?,
            byte_fallback: flag(&self.small.byte_fallback, "byte_fallback")?,
            ignore_merges: flag(&self.small.ignore_merges, "ignore_merges")?,
            continuing_subword_prefix,
            end_of_word_suffix: optional_string(
                &self.small.end_of_word_suffix,
                "end_of_word_suffix",
            )?,
        })
    }

    fn word_piece(&self, source: Source) -> Result<WordPiece> {
        let Some(vocab) = self.large.vocab else {
            return Err(missing("a WordPiece model needs \"vocab\""));
        };
        let longest = self.small.max_input_chars_per_word.as_ref();
        let longest = longest.ok_or_else(|| absent("max_input_chars_per_word"))?;
        Ok(WordPiece {
            vocab: read_vocab(vocab, source.offset_of(vocab))?,
            unk_token: string(&self.small.unk_token, "unk_token")?,
            continuing_subword_prefix: string(
                &self.small.continuing_subword_prefix,
                "continuing_subword_prefix",
            )?,
            max_input_chars_per_word: field(longest, "max_input_chars_per_word").usize()?,
        })
    }

    fn word_level(&self, source: Source) -> Result<WordLevel> {
        let Some(vocab) = self.large.vocab else {
            return Err(missing("a WordLevel model needs \"vocab\""));
        };
        Ok(WordLevel {
            vocab: read_vocab(vocab, source.offset_of(vocab))?,
            unk_token: string(&self.small.unk_token, "unk_token")?,
        })
    }

    fn unigram(&self, source: Source) -> Result<Unigram> {
        let Some(vocab) = self.large.vocab else {
            return Err(missing("a Unigram model needs \"vocab\""));
        };
        let (vocab, scores) = read_scored(vocab, source.offset_of(vocab))?;
        let unk =
            self.small.unk_id.as_ref().map(|value| field(value, "unk_id").usize()).transpose()?;
        if unk.is_some_and(|id| id >= scores.len()) {
            return Err(
                Error::invalid("the unk_id is not in the vocabulary").at_path("$.model.unk_id")
            );
        }
        Ok(Unigram {
            vocab,
            scores,
            unk: unk.and_then(|id| u32::try_from(id).ok()),
            byte_fallback: flag(&self.small.byte_fallback, "byte_fallback")?,
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
