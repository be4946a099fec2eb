//! Where text of a vocabulary of characters can be cut without changing its ids.

pub mod joins;
