//! Pieces with characters of several bytes, merged from whole characters.
//!
//! [`char_atoms`] says which characters can be taken as a whole, [`char_borders`] which tokens
//! begin or end inside of one; [`segments`] encodes with both.

pub mod char_atoms;
pub mod char_borders;
pub mod code_points;
pub mod segments;
