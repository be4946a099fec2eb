//! The steps of decoder chains, one a file.
//!
//! Most are machines, which hand parts of tokens on; the others are stages, which want whole
//! tokens and run inside of [`whole`].

pub mod bpe;
pub mod byte_fallback;
pub mod byte_level;
pub mod clean_spaces;
pub mod ctc;
pub mod join;
pub mod metaspace;
pub mod pieces;
pub mod replace;
pub mod strip;
pub mod whole;
pub mod word_piece;
