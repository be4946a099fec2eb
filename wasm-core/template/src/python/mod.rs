//! Python 3.11's text and number algorithms, over `&str` and plain numbers.
//!
//! Nothing here knows of templates or values. Whatever can make a long answer out of a short
//! question takes a `cap` in bytes, and passes it only by a `Limit` fault.

pub mod case;
pub mod classes;
pub mod fault;
pub mod fields;
pub mod float;
pub mod integer;
pub mod markup;
pub mod pad;
pub mod percent;
pub mod power;
pub mod quote;
pub mod search;
pub mod spec;
pub mod split;
pub mod strip;
#[rustfmt::skip]
mod tables;
#[cfg(test)]
mod tests;
pub mod wrap;

pub use fault::{Fault, Kind, Outcome};
pub use quote::quoted;
