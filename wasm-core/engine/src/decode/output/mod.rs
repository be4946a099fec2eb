//! Where decoded text goes: the types that steps hand tokens and parts on with, and bytes as text.

pub mod stage;
pub(super) mod utf8;
