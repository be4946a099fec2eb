//! What a caller may say about a file beyond its bytes, as the JSON object that crosses the ABI.

use crate::definition::control::Control;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::config::Config;
use crate::formats::limits::Limits;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Every key may be absent; an unknown one is refused, for it would silently do nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Name and length of each of several files that lie one behind the other, such as a
    /// vocab.json and its merges.txt. Empty: one file.
    pub parts: Vec<(String, usize)>,
    /// For rank files: the pattern that cuts text into pieces.
    pub pattern: Option<String>,
    /// For rank files: special tokens and their ids.
    pub special_tokens: Option<BTreeMap<String, u32>>,
    /// For rank files: the name of a known encoding, which settles both.
    pub encoding: Option<String>,
    pub gguf_compat: GgufCompat,
    /// What configurations beside the file add to it.
    pub config: Option<Config>,
    /// What configurations beside the file say of control tokens.
    pub control: Control,
    /// Truncation and padding that the file states are left out.
    pub any_length: bool,
    pub limits: Limits,
}

/// Whose answers a GGUF file is to give.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum GgufCompat {
    #[default]
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// What the tokenizer.json of the same model gives.
    #[serde(rename = "hf")]
    HuggingFace,
}

impl Options {
    /// Reads the object; no bytes are no options.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        if json.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(json).map_err(|error| {
            Error::new(ErrorKind::BadArgument, format!("the load options are wrong: {error}"))
        })
    }

    /// Cuts `bytes` into the parts by name.
    pub fn cut<'a>(&'a self, bytes: &'a [u8]) -> Result<Vec<(&'a str, &'a [u8])>> {
        let mut rest = bytes;
        let mut parts = Vec::new();
        for (name, length) in &self.parts {
            let (part, behind) = rest.split_at_checked(*length).ok_or_else(|| {
                Error::new(
                    ErrorKind::BadArgument,
                    format!("the part {name:?} ends behind what was handed over"),
                )
            })?;
            parts.push((name.as_str(), part));
            rest = behind;
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_is_default_and_unknown_is_refused() {
        assert_eq!(Options::from_json(b"").unwrap(), Options::default());
        assert_eq!(Options::from_json(b"{}").unwrap(), Options::default());
        let error = Options::from_json(br#"{"patern": "x"}"#).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadArgument);
        assert!(error.message.contains("patern"), "{error}");
    }

    #[test]
    fn compat_has_two_names() {
        let options = Options::from_json(br#"{"gguf_compat": "hf"}"#).unwrap();
        assert_eq!(options.gguf_compat, GgufCompat::HuggingFace);
        assert!(Options::from_json(br#"{"gguf_compat": "HF"}"#).is_err());
    }

    #[test]
    fn parts_are_cut_by_length() {
        let options = Options::from_json(br#"{"parts": [["a", 2], ["b", 1]]}"#).unwrap();
        assert_eq!(options.cut(b"xyz").unwrap(), [("a", &b"xy"[..]), ("b", &b"z"[..])]);
        assert!(options.cut(b"xy").is_err());
    }
}
