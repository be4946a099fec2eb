//! `BPEDecoder`: the mark at the end of a word becomes a space, and in the last token nothing.

use super::stage::{append_replaced, Sink, Stage};
use crate::error::Result;

/// Runs one token behind, because the last one is treated differently.
#[derive(Debug)]
pub struct BpeStage<'a> {
    suffix: &'a str,
    held: Option<String>,
    scratch: String,
}

impl<'a> BpeStage<'a> {
    pub fn new(suffix: &'a str) -> Self {
        Self { suffix, held: None, scratch: String::new() }
    }

    fn release(&mut self, space: &str, out: &mut Sink<'_>) -> Result<()> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        self.scratch.clear();
        append_replaced(&mut self.scratch, &held, self.suffix, space)?;
        out(&self.scratch)
    }
}

impl Stage for BpeStage<'_> {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        self.release(" ", out)?;
        self.held = Some(token.to_owned());
        Ok(())
    }

    fn finish(&mut self, out: &mut Sink<'_>) -> Result<()> {
        self.release("", out)
    }
}
