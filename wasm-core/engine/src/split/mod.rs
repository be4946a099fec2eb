//! Cuts text into the pieces that the model sees one at a time.
//!
//! [`PreTokenizers`] does it as the reference does, for any steps and any text that came out of
//! normalisation. [`RangePlan`] is the fast way for steps that only cut. Both cut by
//! [`Splitter`]s, which find what they look for by [`scan`]ners, or by [`pattern`]s where there
//! is no scanner.

pub mod byte_level;
mod llama;
mod meeting;
pub mod pattern;
mod ranges;
mod regex;
pub mod scan;
mod splitter;
mod steps;
#[cfg(test)]
pub(crate) mod testing;

pub use pattern::Regex;
pub use ranges::RangePlan;
pub use scan::{PieceScan, ScanVisitor, Scanner};
pub use splitter::Splitter;
pub use steps::PreTokenizers;
