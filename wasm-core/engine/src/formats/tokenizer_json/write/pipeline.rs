//! Normalizers, pre-tokenizers and decoders: the reverse of `pipeline` beside this folder.

use super::refused;
use crate::definition::{Decoder, Normalizer, Pattern, PreTokenizer, PrependScheme, SplitBehavior};
use crate::error::{Error, Result};
use crate::formats::base64;
use serde_json::{json, Value};

pub fn normalizer(step: &Normalizer) -> Result<Value> {
    Ok(match step {
        Normalizer::Nfc => json!({"type": "NFC"}),
        Normalizer::Nfd => json!({"type": "NFD"}),
        Normalizer::Nfkc => json!({"type": "NFKC"}),
        Normalizer::Nfkd => json!({"type": "NFKD"}),
        Normalizer::Lowercase => json!({"type": "Lowercase"}),
        Normalizer::StripAccents => json!({"type": "StripAccents"}),
        Normalizer::Strip { left, right } => {
            json!({"type": "Strip", "strip_left": left, "strip_right": right})
        }
        Normalizer::Replace { pattern: what, content } => replace(what, content),
        Normalizer::Prepend(content) => json!({"type": "Prepend", "prepend": content}),
        Normalizer::Bert { clean_text, handle_chinese_chars, strip_accents, lowercase } => json!({
            "type": "BertNormalizer",
            "clean_text": clean_text,
            "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": strip_accents,
            "lowercase": lowercase,
        }),
        Normalizer::Precompiled { charsmap } => json!({
            "type": "Precompiled",
            "precompiled_charsmap": base64::encode(&charsmap.0),
        }),
        Normalizer::Nmt => json!({"type": "Nmt"}),
        Normalizer::ByteLevel => json!({"type": "ByteLevel"}),
        other => return Err(foreign("normalizer", other)),
    })
}

pub fn pre_tokenizer(step: &PreTokenizer) -> Result<Value> {
    Ok(match step {
        PreTokenizer::ByteLevel { add_prefix_space, use_regex } => json!({
            "type": "ByteLevel",
            "add_prefix_space": add_prefix_space,
            "trim_offsets": true,
            "use_regex": use_regex,
        }),
        PreTokenizer::Split { pattern: what, behavior: how, invert } => json!({
            "type": "Split",
            "pattern": pattern(what),
            "behavior": behavior(*how),
            "invert": invert,
        }),
        PreTokenizer::Metaspace { replacement, prepend, split } => {
            metaspace(*replacement, *prepend, *split)
        }
        PreTokenizer::Digits { individual } => {
            json!({"type": "Digits", "individual_digits": individual})
        }
        PreTokenizer::Punctuation { behavior: how } => {
            json!({"type": "Punctuation", "behavior": behavior(*how)})
        }
        PreTokenizer::Whitespace => json!({"type": "Whitespace"}),
        PreTokenizer::WhitespaceSplit => json!({"type": "WhitespaceSplit"}),
        PreTokenizer::CharDelimiterSplit { delimiter } => {
            json!({"type": "CharDelimiterSplit", "delimiter": delimiter})
        }
        PreTokenizer::Bert => json!({"type": "BertPreTokenizer"}),
        PreTokenizer::UnicodeScripts => json!({"type": "UnicodeScripts"}),
        PreTokenizer::FixedLength { length } => json!({"type": "FixedLength", "length": length}),
        other => return Err(foreign("pre_tokenizer", other)),
    })
}

pub fn decoder(step: &Decoder) -> Result<Value> {
    Ok(match step {
        Decoder::ByteLevel => json!({
            "type": "ByteLevel",
            "add_prefix_space": true,
            "trim_offsets": true,
            "use_regex": true,
        }),
        Decoder::ByteFallback => json!({"type": "ByteFallback"}),
        Decoder::Fuse => json!({"type": "Fuse"}),
        Decoder::Strip { content, start, stop } => {
            json!({"type": "Strip", "content": content, "start": start, "stop": stop})
        }
        Decoder::Replace { pattern: what, content } => replace(what, content),
        Decoder::Metaspace { replacement, prepend } => metaspace(*replacement, *prepend, true),
        Decoder::Bpe { suffix } => json!({"type": "BPEDecoder", "suffix": suffix}),
        Decoder::WordPiece { prefix, cleanup } => {
            json!({"type": "WordPiece", "prefix": prefix, "cleanup": cleanup})
        }
        Decoder::Ctc { pad_token, word_delimiter_token, cleanup } => json!({
            "type": "CTC",
            "pad_token": pad_token,
            "word_delimiter_token": word_delimiter_token,
            "cleanup": cleanup,
        }),
        other => return Err(foreign("decoder", other)),
    })
}

fn replace(what: &Pattern, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern(what), "content": content})
}

fn metaspace(replacement: char, prepend: PrependScheme, split: bool) -> Value {
    let scheme = match prepend {
        PrependScheme::Always => "always",
        PrependScheme::Never => "never",
        PrependScheme::First => "first",
    };
    json!({
        "type": "Metaspace",
        "replacement": replacement,
        "prepend_scheme": scheme,
        "split": split,
    })
}

fn pattern(pattern: &Pattern) -> Value {
    match pattern {
        Pattern::Literal(text) => json!({"String": text}),
        Pattern::Regex(regex) => json!({"Regex": regex}),
    }
}

fn behavior(behavior: SplitBehavior) -> &'static str {
    match behavior {
        SplitBehavior::Removed => "Removed",
        SplitBehavior::Isolated => "Isolated",
        SplitBehavior::MergedWithPrevious => "MergedWithPrevious",
        SplitBehavior::MergedWithNext => "MergedWithNext",
        SplitBehavior::Contiguous => "Contiguous",
    }
}

/// For the steps of other formats, which this one has no place for.
fn foreign(group: &str, step: &impl std::fmt::Debug) -> Error {
    let text = format!("{step:?}");
    let name = text.split([' ', '(', '{']).next().unwrap_or_default();
    refused(group, format!("a tokenizer.json has no place for the {group} {name} of this format"))
}
