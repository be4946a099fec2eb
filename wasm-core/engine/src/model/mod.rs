//! From a piece of text to ids.

pub mod bpe;
