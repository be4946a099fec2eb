//! Where text of a vocabulary of characters can be cut without changing its ids.
//!
//! [`joins`] says which characters stand side by side in a token; `parts` cuts where none do.

pub mod joins;
mod parts;
