//! The slow, obvious version of each fast path: what tests and fuzzers hold it against.

pub mod bpe;
pub mod clean_spaces;
pub mod decode;
pub mod greedy;
pub mod random;
pub mod ranks;
pub mod split;
pub mod stop;
pub mod unigram;
pub mod word_piece;
