//! The `model` of a tokenizer.json: the large part, read without building a tree of it.

use crate::definition::{Bpe, Merge, Model};
use crate::error::{Error, Result};
use crate::formats::json::syntax_error;
use crate::vocab::Vocab;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    dropout: Option<f64>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    fuse_unk: Option<bool>,
    byte_fallback: Option<bool>,
    ignore_merges: Option<bool>,
    #[serde(borrow)]
    vocab: Option<&'a RawValue>,
    #[serde(borrow)]
    merges: Option<&'a RawValue>,
}

/// `offset` is where `text` starts in the file.
pub fn read(text: &str, offset: u64) -> Result<Model> {
    // Which model it is decides what its fields mean, so a complaint about a field of another
    // model's (a list of scores in `vocab`, say) must not come before the type has been seen.
    let parts: Parts = serde_json::from_str(text)
        .map_err(|error| syntax_error(&error, text, offset).at_path("$.model"))?;
    match parts.kind.as_deref() {
        Some("BPE") => {}
        None if parts.merges.is_some() => {}
        Some(other) => {
            return Err(Error::unsupported(
                format!("model:{other}"),
                format!("the model \"{other}\" is not served by the core"),
            )
            .at_path("$.model.type"))
        }
        None => {
            return Err(Error::unsupported(
                "model:untyped",
                "a model without \"type\" and without \"merges\" is no BPE",
            )
            .at_path("$.model"))
        }
    }
    bpe(parts, text, offset).map(Model::Bpe)
}

fn bpe(parts: Parts, text: &str, offset: u64) -> Result<Bpe> {
    if parts.dropout.is_some_and(|p| p != 0.0) {
        return Err(Error::unsupported(
            "model:dropout",
            "dropout makes the ids random; the core only serves repeatable ones",
        )
        .at_path("$.model.dropout"));
    }
    let (Some(vocab), Some(merges)) = (parts.vocab, parts.merges) else {
        return Err(Error::invalid("a BPE model needs \"vocab\" and \"merges\"").at_path("$.model"));
    };
    let at = |raw: &RawValue| {
        offset + (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize) as u64
    };
    let vocab = read_vocab(vocab.get(), at(vocab))?;
    let prefix = parts.continuing_subword_prefix.as_deref().unwrap_or_default();
    let merges = read_merges(merges.get(), at(merges), &vocab, prefix)?;
    let unk = match parts.unk_token {
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
        fuse_unk: parts.fuse_unk.unwrap_or(false),
        byte_fallback: parts.byte_fallback.unwrap_or(false),
        ignore_merges: parts.ignore_merges.unwrap_or(false),
        continuing_subword_prefix: parts.continuing_subword_prefix,
        end_of_word_suffix: parts.end_of_word_suffix,
    })
}

fn read_vocab(text: &str, offset: u64) -> Result<Vocab> {
    let mut state = VocabReader { vocab: Vocab::new(), failure: None };
    let mut json = serde_json::Deserializer::from_str(text);
    match (&mut state).deserialize(&mut json) {
        Ok(()) => Ok(state.vocab),
        Err(error) => Err(state
            .failure
            .unwrap_or_else(|| syntax_error(&error, text, offset))
            .at_path("$.model.vocab")),
    }
}

struct VocabReader {
    vocab: Vocab,
    /// Our own error, which serde could only carry as a sentence.
    failure: Option<Error>,
}

impl<'de> DeserializeSeed<'de> for &mut VocabReader {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut VocabReader {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of tokens and their ids")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(token) = map.next_key_seed(Text)? {
            let id: u32 = map.next_value()?;
            if let Err(error) = self.vocab.insert(&token, id) {
                let quoted: String = token.chars().take(40).collect();
                self.failure = Some(error.at_path(format!("$.model.vocab[{quoted:?}]")));
                return Err(serde::de::Error::custom("vocab"));
            }
        }
        Ok(())
    }
}

/// A string, borrowed from the file where it has no escapes.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        json: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

fn read_merges(text: &str, offset: u64, vocab: &Vocab, prefix: &str) -> Result<Vec<Merge>> {
    let mut state = MergeReader {
        vocab,
        prefix,
        merges: Vec::new(),
        seen: 0,
        joined: String::new(),
        failure: None,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    match (&mut state).deserialize(&mut json) {
        Ok(()) => Ok(state.merges),
        Err(error) => Err(state
            .failure
            .unwrap_or_else(|| syntax_error(&error, text, offset))
            .at_path(format!("$.model.merges[{}]", state.seen))),
    }
}

struct MergeReader<'a> {
    vocab: &'a Vocab,
    prefix: &'a str,
    merges: Vec<Merge>,
    /// Items of the list, comments included.
    seen: usize,
    joined: String,
    failure: Option<Error>,
}

impl MergeReader<'_> {
    fn line(&mut self, line: &str) -> Result<()> {
        if line.starts_with("#version") {
            return Ok(());
        }
        let mut parts = line.split(' ');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(left), Some(right), None) => self.pair(left, right),
            _ => Err(Error::invalid(format!(
                "a merge is two tokens with one space between them, this is {line:?}"
            ))),
        }
    }

    fn pair(&mut self, left: &str, right: &str) -> Result<()> {
        let tail = right.get(self.prefix.len()..).ok_or_else(|| {
            Error::invalid(format!(
                "the right part {right:?} is shorter than the continuing_subword_prefix"
            ))
        })?;
        self.joined.clear();
        self.joined.push_str(left);
        self.joined.push_str(tail);
        let id = |token: &str| {
            self.vocab.id(token).ok_or_else(|| {
                Error::invalid(format!("a merge names {token:?}, which is not in the vocabulary"))
            })
        };
        self.merges.push(Merge { left: id(left)?, right: id(right)?, product: id(&self.joined)? });
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut MergeReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut MergeReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of merges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        while let Some(result) = list.next_element_seed(OneMerge(self))? {
            if let Err(error) = result {
                self.failure = Some(error);
                return Err(serde::de::Error::custom("merge"));
            }
            self.seen += 1;
        }
        Ok(())
    }
}

/// One merge: `"a b"` or `["a", "b"]`.
struct OneMerge<'r, 'a>(&'r mut MergeReader<'a>);

impl<'de> DeserializeSeed<'de> for OneMerge<'_, '_> {
    type Value = Result<()>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        json: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneMerge<'_, '_> {
    type Value = Result<()>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a merge: \"a b\" or [\"a\", \"b\"]")
    }

    fn visit_str<E>(self, line: &str) -> std::result::Result<Self::Value, E> {
        Ok(self.0.line(line))
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let left = list.next_element_seed(Text)?;
        let right = list.next_element_seed(Text)?;
        let more = list.next_element_seed(Text)?;
        Ok(match (left, right, more) {
            (Some(left), Some(right), None) => self.0.pair(&left, &right),
            _ => Err(Error::invalid("a merge is a list of exactly two tokens")),
        })
    }
}
