//! Python 3.11's text and number algorithms, over `&str` and plain numbers.
//!
//! Nothing here knows of templates or values. Whatever can make a long answer out of a short
//! question takes a `cap` in bytes, and passes it only by a `Limit` fault.

pub mod fault;
pub mod formatting;
pub mod numbers;
#[cfg(test)]
mod tests;
pub mod text;

pub use fault::{Fault, Kind, Outcome};
pub use text::quote::quoted;
