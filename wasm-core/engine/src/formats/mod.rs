//! Files of every format, each read into the one [`Definition`](crate::definition::Definition).
//!
//! `detect` says from the content what a file is; each format has one reader beside it.

pub mod detect;
pub mod json;
pub mod limits;
pub mod options;
pub mod tokenizer_json;

pub use options::Options;

use crate::definition::Definition;
use crate::error::{Error, Result};
use detect::Format;

/// Reads a file of any format that is served.
pub fn read(bytes: &[u8], _options: &Options) -> Result<Definition> {
    let verdict = detect::detect(bytes)?;
    match verdict.format {
        Format::TokenizerJson => tokenizer_json::read(bytes),
        other => Err(Error::unsupported(
            format!("format:{}", other.name()),
            format!(
                "this is a file of the format {} ({}), which the core does not read",
                other.name(),
                verdict.reason
            ),
        )),
    }
}
