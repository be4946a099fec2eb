//! Numbers as text and back, and powers.

pub mod float;
pub mod integer;
pub mod power;
