//! The methods of `str`, by what they do, and the characters that they know.

pub mod case;
pub mod classes;
pub mod markup;
pub mod pad;
pub mod quote;
pub mod search;
pub mod split;
pub mod strip;
#[rustfmt::skip]
mod tables;
pub mod wrap;
