//! Many bytes at a time, and the scalar twin of each for builds without SIMD.
//!
//! [`lane16`] is one register of 16 bytes, [`block`] the kinds of 64 bytes as the bits of a word.

pub mod block;
pub mod lane16;
