//! The engine: bytes of a tokenizer file in, ids out, and back.
//!
//! `formats` read a file into a `definition`; `tokenizer` builds tables from it; a text then goes
//! through `added` tokens, `normalize`, `split`, `model` and `post`; ids come back through `decode`.
//! A folder uses none that uses it: `tests/rooms.rs` checks that.

pub mod added;
pub mod cuts;
pub mod decode;
pub mod definition;
pub mod encoding;
pub mod error;
pub mod formats;
pub mod model;
pub mod normalize;
#[cfg(test)]
mod oracle;
pub mod post;
mod saved;
pub mod simd;
pub mod split;
pub mod text;
pub mod tokenizer;
pub mod unicode;
pub mod vocab;
