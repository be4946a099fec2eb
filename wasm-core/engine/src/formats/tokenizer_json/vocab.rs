//! The vocabulary of a tokenizer.json, read token by token: an object of ids, or a list of scores.

use crate::error::{Error, Result};
use crate::formats::json::syntax_error;
use crate::vocab::Vocab;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// `offset` is where `text` starts in the file.
pub fn read_vocab(text: &str, offset: u64) -> Result<Vocab> {
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
        self.vocab.forget_former_ids();
        Ok(())
    }
}

/// A string, borrowed from the file where it has no escapes.
pub struct Text;

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

/// A list of tokens with their scores. The id is the place in the list; of equal tokens the last
/// one counts, but each has an id.
pub fn read_scored(text: &str, offset: u64) -> Result<(Vocab, Vec<f64>)> {
    let mut state = ScoredReader { vocab: Vocab::new(), scores: Vec::new(), failure: None };
    let mut json = serde_json::Deserializer::from_str(text);
    match (&mut state).deserialize(&mut json) {
        Ok(()) => Ok((state.vocab, state.scores)),
        Err(error) => Err(state
            .failure
            .unwrap_or_else(|| syntax_error(&error, text, offset))
            .at_path(format!("$.model.vocab[{}]", state.scores.len()))),
    }
}

struct ScoredReader {
    vocab: Vocab,
    scores: Vec<f64>,
    failure: Option<Error>,
}

impl<'de> DeserializeSeed<'de> for &mut ScoredReader {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut ScoredReader {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of tokens and their scores")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        while let Some((token, score)) = list.next_element_seed(Scored)? {
            // The limit on ids is reached long before a u32 is too small.
            let id = u32::try_from(self.scores.len()).unwrap_or(u32::MAX);
            if let Err(error) = self.vocab.insert(&token, id) {
                self.failure = Some(error);
                return Err(serde::de::Error::custom("vocab"));
            }
            self.scores.push(score);
        }
        Ok(())
    }
}

/// One entry: `["token", -3.5]`.
struct Scored;

impl<'de> DeserializeSeed<'de> for Scored {
    type Value = (Cow<'de, str>, f64);

    fn deserialize<D: Deserializer<'de>>(
        self,
        json: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Scored {
    type Value = (Cow<'de, str>, f64);

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a token and its score")
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let short = |len| serde::de::Error::invalid_length(len, &"a token and its score");
        let token = list.next_element_seed(Text)?.ok_or_else(|| short(0))?;
        let score: f64 = list.next_element()?.ok_or_else(|| short(1))?;
        Ok((token, score))
    }
}
