//! The merges of a BPE model: lines `"a b"`, or pairs.

use super::vocab::Text;
use crate::definition::Merge;
use crate::error::{Error, Result};
use crate::formats::json::syntax_error;
use crate::vocab::Vocab;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use std::fmt;

/// `offset` is where `text` starts in the file.
pub fn read_merges(text: &str, offset: u64, vocab: &Vocab, prefix: &str) -> Result<Vec<Merge>> {
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
        let mut spaces = memchr::memchr_iter(b' ', line.as_bytes());
        let parts = match (spaces.next(), spaces.next()) {
            (Some(at), None) => line.split_at_checked(at),
            _ => None,
        };
        match parts.and_then(|(left, right)| Some((left, right.strip_prefix(' ')?))) {
            Some((left, right)) => self.pair(left, right),
            None => Err(Error::invalid(format!(
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
        let product = match self.likely_product() {
            Some(product) => product,
            None => id(&self.joined)?,
        };
        self.merges.push(Merge { left: id(left)?, right: id(right)?, product });
        Ok(())
    }

    /// Most lists go through their products by id, several merges for one: then nothing has to be
    /// looked for.
    fn likely_product(&self) -> Option<u32> {
        let last = self.merges.last()?.product;
        [last, last.saturating_add(1)].into_iter().find(|&id| self.vocab.pairs(&self.joined, id))
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
