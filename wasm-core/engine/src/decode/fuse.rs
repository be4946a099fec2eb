//! `Fuse`: all tokens become one; no token at all becomes an empty one.

use super::stage::{append, Sink, Stage};
use crate::error::Result;

#[derive(Debug, Default)]
pub struct FuseStage {
    text: String,
}

impl Stage for FuseStage {
    fn push(&mut self, token: &str, _: &mut Sink<'_>) -> Result<()> {
        append(&mut self.text, token)
    }

    fn finish(&mut self, out: &mut Sink<'_>) -> Result<()> {
        out(&std::mem::take(&mut self.text))
    }
}
