//! What a file is, from its content alone: at most its first 64 KiB.
//!
//! The order of the tests matters: cheap signatures first, then JSON by its top-level keys, then
//! the line formats, then SentencePiece, whose first byte says little.

use crate::error::{Error, ErrorKind, Result};
use serde_json::json;

mod lines;
mod protobuf;

/// How much of a file is looked at.
pub const SNIFF: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    TokenizerJson,
    Tekken,
    Gguf,
    SentencePiece,
    Tiktoken,
    Rwkv,
    /// Half a tokenizer: the other half is a merges.txt.
    VocabJson,
    /// Half a tokenizer: the other half is a vocab.json.
    Merges,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::TokenizerJson => "tokenizer.json",
            Self::Tekken => "tekken",
            Self::Gguf => "gguf",
            Self::SentencePiece => "sentencepiece",
            Self::Tiktoken => "tiktoken",
            Self::Rwkv => "rwkv",
            Self::VocabJson => "vocab.json",
            Self::Merges => "merges.txt",
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
    if text.first() == Some(&b'{') {
        return detect_json_object(text);
    }
    // The last line may go on behind what is seen.
    let is_cut = bytes.len() >= SNIFF;
    if let Some(verdict) = lines::detect(text, is_cut) {
        return Ok(verdict);
    }
    match text.first() {
        Some(b'[') => Err(not("it is a JSON array; a tokenizer.json is an object")),
        Some(b'<') => Err(not("it looks like HTML or XML, perhaps an error page saved as a file")),
        _ if protobuf::is_sentencepiece(head) => Ok(Verdict::new(
            Format::SentencePiece,
            "starts with well-formed protobuf records of pieces",
        )),
        Some(b'"' | b'-' | b'0'..=b'9') => Err(not("it is a bare JSON value or plain text")),
        _ => Err(protobuf::broken(head).unwrap_or_else(|| {
            let first = head.get(..16).unwrap_or(head);
            Error::new(
                ErrorKind::UnknownFormat,
                format!("nothing known about its first bytes: {}", hex(first)),
            )
        })),
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
        return Err(Error::invalid("the file is UTF-16; tokenizer files are UTF-8").at_offset(0));
    }
    // UTF-16 without a mark: ASCII characters leave every second byte zero.
    if let [b'{', 0, ..] | [0, b'{', ..] = head {
        return Err(Error::invalid("the file is UTF-16; a tokenizer.json is UTF-8").at_offset(0));
    }
    Ok(())
}

/// A map of tokens has more keys than any configuration.
const FLAT: usize = 16;

fn detect_json_object(text: &[u8]) -> Result<Verdict> {
    let Keys { keys, is_whole } = top_level_keys(text);
    let has = |name: &str| keys.iter().any(|key| key.name == name.as_bytes());
    if has("model") && !has("model_type") {
        // A vocabulary may well have such a token, but its value is a number.
        let is_token = keys.iter().any(|key| key.name == b"model" && key.is_number);
        if !is_token || keys.len() < FLAT {
            return Ok(Verdict::new(Format::TokenizerJson, "a JSON object with the key \"model\""));
        }
    }
    // With its keys sorted, a file with many of them shows nothing else at its beginning. Other
    // files list such tokens, too, but never so many.
    let lists_added = keys.iter().any(|key| key.name == b"added_tokens" && !key.is_number);
    if lists_added && (!is_whole || has("pre_tokenizer")) || has("version") && has("truncation") {
        return Ok(Verdict::new(
            Format::TokenizerJson,
            "a JSON object with the keys of a tokenizer.json",
        ));
    }
    if keys.len() >= FLAT && keys.iter().all(|key| key.is_number) {
        return Ok(Verdict::new(Format::VocabJson, "a JSON object of many keys and numbers"));
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
    if has("bos_token") || has("eos_token") || has("unk_token") || has("pad_token") {
        return Err(not("it is a special_tokens_map.json, which stands beside a tokenizer; \
             pass the folder or its tokenizer.json"));
    }
    if has("bos_token_id") || has("eos_token_id") {
        return Err(not("it is a generation_config.json, which stands beside a tokenizer; \
             pass the folder or its tokenizer.json"));
    }
    if !keys.is_empty() && keys.iter().all(|key| key.is_number) {
        return Err(not("it is a small map of names and numbers, perhaps an added_tokens.json; \
             pass the folder or its tokenizer.json"));
    }
    Err(not("none of the keys of its JSON object belong to a tokenizer"))
}

struct Key<'a> {
    name: &'a [u8],
    /// What stands behind the colon, if that is to be seen.
    is_number: bool,
}

struct Keys<'a> {
    keys: Vec<Key<'a>>,
    /// The object ends within what was seen of it.
    is_whole: bool,
}

/// The keys of the outermost object as far as `text` shows it, strings and nesting respected.
fn top_level_keys(text: &[u8]) -> Keys<'_> {
    const ENOUGH: usize = 64;
    let mut keys = Vec::new();
    let mut is_whole = false;
    let mut depth = 0u32;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                is_whole |= depth == 0;
            }
            b'"' => {
                let start = at + 1;
                let end = string_end(text, start);
                let after = text.get(end + 1..).unwrap_or_default().trim_ascii_start();
                if let (1, Some((b':', value))) = (depth, after.split_first()) {
                    let name = text.get(start..end).unwrap_or_default();
                    let first = value.trim_ascii_start().first();
                    let is_number = first.is_none_or(|b| matches!(b, b'-' | b'0'..=b'9'));
                    keys.push(Key { name, is_number });
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
    Keys { keys, is_whole }
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

#[cfg(test)]
mod tests;
