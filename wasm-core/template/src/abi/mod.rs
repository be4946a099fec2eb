//! The functions that a host sees: integers in, integers out. `docs/abi.md` is their description.
//!
//! ```text
//! exports.rs    the exported functions, one line each
//! service.rs    what each does, on the one input and the one answer of a memory
//! header.rs     what stands in front of each input
//! input.rs      the input buffer
//! json.rs       warnings and origins as JSON, for hosts
//! answer.rs     the block that says what the last call gave
//! slots.rs      handles of templates
//! blocks.rs     small blocks of memory, used again
//! heap.rs       all other blocks, in a memory of fixed size
//! diagnosis.rs  whether an allocation failed, readable after the trap
//! ```
//!
//! One thread, one call at a time: a memory belongs to one instance.

mod answer;
#[cfg(any(test, target_family = "wasm"))]
mod blocks;
pub mod constants;
#[cfg(target_family = "wasm")]
mod diagnosis;
#[cfg(target_family = "wasm")]
mod exports;
mod header;
#[cfg(target_family = "wasm")]
mod heap;
mod input;
mod json;
pub mod service;
mod slots;
#[cfg(test)]
mod tests;

const _: () = assert!(constants::MAX_PANIC_TEXT == pywasmtok_panic_text::MAX_PANIC_TEXT);
