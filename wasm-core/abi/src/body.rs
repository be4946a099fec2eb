//! What a session owns: its buffers, kept from call to call, and the last error.

use crate::constants::*;
use crate::input::{out_of_memory, Input};
use crate::sessions::Block;
use crate::streams::Plans;
use pywasmtok_engine::error::{Error, Result};
use pywasmtok_engine::tokenizer::{FullEncoding, Scratch};
use std::hint::black_box;

pub struct Body {
    pub input: Input,
    pub scratch: Scratch,
    pub ids: Vec<u32>,
    pub bounds: Vec<u32>,
    pub details: Details,
    pub text: String,
    /// The vocabulary or bytes of tokens, which are no text.
    pub table: Vec<u8>,
    /// Of a stream or a stop decoder, after the last call.
    pub state: Vec<u8>,
    pub plans: Plans,
    error: Option<Error>,
}

/// All that an encoding has beside its ids, in the shape that the host reads.
#[derive(Default)]
pub struct Details {
    pub type_ids: Vec<u32>,
    pub offsets: Vec<u32>,
    pub byte_offsets: Vec<u32>,
    pub special_mask: Vec<u8>,
    pub attention_mask: Vec<u8>,
    pub tokens: Vec<u8>,
}

impl Body {
    pub fn new() -> Self {
        Self {
            input: Input::default(),
            scratch: Scratch::new(),
            ids: Vec::new(),
            bounds: Vec::new(),
            details: Details::default(),
            text: String::new(),
            table: Vec::new(),
            state: Vec::new(),
            plans: Plans::default(),
            error: None,
        }
    }

    /// Appends an encoding to the ids and the details.
    pub fn append(&mut self, encoding: &FullEncoding) -> Result<()> {
        reserve(&mut self.ids, encoding.ids.len())?;
        self.ids.extend_from_slice(&encoding.ids);
        self.details.append(encoding)
    }

    pub fn publish_ids(&self, block: &mut Block) {
        publish(block, (FIELD_IDS_PTR, FIELD_IDS_LEN), &self.ids);
    }

    pub fn publish_bounds(&self, block: &mut Block) {
        publish(block, (FIELD_BOUNDS_PTR, FIELD_BOUNDS_LEN), &self.bounds);
    }

    pub fn publish_details(&self, block: &mut Block) {
        let details = &self.details;
        block[FIELD_OFFSETS_PTR] = address(&details.offsets);
        block[FIELD_BYTE_OFFSETS_PTR] = address(&details.byte_offsets);
        block[FIELD_TYPE_IDS_PTR] = address(&details.type_ids);
        block[FIELD_SPECIAL_MASK_PTR] = address(&details.special_mask);
        block[FIELD_ATTENTION_MASK_PTR] = address(&details.attention_mask);
        publish(block, (FIELD_TOKENS_PTR, FIELD_TOKENS_LEN), &details.tokens);
    }

    pub fn publish_text(&self, block: &mut Block) {
        publish(block, (FIELD_TEXT_PTR, FIELD_TEXT_LEN), self.text.as_bytes());
    }

    pub fn publish_table(&self, block: &mut Block) {
        publish(block, (FIELD_TEXT_PTR, FIELD_TEXT_LEN), &self.table);
    }

    pub fn publish_state(&self, block: &mut Block) {
        publish(block, (FIELD_STATE_PTR, FIELD_STATE_LEN), &self.state);
    }

    /// Keeps an error where the host can read its texts, and says in the block where that is.
    pub fn keep_error(&mut self, block: &mut Block, error: Error) {
        let error = self.error.insert(error);
        let offset = error.offset.unwrap_or(u64::MAX);
        block[FIELD_ERROR_OFFSET_LO] = offset as u32;
        block[FIELD_ERROR_OFFSET_HI] = (offset >> 32) as u32;
        let texts = [
            ((FIELD_MESSAGE_PTR, FIELD_MESSAGE_LEN), error.message.as_str()),
            ((FIELD_PATH_PTR, FIELD_PATH_LEN), error.path.as_deref().unwrap_or_default()),
            ((FIELD_FEATURE_PTR, FIELD_FEATURE_LEN), error.feature.as_deref().unwrap_or_default()),
        ];
        for (fields, text) in texts {
            publish(block, fields, text.as_bytes());
        }
    }

    #[cfg(test)]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Zeroes texts and ids before their memory is given back: no prompt stays in a snapshot, and
    /// pages of zeroes cost a snapshot nothing.
    pub fn wipe(&mut self) {
        self.input.wipe();
        self.ids.fill(0);
        self.details.tokens.fill(0);
        self.table.fill(0);
        self.state.fill(0);
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.fill(0);
        // Without this the compiler may leave the zeroes out: nothing reads them before the memory
        // goes back.
        black_box((&mut self.input, &mut self.ids, &mut self.details.tokens, &mut text));
        black_box((&mut self.table, &mut self.state));
    }
}

impl Details {
    pub fn clear(&mut self) {
        self.type_ids.clear();
        self.offsets.clear();
        self.byte_offsets.clear();
        self.special_mask.clear();
        self.attention_mask.clear();
        self.tokens.clear();
    }

    fn append(&mut self, encoding: &FullEncoding) -> Result<()> {
        reserve(&mut self.type_ids, encoding.type_ids.len())?;
        reserve(&mut self.special_mask, encoding.special_mask.len())?;
        reserve(&mut self.attention_mask, encoding.attention_mask.len())?;
        reserve(&mut self.offsets, encoding.offsets.len() * 2)?;
        reserve(&mut self.byte_offsets, encoding.byte_offsets.len() * 2)?;
        reserve(&mut self.tokens, encoding.tokens.iter().map(|token| token.len() + 4).sum())?;
        self.type_ids.extend_from_slice(&encoding.type_ids);
        self.special_mask.extend_from_slice(&encoding.special_mask);
        self.attention_mask.extend_from_slice(&encoding.attention_mask);
        self.offsets.extend(encoding.offsets.iter().flat_map(|&(start, end)| [start, end]));
        self.byte_offsets
            .extend(encoding.byte_offsets.iter().flat_map(|&(start, end)| [start, end]));
        for token in &encoding.tokens {
            self.tokens.extend_from_slice(&(token.len() as u32).to_le_bytes());
            self.tokens.extend_from_slice(token.as_bytes());
        }
        Ok(())
    }
}

/// Room in a buffer whose size follows the input's.
pub fn reserve<T>(buffer: &mut Vec<T>, count: usize) -> Result<()> {
    buffer.try_reserve(count).map_err(|_| out_of_memory(count.saturating_mul(size_of::<T>())))
}

fn publish<T>(block: &mut Block, (ptr, len): (usize, usize), items: &[T]) {
    block[ptr] = address(items);
    block[len] = items.len() as u32;
}

/// On a 64-bit machine, where only tests run, this is half of an address.
fn address<T>(items: &[T]) -> u32 {
    items.as_ptr() as usize as u32
}
