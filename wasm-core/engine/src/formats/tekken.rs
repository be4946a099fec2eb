//! Mistral's tekken.json: ranks with a pattern, behind special tokens that have the first ids.
//!
//! The file lists more tokens than the tokenizer uses, which takes as many of the first as the size
//! of the vocabulary leaves room for. The id of a token is its rank plus the number of special
//! tokens. Text never yields a special token.

use crate::definition::{AddedToken, Definition};
use crate::error::{Error, Result};
use crate::formats::json::syntax_error;
use crate::formats::limits::Limits;
use crate::formats::options::Options;
use crate::formats::{base64, ranks, tiktoken};
use crate::vocab::Vocab;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// What files up to version 7 leave out, in the order of the ids.
const DEFAULT_SPECIALS: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// Later versions have to bring their list.
const LAST_VERSION_WITHOUT_SPECIALS: u32 = 7;

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    config: Config<'a>,
    #[serde(borrow)]
    vocab: &'a RawValue,
    #[serde(borrow)]
    special_tokens: Option<Vec<Special<'a>>>,
}

#[derive(Deserialize)]
struct Config<'a> {
    #[serde(borrow)]
    pattern: Cow<'a, str>,
    default_vocab_size: u64,
    default_num_special_tokens: u64,
    #[serde(borrow)]
    version: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Special<'a> {
    rank: u32,
    #[serde(borrow)]
    token_str: Cow<'a, str>,
}

pub fn read(bytes: &[u8], options: &Options) -> Result<Definition> {
    let content = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let shift = (bytes.len() - content.len()) as u64;
    let text = std::str::from_utf8(content).map_err(|error| {
        Error::invalid("the file is not UTF-8").at_offset(shift + error.valid_up_to() as u64)
    })?;
    let file: File = serde_json::from_str(text).map_err(|e| syntax_error(&e, text, shift))?;
    let Config { default_vocab_size: size, default_num_special_tokens: reserved, .. } = file.config;
    Limits::check(size, options.limits.items, "tokens")?;
    let used = size.checked_sub(reserved).filter(|&used| used > 0).ok_or_else(|| {
        Error::invalid(format!("{size} tokens in all leave none besides {reserved} special ones"))
            .at_path("$.config")
    })?;
    let specials = specials(&file, reserved as u32)?;
    let inside = (file.vocab.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let vocab = Tokens {
        first: reserved as u32,
        used: used as u32,
        limits: &options.limits,
        vocab: Vocab::new(),
        seen: 0,
        failure: None,
    }
    .read(file.vocab.get(), shift + inside as u64)?;
    if let Some(byte) = ranks::missing_byte(&vocab) {
        return Err(Error::invalid(format!(
            "the byte 0x{byte:02X} is no token, so not every text can be encoded"
        ))
        .at_path("$.vocab"));
    }
    let merges = ranks::merges(&vocab);
    let made = |text: &str| {
        let id = vocab.id(text);
        merges.binary_search_by_key(&id, |merge| Some(merge.product)).is_ok()
    };
    let cut = tiktoken::cut(&file.config.pattern, &vocab, made)
        .map_err(|error| error.at_path("$.config.pattern"))?;
    let mut definition = ranks::definition("tekken", vocab, merges, cut);
    definition.roles = [("bos", "<s>"), ("eos", "</s>"), ("pad", "<pad>"), ("unk", "<unk>")]
        .into_iter()
        .filter_map(|(role, name)| {
            let token = specials.iter().find(|token| token.content == name)?;
            Some((role, token.id))
        })
        .collect();
    definition.added_tokens = specials;
    Ok(definition)
}

/// The list of the file or the one that it leaves out, filled up.
fn specials(file: &File, reserved: u32) -> Result<Vec<AddedToken>> {
    let wrong = |what: String| Error::invalid(what).at_path("$.special_tokens");
    let mut specials: Vec<(u32, String)> = match &file.special_tokens {
        Some(list) => list.iter().map(|s| (s.rank, s.token_str.clone().into_owned())).collect(),
        None => {
            let version: String =
                file.config.version.chars().skip(1).take_while(char::is_ascii_digit).collect();
            if version.parse::<u32>().map_or(true, |v| v > LAST_VERSION_WITHOUT_SPECIALS) {
                return Err(wrong(format!(
                    "a file of the version {:?} has to list its special tokens",
                    file.config.version
                )));
            }
            (0..).zip(DEFAULT_SPECIALS.map(str::to_owned)).collect()
        }
    };
    let listed = specials.len() as u64;
    if listed > u64::from(reserved) {
        return Err(wrong(format!("{listed} special tokens, where {reserved} have room")));
    }
    specials.extend((listed as u32..reserved).map(|id| (id, format!("<SPECIAL_{id}>"))));
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for (id, name) in &specials {
        if *id >= reserved || !ids.insert(*id) || !names.insert(name.as_str()) {
            return Err(wrong(format!(
                "the special token {name:?} with the id {id} is there twice or out of range"
            )));
        }
        if name.is_empty() {
            return Err(wrong("a special token is empty".to_owned()));
        }
    }
    Ok(specials.into_iter().map(|(id, name)| ranks::special(name, id, false)).collect())
}

/// Reads the list of tokens without building a tree of it.
struct Tokens<'l> {
    first: u32,
    used: u32,
    limits: &'l Limits,
    vocab: Vocab,
    seen: u32,
    /// Our own error, which serde could only carry as a sentence.
    failure: Option<Error>,
}

#[derive(Deserialize)]
struct Token<'a> {
    rank: u64,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
}

impl Tokens<'_> {
    fn read(mut self, text: &str, offset: u64) -> Result<Vocab> {
        let mut json = serde_json::Deserializer::from_str(text);
        let result = (&mut self).deserialize(&mut json);
        let at = format!("$.vocab[{}]", self.seen);
        match (result, self.failure) {
            (Ok(()), None) if self.seen < self.used => Err(Error::invalid(format!(
                "{} tokens, where the size of the vocabulary asks for {}",
                self.seen, self.used
            ))
            .at_path("$.vocab")),
            (Ok(()), None) => Ok(self.vocab),
            (_, Some(failure)) => Err(failure.at_path(at)),
            (Err(error), None) => Err(syntax_error(&error, text, offset).at_path(at)),
        }
    }

    fn token(&mut self, token: &Token, scratch: &mut (Vec<u8>, String)) -> Result<()> {
        let (bytes, text) = scratch;
        if token.rank != u64::from(self.seen) {
            return Err(Error::invalid(format!(
                "the rank {} stands in the place of {}",
                token.rank, self.seen
            )));
        }
        Limits::check(
            token.token_bytes.len() as u64 / 4 * 3,
            self.limits.token,
            "bytes of a token",
        )?;
        bytes.clear();
        base64::decode_token(token.token_bytes.as_bytes(), bytes)?;
        ranks::spell(bytes, text);
        if let Some(other) = self.vocab.id(text) {
            return Err(Error::invalid(format!("the same bytes as the token with the id {other}")));
        }
        self.vocab.insert(text, self.first.saturating_add(self.seen))
    }
}

impl<'de> DeserializeSeed<'de> for &mut Tokens<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut Tokens<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of tokens")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let mut scratch = (Vec::new(), String::new());
        while self.seen < self.used {
            let Some(token) = list.next_element::<Token>()? else { return Ok(()) };
            if let Err(error) = self.token(&token, &mut scratch) {
                self.failure = Some(error);
                return Err(serde::de::Error::custom("token"));
            }
            self.seen += 1;
        }
        // The others are listed and not used.
        while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests;
