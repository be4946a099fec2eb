//! The tokens of a file: texts, scores, and what each of them is.

use super::container::Kind;
use super::metadata::{utf8, Metadata};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::limits::Limits;
use crate::vocab::Vocab;

pub const NORMAL: u8 = 1;
pub const UNKNOWN: u8 = 1 << 1;
pub const CONTROL: u8 = 1 << 2;
pub const USER_DEFINED: u8 = 1 << 3;
pub const UNUSED: u8 = 1 << 4;
pub const BYTE: u8 = 1 << 5;

#[derive(Debug)]
pub struct Tokens {
    pub vocab: Vocab,
    pub count: u32,
    /// Flags by id.
    pub kinds: Vec<u8>,
    /// By id; all zero where the file has none.
    pub scores: Vec<f32>,
}

impl Tokens {
    pub fn read(metadata: &Metadata, limits: &Limits) -> Result<Self> {
        let key = "tokenizer.ggml.tokens";
        let texts = metadata.strings(key)?.ok_or_else(|| {
            Error::new(
                ErrorKind::NoTokenizerInFile,
                "the file names a tokenizer, but has no tokens",
            )
            .at_path(key)
        })?;
        let count = texts.len();
        let mut vocab = Vocab::new();
        for (id, (offset, bytes)) in (0u32..).zip(texts) {
            let place = || format!("{key}[{id}]");
            Limits::check(bytes.len() as u64, limits.token, "bytes of a token")
                .map_err(|error| error.at_path(place()).at_offset(offset))?;
            let text = utf8(bytes, offset).map_err(|error| {
                Error { message: format!("token {id} is not UTF-8"), ..error }.at_path(place())
            })?;
            // llama.cpp gives an empty token this name.
            let named;
            let text = match text {
                "" => {
                    named = format!("[EMPTY_{id}]");
                    named.as_str()
                }
                text => text,
            };
            if let Some(first) = vocab.id(text) {
                return Err(Error::invalid(format!(
                    "tokens {first} and {id} are both {text:?}; llama.cpp refuses such a file"
                ))
                .at_path(place())
                .at_offset(offset));
            }
            vocab.insert(text, id)?;
        }
        let kinds = kinds(metadata, count)?;
        let scores = scores(metadata, count)?;
        let tokens = Self { count: vocab.id_bound(), vocab, kinds, scores };
        tokens.check_bytes()?;
        Ok(tokens)
    }

    pub fn kind(&self, id: u32) -> u8 {
        self.kinds.get(id as usize).copied().unwrap_or(0)
    }

    pub fn is(&self, id: u32, kind: u8) -> bool {
        self.kind(id) & kind != 0
    }

    pub fn score(&self, id: u32) -> f32 {
        self.scores.get(id as usize).copied().unwrap_or(0.0)
    }

    /// Every id with its text.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.vocab.iter().map(|(text, id)| (id, text))
    }

    /// What llama.cpp takes for a byte has to spell one.
    fn check_bytes(&self) -> Result<()> {
        for (id, text) in self.iter().filter(|(id, _)| self.is(*id, BYTE)) {
            if byte_of(text).is_none() {
                return Err(Error::invalid(format!(
                    "token {id} is said to be a byte, but {text:?} does not spell one like <0x0A>"
                ))
                .at_path(format!("tokenizer.ggml.tokens[{id}]")));
            }
        }
        Ok(())
    }
}

/// The byte that a token such as `<0x0A>` spells, in capitals.
pub fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_capital = |byte: u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    if digits.len() != 2 || !digits.bytes().all(is_capital) {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

fn kinds(metadata: &Metadata, count: usize) -> Result<Vec<u8>> {
    let key = "tokenizer.ggml.token_type";
    let Some((kind, words)) = metadata.words(key)? else { return Ok(vec![NORMAL; count]) };
    if kind == Kind::F32 {
        return Err(Error::invalid("expected whole numbers, found F32").at_path(key));
    }
    require(words.len(), count, key)?;
    let flag = |word: [u8; 4]| match u32::from_le_bytes(word) {
        1 => NORMAL,
        2 => UNKNOWN,
        3 => CONTROL,
        4 => USER_DEFINED,
        5 => UNUSED,
        6 => BYTE,
        _ => 0,
    };
    Ok(words.into_iter().take(count).map(flag).collect())
}

fn scores(metadata: &Metadata, count: usize) -> Result<Vec<f32>> {
    let key = "tokenizer.ggml.scores";
    let Some((kind, words)) = metadata.words(key)? else { return Ok(vec![0.0; count]) };
    require(words.len(), count, key)?;
    let score = |word: [u8; 4]| match kind {
        Kind::F32 => f32::from_le_bytes(word),
        _ => i32::from_le_bytes(word) as f32,
    };
    let scores: Vec<f32> = words.into_iter().take(count).map(score).collect();
    match scores.iter().position(|score| score.is_nan()) {
        Some(id) => {
            Err(Error::invalid(format!("the score of token {id} is not a number")).at_path(key))
        }
        None => Ok(scores),
    }
}

fn require(found: usize, count: usize, key: &str) -> Result<()> {
    if found < count {
        return Err(Error::invalid(format!("{found} items for {count} tokens")).at_path(key));
    }
    Ok(())
}
