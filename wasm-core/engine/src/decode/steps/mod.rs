//! The steps of decoder chains, one a file.
//!
//! Most are machines, which hand parts of tokens on; the others are stages, which want whole
//! tokens and run inside of [`whole`].

pub(super) mod bpe;
pub(super) mod byte_fallback;
pub mod byte_level;
pub(super) mod clean_spaces;
pub(super) mod ctc;
pub(super) mod join;
pub(super) mod metaspace;
pub(super) mod pieces;
pub(super) mod replace;
pub(super) mod strip;
pub(super) mod whole;
pub(super) mod word_piece;
