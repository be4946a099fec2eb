//! Renders in which every text knows whose it is.
//!
//! The strings of the caller carry marks (`marks.rs`), every call of a template goes through one
//! observer (`observer.rs`), which shows plain texts to functions and marks what they answer, and
//! the output is held against that of a plain render (`tracing.rs`): what does not agree is refused.
//!
//! Numbers, booleans and the keys that a template writes are no text of a sender. The keys of
//! dictionaries belong to a sender as soon as they come out as texts, also those of the template's own.

#[cfg(test)]
mod corpus_tests;
pub mod observer;
pub mod paths;
mod plans;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tracing;
mod values;

pub use paths::Step;
pub use tracing::{Stretch, Traced, Tracing};
