//! HuggingFace's tokenizer.json.
//!
//! The top level is split into raw parts first, so that the large `model` is walked by a reader of
//! its own that builds the vocabulary as it goes, while the small parts become JSON values that
//! know their path.

mod merges;
mod model;
mod pipeline;
mod postprocess;
mod vocab;
mod write;

pub use write::{write, Written};

use crate::definition::{AddedToken, Definition};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::json::{syntax_error, Node};
use crate::formats::json_fields::{fields, joined};
use serde::de::{Deserializer, IgnoredAny};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Value;

pub use vocab::read_vocab;

/// Nested sequences deeper than this are refused; serde_json itself stops at 128 levels.
pub(super) const MAX_DEPTH: usize = 32;

/// The texts of the values; `null` and absence are both `None`.
#[derive(Default, Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default, deserialize_with = "raw")]
    version: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    truncation: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    padding: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    added_tokens: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    normalizer: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    pre_tokenizer: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    post_processor: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    decoder: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    model: Option<&'a str>,
}

/// The text of a value, which serde has read through.
fn raw<'de, D: Deserializer<'de>>(json: D) -> std::result::Result<Option<&'de str>, D::Error> {
    Ok(Option::<&'de RawValue>::deserialize(json)?.map(RawValue::get))
}

impl<'a> Parts<'a> {
    /// The same without reading through the values: that is left to their readers. `None` where
    /// the careful way has to judge.
    fn quickly(text: &'a str) -> Option<Self> {
        let found = fields(text)?;
        let mut parts = Self::default();
        let mut seen = Vec::new();
        let mut unknown = Vec::new();
        for field in &found {
            let (key, value) = *field;
            let place = match key {
                "version" => &mut parts.version,
                "truncation" => &mut parts.truncation,
                "padding" => &mut parts.padding,
                "added_tokens" => &mut parts.added_tokens,
                "normalizer" => &mut parts.normalizer,
                "pre_tokenizer" => &mut parts.pre_tokenizer,
                "post_processor" => &mut parts.post_processor,
                "decoder" => &mut parts.decoder,
                "model" => &mut parts.model,
                _ => {
                    unknown.push(field);
                    continue;
                }
            };
            if seen.contains(&key) {
                return None;
            }
            seen.push(key);
            *place = Some(value).filter(|value| *value != "null");
        }
        is_json(&joined(unknown.into_iter())).then_some(parts)
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// How to find out where large values end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By quotes and brackets. What is wrong is not said here: the careful way does that.
    Quick,
    /// By parsing them.
    Careful,
}

pub fn read(bytes: &[u8]) -> Result<Definition> {
    // The reference refuses a byte order mark; the bytes behind it are a proper file, so it is read.
    let content = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let shift = (bytes.len() - content.len()) as u64;
    let text = std::str::from_utf8(content).map_err(|error| {
        Error::invalid("the file is not UTF-8").at_offset(shift + error.valid_up_to() as u64)
    })?;
    let file = File { text, shift };
    if let Some(Ok(definition)) = Parts::quickly(text).map(|parts| file.define(&parts, Way::Quick))
    {
        return Ok(definition);
    }
    file.define(&file.parts()?, Way::Careful)
}

struct File<'a> {
    text: &'a str,
    /// Bytes of the file in front of `text`.
    shift: u64,
}

impl<'a> File<'a> {
    fn parts(&self) -> Result<Parts<'a>> {
        serde_json::from_str(self.text).map_err(|error| syntax_error(&error, self.text, self.shift))
    }

    fn define(&self, parts: &Parts, way: Way) -> Result<Definition> {
        let file = self;
        if let Some(version) = file.value(parts.version)? {
            if version.as_str() != Some("1.0") {
                return Err(Error::invalid(format!("unknown version {version}; known is \"1.0\""))
                    .at_path("$.version"));
            }
        }
        let Some(model) = parts.model else {
            return Err(Error::new(
                ErrorKind::NotATokenizer,
                "a tokenizer.json without the key \"model\" is no tokenizer",
            ));
        };

        // The small parts come first: what they lack is known before the large one is walked.
        let normalizer = file.read(parts.normalizer, "$.normalizer", pipeline::normalizers)?;
        let pre_tokenizer =
            file.read(parts.pre_tokenizer, "$.pre_tokenizer", pipeline::pre_tokenizers)?;
        let post_processor =
            file.read(parts.post_processor, "$.post_processor", postprocess::post_processors)?;
        let decoder = file.read(parts.decoder, "$.decoder", pipeline::decoders)?;
        let added_tokens = file.read(parts.added_tokens, "$.added_tokens", added_tokens)?;
        let truncation = file.read(parts.truncation, "$.truncation", postprocess::truncation)?;
        let padding = file.read(parts.padding, "$.padding", postprocess::padding)?;
        let model = model::read(model, file.offset_of(model), way)?;

        Ok(Definition {
            added_tokens: added_tokens.unwrap_or_default(),
            normalizer: normalizer.unwrap_or_default(),
            pre_tokenizer: pre_tokenizer.unwrap_or_default(),
            post_processor,
            decoder,
            truncation,
            padding,
            ..Definition::new("tokenizer.json", model)
        })
    }

    fn offset_of(&self, raw: &str) -> u64 {
        let inside = (raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.shift + inside as u64
    }

    /// Parses a part; `null` and absence are both `None`.
    fn value(&self, raw: Option<&str>) -> Result<Option<Value>> {
        let Some(raw) = raw else { return Ok(None) };
        let value: Value = serde_json::from_str(raw)
            .map_err(|error| syntax_error(&error, raw, self.offset_of(raw)))?;
        Ok(Some(value).filter(|value| !value.is_null()))
    }

    fn read<T>(
        &self,
        raw: Option<&str>,
        path: &str,
        reader: impl FnOnce(&Node) -> Result<T>,
    ) -> Result<Option<T>> {
        self.value(raw)?.map(|value| reader(&Node::new(&value, path))).transpose()
    }
}

fn added_tokens(list: &Node) -> Result<Vec<AddedToken>> {
    list.items()?
        .map(|item| {
            Ok(AddedToken {
                id: item.field("id")?.u32()?,
                content: item.field("content")?.string()?.to_owned(),
                single_word: item.field("single_word")?.bool()?,
                lstrip: item.field("lstrip")?.bool()?,
                rstrip: item.field("rstrip")?.bool()?,
                normalized: item.field("normalized")?.bool()?,
                special: item.field("special")?.bool()?,
                in_text: true,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
