//! The block that says what the last call gave. It lies where it always lay; what it points to is
//! kept beside it until the next call.

use super::constants::*;
use crate::error::{Error, Kind};

#[derive(Default)]
pub struct Answer {
    block: [u32; ANSWER_WORDS],
    pub text: String,
    pub feature: String,
    pub spans: Vec<u32>,
    pub origins: String,
    pub notes: String,
}

impl Answer {
    /// Forgets the last call's answer.
    pub fn clear(&mut self) {
        let Self { block, text, feature, spans, origins, notes } = self;
        *block = [0; ANSWER_WORDS];
        // What was long is given back; the next is written anew anyway.
        *text = String::new();
        *feature = String::new();
        spans.clear();
        origins.clear();
        notes.clear();
    }

    pub fn fail(&mut self, error: Error) {
        self.clear();
        self.set(ANSWER_KIND, error.kind as u32);
        self.set(ANSWER_LINE, error.line.unwrap_or_default());
        self.set(ANSWER_COLUMN, error.column.unwrap_or_default());
        self.text = error.message;
        self.feature = error.feature.unwrap_or_default();
        self.settle();
    }

    pub fn template(&mut self, handle: u32) {
        self.set(ANSWER_TEMPLATE, handle);
    }

    /// Writes the addresses and lengths, now that nothing moves any more.
    pub fn settle(&mut self) {
        let pairs = [
            (ANSWER_TEXT_PTR, self.text.as_ptr() as usize, self.text.len()),
            (ANSWER_FEATURE_PTR, self.feature.as_ptr() as usize, self.feature.len()),
            (ANSWER_SPANS_PTR, self.spans.as_ptr() as usize, self.spans.len() / 2),
            (ANSWER_ORIGINS_PTR, self.origins.as_ptr() as usize, self.origins.len()),
            (ANSWER_NOTES_PTR, self.notes.as_ptr() as usize, self.notes.len()),
        ];
        for (index, address, len) in pairs {
            self.set(index, address as u32);
            self.set(index + 1, len as u32);
        }
    }

    /// Address and length of the text in one number.
    pub fn packed(&self) -> i64 {
        let word = |index: usize| i64::from(self.block.get(index).copied().unwrap_or_default());
        word(ANSWER_TEXT_PTR) << 32 | word(ANSWER_TEXT_LEN)
    }

    #[cfg(target_family = "wasm")]
    pub fn address(&self) -> u32 {
        self.block.as_ptr() as usize as u32
    }

    #[cfg(test)]
    pub fn kind(&self) -> u32 {
        self.block[ANSWER_KIND]
    }

    fn set(&mut self, index: usize, value: u32) {
        if let Some(word) = self.block.get_mut(index) {
            *word = value;
        }
    }
}

/// The numbers of the table are those of the enumeration.
const _: () = assert!(
    Kind::Syntax as u32 == ERROR_SYNTAX
        && Kind::Runtime as u32 == ERROR_RUNTIME
        && Kind::Raised as u32 == ERROR_RAISED
        && Kind::Unsupported as u32 == ERROR_UNSUPPORTED
        && Kind::Limit as u32 == ERROR_LIMIT
        && Kind::Context as u32 == ERROR_CONTEXT
        && Kind::Internal as u32 == ERROR_INTERNAL
        && Kind::NotPlain as u32 == ERROR_NOT_PLAIN
        && Kind::BadArgument as u32 == ERROR_BAD_ARGUMENT
        && Kind::OutOfMemory as u32 == ERROR_OUT_OF_MEMORY
);
