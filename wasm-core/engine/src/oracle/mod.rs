//! The slow, obvious version of each fast path: what tests and fuzzers hold it against.

pub mod bpe;
pub mod decode;
pub mod random;
pub mod split;
