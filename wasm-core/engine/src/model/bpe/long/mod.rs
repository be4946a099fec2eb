//! Long pieces, by the longest tokens that fit instead of by merging.
//!
//! [`backtrack`] fills a piece with tokens from left to right, `longest_token` proposes the next one
//! (`long_tokens` the ones longer than a key), and `premerge` merges parts of the piece beforehand.

pub mod backtrack;
mod long_tokens;
pub mod longest_token;
mod premerge;
