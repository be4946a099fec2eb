//! Files of every format, each read into the one [`Definition`](crate::definition::Definition).
//!
//! `detect` says from the content what a file is; each format has one reader beside it.

pub mod base64;
pub mod config;
pub mod detect;
pub mod gguf;
pub mod json;
pub mod json_fields;
pub mod limits;
pub mod options;
pub mod ranks;
pub mod rwkv;
pub mod sentencepiece;
pub mod tekken;
pub mod tiktoken;
pub mod tokenizer_json;
pub mod vocab_merges;

pub use options::Options;
pub use tokenizer_json::Written;

use crate::definition::Definition;
use crate::error::{Error, ErrorKind, Result};
use detect::Format;

/// Reads a file of any format that is served.
pub fn read(bytes: &[u8], options: &Options) -> Result<Definition> {
    let parts = options.cut(bytes)?;
    match parts.as_slice() {
        [] => read_one(bytes, options),
        [(_, only)] => read_one(only, options),
        several => vocab_merges::read(several, options),
    }
}

fn read_one(bytes: &[u8], options: &Options) -> Result<Definition> {
    let verdict = detect::detect(bytes)?;
    match verdict.format {
        Format::TokenizerJson => tokenizer_json::read(bytes),
        Format::SentencePiece => sentencepiece::read(bytes, &options.limits),
        Format::Tekken => tekken::read(bytes, options),
        Format::Rwkv => rwkv::read(bytes, options),
        Format::Tiktoken => tiktoken::read(bytes, options),
        Format::VocabJson => Err(half("a vocab.json", "merges.txt")),
        Format::Merges => Err(half("a merges.txt", "vocab.json")),
        Format::Gguf => gguf::read(bytes, options),
    }
}

/// The same, with what configurations beside the file add.
pub fn read_with_config(bytes: &[u8], options: &Options) -> Result<Definition> {
    let mut definition = read(bytes, options)?;
    if let Some(config) = &options.config {
        config.apply(&mut definition)?;
    }
    definition.control = options.control.clone();
    if options.any_length {
        definition.truncation = None;
        definition.padding = None;
    }
    Ok(definition)
}

/// Reads a file of any format that is served, and writes it as HuggingFace's tokenizer.json.
pub fn convert(bytes: &[u8], options: &Options) -> Result<Written> {
    tokenizer_json::write(&read_with_config(bytes, options)?)
}

fn half(this: &str, other: &str) -> Error {
    Error::new(
        ErrorKind::NotATokenizer,
        format!("this is {this}, half a tokenizer; pass the folder that has its {other}, or both"),
    )
}

/// How much of a file [`read`] needs, judged by its first bytes, as JSON: with `complete`, exactly
/// its first `bytes` bytes, or all of it where that is null; otherwise at least so many, to say more.
pub fn extent(prefix: &[u8], limits: &limits::Limits) -> Result<String> {
    let (bytes, complete) = match prefix.starts_with(b"GGUF") {
        true => match gguf::extent(prefix, limits)? {
            Ok(bytes) => (Some(bytes), true),
            Err(bytes) => (Some(bytes), false),
        },
        false => (None, true),
    };
    Ok(serde_json::json!({"bytes": bytes, "complete": complete}).to_string())
}
