//! Merging the symbols of a piece in the order of the ranks.
//!
//! Characters become [`symbols`]; bytes by [`byte_units`]. [`pairs`] says the rank and
//! the product of a pair. `merger` merges one piece, with a [`queue`] where it is long;
//! `interleaved` merges several short ones together.

pub mod byte_units;
pub mod interleaved;
pub mod merger;
pub mod pairs;
pub mod queue;
pub mod symbols;
