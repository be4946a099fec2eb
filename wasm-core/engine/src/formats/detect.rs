//! What a file is, from its content alone: at most its first 64 KiB.
//!
//! The order of the tests matters: cheap signatures first, then JSON by its top-level keys, then
//! the line formats, then SentencePiece, whose first byte says little.

use crate::error::{Error, ErrorKind, Result};
use serde_json::json;

/// How much of a file is looked at.
pub const SNIFF: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    TokenizerJson,
    Tekken,
    Gguf,
    SentencePiece,
    Tiktoken,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::TokenizerJson => "tokenizer.json",
            Self::Tekken => "tekken",
            Self::Gguf => "gguf",
            Self::SentencePiece => "sentencepiece",
            Self::Tiktoken => "tiktoken",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub format: Format,
    /// The evidence, for people.
    pub reason: String,
}

impl Verdict {
    fn new(format: Format, reason: impl Into<String>) -> Self {
        Self { format, reason: reason.into() }
    }

    pub fn to_json(&self) -> String {
        json!({"format": self.format.name(), "reason": self.reason}).to_string()
    }
}

/// Names the format of a file, or says what the file is instead.
pub fn detect(bytes: &[u8]) -> Result<Verdict> {
    let head = bytes.get(..SNIFF).unwrap_or(bytes);
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::new(ErrorKind::EmptyFile, "the file holds nothing"));
    }
    if head.starts_with(b"GGUF") {
        return Ok(Verdict::new(Format::Gguf, "starts with the signature GGUF"));
    }
    reject_known_strangers(head)?;
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let start = text.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
    let text = text.get(start..).unwrap_or_default();
    match text.first() {
        Some(b'{') => detect_json_object(text),
        Some(b'[') => Err(not("it is a JSON array; a tokenizer.json is an object")),
        Some(b'<') => Err(not("it looks like HTML or XML, perhaps an error page saved as a file")),
        _ if is_rank_lines(text) => {
            Ok(Verdict::new(Format::Tiktoken, "its lines are pairs of base64 and a rank"))
        }
        _ if is_sentencepiece(head) => Ok(Verdict::new(
            Format::SentencePiece,
            "starts with well-formed protobuf records of pieces",
        )),
        Some(b'"' | b'-' | b'0'..=b'9') => Err(not("it is a bare JSON value or plain text")),
        _ => Err(Error::new(
            ErrorKind::UnknownFormat,
            format!("nothing known about its first bytes: {}", hex(head.get(..16).unwrap_or(head))),
        )),
    }
}

fn not(what: &str) -> Error {
    Error::new(ErrorKind::NotATokenizer, format!("not a tokenizer file: {what}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// Files that people hand over by mistake and that their first bytes give away.
fn reject_known_strangers(head: &[u8]) -> Result<()> {
    if head.starts_with(b"version https://git-lfs") {
        return Err(Error::new(
            ErrorKind::GitLfsPointer,
            "this is a git-lfs pointer and not the file itself; run `git lfs pull`",
        ));
    }
    let compressed: [(&[u8], &str); 4] = [
        (b"\x1F\x8B", "gzip"),
        (b"\xFD7zXZ\x00", "xz"),
        (b"\x28\xB5\x2F\xFD", "zstd"),
        (b"BZh", "bzip2"),
    ];
    for (signature, name) in compressed {
        if head.starts_with(signature) {
            return Err(Error::new(
                ErrorKind::Compressed,
                format!("the file is compressed with {name}; decompress it first"),
            ));
        }
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Err(not("it is a zip archive (perhaps a PyTorch checkpoint)"));
    }
    // Protocol 2 and later open with \x80 and the protocol number.
    if let [0x80, 2..=5, ..] = head {
        return Err(not("it is a Python pickle, which is never opened"));
    }
    if let Some((length, rest)) = head.split_first_chunk::<8>() {
        let declared = u64::from_le_bytes(*length);
        if rest.first() == Some(&b'{') && declared > 1 && declared < 100_000_000 {
            return Err(not("it is a safetensors file: weights, not a tokenizer"));
        }
    }
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return Err(Error::invalid("the file is UTF-16; a tokenizer.json is UTF-8").at_offset(0));
    }
    // UTF-16 without a mark: ASCII characters leave every second byte zero.
    if let [b'{', 0, ..] | [0, b'{', ..] = head {
        return Err(Error::invalid("the file is UTF-16; a tokenizer.json is UTF-8").at_offset(0));
    }
    Ok(())
}

fn detect_json_object(text: &[u8]) -> Result<Verdict> {
    let keys = top_level_keys(text);
    let has = |key: &str| keys.contains(&key.as_bytes());
    if has("model") && !has("model_type") {
        return Ok(Verdict::new(Format::TokenizerJson, "a JSON object with the key \"model\""));
    }
    if has("added_tokens") && has("pre_tokenizer") || has("version") && has("truncation") {
        return Ok(Verdict::new(
            Format::TokenizerJson,
            "a JSON object with the keys of a tokenizer.json",
        ));
    }
    if has("config") && (has("vocab") || has("special_tokens")) {
        return Ok(Verdict::new(Format::Tekken, "a JSON object with the keys of a tekken.json"));
    }
    if has("tokenizer_class") || has("added_tokens_decoder") || has("chat_template") {
        return Err(not("it is a tokenizer_config.json, which stands beside a tokenizer; \
             pass the folder or its tokenizer.json"));
    }
    if has("model_type") || has("architectures") {
        return Err(not("it is the config.json of a model; pass the folder or its tokenizer.json"));
    }
    if keys.len() >= 16 {
        return Err(not(
            "it is a flat map, probably a vocab.json, which needs the merges.txt beside it",
        ));
    }
    Err(not("none of the keys of its JSON object belong to a tokenizer"))
}

/// The keys of the outermost object as far as `text` shows it, strings and nesting respected.
fn top_level_keys(text: &[u8]) -> Vec<&[u8]> {
    const ENOUGH: usize = 64;
    let mut keys = Vec::new();
    let mut depth = 0u32;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at + 1;
                let end = string_end(text, start);
                let after = text.get(end + 1..).unwrap_or_default();
                let next = after.iter().find(|b| !b.is_ascii_whitespace());
                if depth == 1 && next == Some(&b':') {
                    keys.push(text.get(start..end).unwrap_or_default());
                    if keys.len() >= ENOUGH {
                        break;
                    }
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    keys
}

/// The offset of the quote that ends the string whose content starts at `at`.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Whether the first complete lines are `base64 rank`.
fn is_rank_lines(text: &[u8]) -> bool {
    let mut seen = 0;
    let mut good = 0;
    for line in text.split_inclusive(|&b| b == b'\n').filter(|l| l.ends_with(b"\n")).take(50) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        seen += 1;
        let mut parts = line.split(|&b| b == b' ');
        if let (Some(token), Some(rank), None) = (parts.next(), parts.next(), parts.next()) {
            let is_base64 =
                token.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
            if is_base64 && !rank.is_empty() && rank.iter().all(u8::is_ascii_digit) {
                good += 1;
            }
        }
    }
    seen > 0 && good * 10 >= seen * 9
}

/// Whether the file opens with at least three records of field 1 that each hold a text and a score.
fn is_sentencepiece(head: &[u8]) -> bool {
    let mut rest = head;
    let mut records = 0;
    while records < 3 {
        let [0x0A, length, tail @ ..] = rest else { return false };
        let length = usize::from(*length);
        let Some(record) = tail.get(..length) else { return false };
        if length >= 0x80 || record.first() != Some(&0x0A) {
            return false;
        }
        rest = tail.get(length..).unwrap_or_default();
        records += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> ErrorKind {
        detect(bytes).unwrap_err().kind
    }

    #[test]
    fn tells_tokenizers_apart() {
        let format = |bytes: &[u8]| detect(bytes).unwrap().format;
        assert_eq!(format(br#"{"version": "1.0", "model": {}}"#), Format::TokenizerJson);
        assert_eq!(format(b"\xEF\xBB\xBF  {\"model\": 1}"), Format::TokenizerJson);
        assert_eq!(format(br#"{"config": {}, "vocab": []}"#), Format::Tekken);
        assert_eq!(format(b"GGUF\x03\0\0\0"), Format::Gguf);
        assert_eq!(format(b"IQ== 0\nIg== 1\n"), Format::Tiktoken);
        assert_eq!(
            format(b"\x0A\x03\x0A\x01a\x0A\x03\x0A\x01b\x0A\x03\x0A\x01c"),
            Format::SentencePiece
        );
    }

    #[test]
    fn names_what_is_no_tokenizer() {
        assert_eq!(kind(b""), ErrorKind::EmptyFile);
        assert_eq!(kind(b" \n\t "), ErrorKind::EmptyFile);
        assert_eq!(kind(b"version https://git-lfs.github.com/spec/v1\n"), ErrorKind::GitLfsPointer);
        assert_eq!(kind(b"\x1F\x8B\x08"), ErrorKind::Compressed);
        assert_eq!(kind(b"PK\x03\x04"), ErrorKind::NotATokenizer);
        assert_eq!(kind(b"\x80\x04\x95"), ErrorKind::NotATokenizer);
        assert_eq!(kind(b"<!DOCTYPE html>"), ErrorKind::NotATokenizer);
        assert_eq!(kind(b"[1, 2]"), ErrorKind::NotATokenizer);
        assert_eq!(kind(b"42"), ErrorKind::NotATokenizer);
        assert_eq!(
            kind(br#"{"tokenizer_class": "X", "chat_template": "model"}"#),
            ErrorKind::NotATokenizer
        );
        assert_eq!(kind(br#"{"model_type": "llama", "model": 1}"#), ErrorKind::NotATokenizer);
        assert_eq!(kind(b"{\0\"\0"), ErrorKind::InvalidFile);
        assert_eq!(kind(b"\x01\x02\x03 nothing"), ErrorKind::UnknownFormat);
    }

    #[test]
    fn keys_inside_strings_and_objects_do_not_count() {
        assert_eq!(kind(br#"{"a": "\"model\": 1", "b": {"model": 2}}"#), ErrorKind::NotATokenizer);
    }

    #[test]
    fn deep_nesting_is_walked_without_a_stack() {
        let mut deep = b"{\"model\":".to_vec();
        deep.extend(std::iter::repeat_n(b'[', 1 << 20));
        assert_eq!(detect(&deep).unwrap().format, Format::TokenizerJson);
    }
}
