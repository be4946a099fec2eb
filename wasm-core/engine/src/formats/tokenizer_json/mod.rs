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
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Value;

pub use vocab::read_vocab;

/// Nested sequences deeper than this are refused; serde_json itself stops at 128 levels.
pub(super) const MAX_DEPTH: usize = 32;

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    truncation: Option<&'a RawValue>,
    #[serde(borrow)]
    padding: Option<&'a RawValue>,
    #[serde(borrow)]
    added_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    normalizer: Option<&'a RawValue>,
    #[serde(borrow)]
    pre_tokenizer: Option<&'a RawValue>,
    #[serde(borrow)]
    post_processor: Option<&'a RawValue>,
    #[serde(borrow)]
    decoder: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
}

pub fn read(bytes: &[u8]) -> Result<Definition> {
    // The reference refuses a byte order mark; the bytes behind it are a proper file, so it is read.
    let content = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let shift = (bytes.len() - content.len()) as u64;
    let text = std::str::from_utf8(content).map_err(|error| {
        Error::invalid("the file is not UTF-8").at_offset(shift + error.valid_up_to() as u64)
    })?;
    let file = File { text, shift };
    let parts: Parts =
        serde_json::from_str(text).map_err(|error| syntax_error(&error, text, shift))?;

    if let Some(version) = file.value(parts.version)? {
        if version.as_str() != Some("1.0") {
            return Err(Error::invalid(format!("unknown version {version}; known is \"1.0\""))
                .at_path("$.version"));
        }
    }
    let Some(model) = parts.model.filter(|raw| raw.get() != "null") else {
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
    let model = model::read(model.get(), file.offset_of(model))?;

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

struct File<'a> {
    text: &'a str,
    /// Bytes of the file in front of `text`.
    shift: u64,
}

impl File<'_> {
    fn offset_of(&self, raw: &RawValue) -> u64 {
        let inside = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.shift + inside as u64
    }

    /// Parses a part; `null` and absence are both `None`.
    fn value(&self, raw: Option<&RawValue>) -> Result<Option<Value>> {
        let Some(raw) = raw else { return Ok(None) };
        let value: Value = serde_json::from_str(raw.get())
            .map_err(|error| syntax_error(&error, raw.get(), self.offset_of(raw)))?;
        Ok(Some(value).filter(|value| !value.is_null()))
    }

    fn read<T>(
        &self,
        raw: Option<&RawValue>,
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
