//! Tables of pieces: what is known without merging.
//!
//! A [`key`] is a short piece, or a hash of a longer one, in one register. `pieces` is the cache, with
//! `records` of what its table has no room for, and a [`batch`] looks up many pieces in it at a time.
//! `vocabulary` has the short pieces that are one token, `unreachable` the tokens that merging does
//! not lead to.

pub mod batch;
pub mod key;
pub mod pieces;
pub mod records;
pub mod unreachable;
pub mod vocabulary;
