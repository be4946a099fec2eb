//! Ids back to text, all at once. One id at a time is the business of [`crate::tokenizer::stream`].

use super::Tokenizer;
use crate::decode::table::{Asked, TokenTable};
use crate::decode::{token_bytes, Decoders, REPLACEMENT};
use crate::error::{Error, ErrorKind, Result};
use crate::vocab::{self, MAX_ID};

/// What becomes of an id that the tokenizer does not have, when ids are decoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownIds {
    #[default]
    Skip,
    Refuse,
    /// U+FFFD stands for it, as a token of its own.
    Replace,
}

/// How to decode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decoding {
    pub skip_special: bool,
    pub unknown: UnknownIds,
}

impl Tokenizer {
    /// Appends the text of `ids` to `out`. Ids that the tokenizer does not have are left out.
    pub fn decode(&self, ids: &[u32], skip_special: bool, out: &mut String) -> Result<()> {
        self.decode_with(ids, Decoding { skip_special, unknown: UnknownIds::Skip }, out)
    }

    pub fn decode_with(&self, ids: &[u32], how: Decoding, out: &mut String) -> Result<()> {
        self.admit_ids(ids, how.unknown)?;
        if let Some(table) = &self.decoders.token_bytes {
            let skip = |id| self.skips(id, how);
            out.push_str(&token_bytes::decode(table, ids, skip, stands_in(how)));
            return Ok(());
        }
        let text = match self.with_table(how, |table, asked| table.text(ids, asked)) {
            Some(text) => text?,
            None => {
                self.decoders.decode_tokens(ids.iter().filter_map(|&id| self.shown(id, how)))?
            }
        };
        match out.is_empty() {
            true => *out = text,
            false => out.push_str(&text),
        }
        Ok(())
    }

    /// Appends the bytes that `ids` stand for, before anything is replaced by U+FFFD. For a chain
    /// that no table serves it is the UTF-8 of the text.
    pub fn decode_bytes(&self, ids: &[u32], how: Decoding, out: &mut Vec<u8>) -> Result<()> {
        self.admit_ids(ids, how.unknown)?;
        if let Some(table) = &self.decoders.token_bytes {
            let skip = |id| self.skips(id, how);
            out.extend(token_bytes::decode_bytes(table, ids, skip, stands_in(how)));
            return Ok(());
        }
        let pieces =
            || self.decoders.decode_token_bytes(ids.iter().filter_map(|&id| self.shown(id, how)));
        match self.with_table(how, |table, asked| table.bytes(ids, asked)).or_else(pieces) {
            Some(bytes) => out.extend_from_slice(&bytes?),
            None => {
                let mut text = String::new();
                self.decode_with(ids, how, &mut text)?;
                out.extend_from_slice(text.as_bytes());
            }
        }
        Ok(())
    }

    /// The text from which decoding an id starts; `None` if it is left out.
    pub(crate) fn shown(&self, id: u32, how: Decoding) -> Option<&str> {
        let Some(text) = self.id_to_token(id) else { return stands_in(how) };
        Some(text).filter(|text| !(how.skip_special && self.added.is_special(id, text)))
    }

    /// Whether a special token of this id is left out.
    pub(crate) fn skips(&self, id: u32, how: Decoding) -> bool {
        how.skip_special && self.id_to_token(id).is_some_and(|text| self.added.is_special(id, text))
    }

    /// The id of the special token with this text.
    pub(crate) fn special_id(&self, text: &str) -> Option<u32> {
        self.token_to_id(text).filter(|&id| self.added.is_special(id, text))
    }

    pub(crate) fn decoders(&self) -> &Decoders {
        &self.decoders
    }

    /// The table, where nothing but the bytes of tokens counts.
    pub(crate) fn byte_table(&self) -> Option<&TokenTable> {
        self.table.as_ref().filter(|_| self.decoders.is_byte_level())
    }

    pub(crate) fn admit_ids(&self, ids: &[u32], unknown: UnknownIds) -> Result<()> {
        if unknown != UnknownIds::Refuse || ids.iter().all(|&id| id < self.known_below) {
            return Ok(());
        }
        match ids.iter().enumerate().find(|(_, &id)| self.id_to_token(id).is_none()) {
            None => Ok(()),
            Some((place, id)) => Err(Error::new(
                ErrorKind::InvalidToken,
                format!("ids[{place}] = {id} is no id of this tokenizer"),
            )),
        }
    }

    /// The step of the decoder that lets no text out before the last token, if there is one.
    pub fn stream_held_by(&self) -> Option<&'static str> {
        self.decoders.held_by()
    }

    /// Tells tokenizers apart whose decoding differs: a hash over all tokens, over which of them
    /// are special, and over the steps of the decoder.
    pub fn decoding_identity(&self) -> u64 {
        self.decoding_identity
    }

    /// Called once, when everything else is there.
    pub(super) fn prepare_decoding(&mut self, chain: &str) {
        let mut bound = self.model.vocab().id_bound();
        let mut identity = vocab::hash(chain.as_bytes());
        for (_, id) in self.vocab(true) {
            bound = bound.max(id.saturating_add(1));
            let text = self.id_to_token(id).unwrap_or_default();
            let special = u64::from(self.added.is_special(id, text));
            let token = vocab::hash(text.as_bytes()) ^ u64::from(id) << 1 ^ special;
            // A sum: in which order the tokens are listed says nothing.
            identity = identity.wrapping_add(vocab::hash(&token.to_le_bytes()));
        }
        self.decoding_identity = identity;
        let unknown = (0..bound).find(|&id| self.id_to_token(id).is_none());
        self.known_below = unknown.unwrap_or(bound);
        if bound <= MAX_ID {
            self.table = TokenTable::new(&self.decoders, bound, |id| {
                let text = self.id_to_token(id)?;
                Some((text, self.added.is_special(id, text)))
            });
        }
    }

    fn with_table<T>(
        &self,
        how: Decoding,
        decode: impl FnOnce(&TokenTable, &Asked<'_>) -> Result<T>,
    ) -> Option<Result<T>> {
        let table = self.table.as_ref()?;
        Some(decode(
            table,
            &Asked {
                decoders: &self.decoders,
                token: &|id| self.id_to_token(id),
                skip_special: how.skip_special,
                replace_unknown: how.unknown == UnknownIds::Replace,
            },
        ))
    }
}

/// What is decoded in the place of an id that there is not.
pub(crate) fn stands_in(how: Decoding) -> Option<&'static str> {
    Some(REPLACEMENT).filter(|_| how.unknown == UnknownIds::Replace)
}
