//! `BPEDecoder`: the mark at the end of a word becomes a space, and in the last token nothing.

use crate::decode::output::stage::Parts;
use crate::decode::output::stage::{append, append_replaced};
use crate::error::Result;
use crate::saved::{put_bytes, Reader};

/// Runs up to one token behind, from the first mark of a token on, because in the last token marks
/// are treated differently.
#[derive(Debug)]
pub struct BpeMachine<'a> {
    suffix: &'a str,
    /// The current token from its first mark on, or from where one may begin.
    held: String,
    /// The current token is complete; whether it is the last is open.
    complete: bool,
    scratch: String,
}

impl<'a> BpeMachine<'a> {
    pub fn new(suffix: &'a str) -> Self {
        Self { suffix, held: String::new(), complete: false, scratch: String::new() }
    }

    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        if std::mem::take(&mut self.complete) {
            self.release(" ", out)?;
        }
        append(&mut self.held, part)?;
        let certain = match self.held.find(self.suffix) {
            Some(at) => at,
            None if ends => self.held.len(),
            None => self.held.len() - begun(&self.held, self.suffix),
        };
        if let Some(text) = self.held.get(..certain).filter(|text| !text.is_empty()) {
            out(text, false)?;
        }
        self.held.drain(..certain);
        self.complete = ends;
        Ok(())
    }

    pub fn flush(&mut self, out: &mut Parts<'_>) -> Result<()> {
        if std::mem::take(&mut self.complete) || !self.held.is_empty() {
            self.release("", out)?;
        }
        Ok(())
    }

    fn release(&mut self, space: &str, out: &mut Parts<'_>) -> Result<()> {
        self.scratch.clear();
        append_replaced(&mut self.scratch, &self.held, self.suffix, space)?;
        self.held.clear();
        out(&self.scratch, true)
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.push(self.complete.into());
        put_bytes(out, self.held.as_bytes());
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.complete = from.flag()?;
        self.held = from.text()?.to_owned();
        Ok(())
    }
}

/// Bytes at the end of `text` that may be the beginning of `pattern`.
pub fn begun(text: &str, pattern: &str) -> usize {
    let longest = text.len().min(pattern.len().saturating_sub(1));
    (1..=longest)
        .rev()
        .find(|&len| text.as_bytes().get(text.len() - len..) == pattern.as_bytes().get(..len))
        .unwrap_or(0)
}
