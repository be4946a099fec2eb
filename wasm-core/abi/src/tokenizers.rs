//! The handles of tokenizers: a slot number and the generation of what is in it, so that the handle
//! of a tokenizer that was freed stays wrong when its slot is used again.

use crate::constants::MAX_TOKENIZERS;
use pywasmtok_engine::error::{Error, ErrorKind, Result};
use pywasmtok_engine::tokenizer::Tokenizer;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

struct Slot {
    generation: u32,
    tokenizer: Option<Arc<Tokenizer>>,
}

static SLOTS: [RwLock<Slot>; MAX_TOKENIZERS] =
    [const { RwLock::new(Slot { generation: 0, tokenizer: None }) }; MAX_TOKENIZERS];

const SLOT_BITS: u32 = MAX_TOKENIZERS.trailing_zeros();
const _: () = assert!(MAX_TOKENIZERS.is_power_of_two());
/// Keeps handles positive as signed numbers too.
const GENERATIONS: u32 = 1 << (31 - SLOT_BITS);

fn slot_of(handle: u32) -> Option<(&'static RwLock<Slot>, u32)> {
    let slot = SLOTS.get(handle as usize % MAX_TOKENIZERS)?;
    Some((slot, handle >> SLOT_BITS))
}

// Poison cannot be: a panic aborts, and in native tests nothing panics while a lock is held.
fn read(slot: &RwLock<Slot>) -> RwLockReadGuard<'_, Slot> {
    slot.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(slot: &RwLock<Slot>) -> RwLockWriteGuard<'_, Slot> {
    slot.write().unwrap_or_else(PoisonError::into_inner)
}

pub fn insert(tokenizer: Tokenizer) -> Result<u32> {
    let tokenizer = Arc::new(tokenizer);
    for (number, slot) in SLOTS.iter().enumerate() {
        let mut slot = write(slot);
        if slot.tokenizer.is_none() {
            slot.generation = (slot.generation + 1).checked_rem(GENERATIONS).unwrap_or(0).max(1);
            slot.tokenizer = Some(tokenizer);
            return Ok(slot.generation << SLOT_BITS | number as u32);
        }
    }
    Err(Error::limit(format!(
        "{MAX_TOKENIZERS} tokenizers are loaded, as many as one memory serves: free one first"
    )))
}

/// The tokenizer, for the length of a call: freeing its handle meanwhile does not disturb it.
pub fn get(handle: u32) -> Result<Arc<Tokenizer>> {
    slot_of(handle)
        .and_then(|(slot, generation)| {
            let slot = read(slot);
            slot.tokenizer.clone().filter(|_| slot.generation == generation)
        })
        .ok_or_else(|| {
            Error::new(
                ErrorKind::BadArgument,
                format!("{handle} is no tokenizer handle, or its tokenizer was freed"),
            )
        })
}

/// Gives a handle back; a wrong one is left alone.
pub fn remove(handle: u32) {
    let Some((slot, generation)) = slot_of(handle) else { return };
    let mut slot = write(slot);
    let gone = if slot.generation == generation { slot.tokenizer.take() } else { None };
    // The tables are dropped outside of the lock: that may take a while.
    drop(slot);
    drop(gone);
}
