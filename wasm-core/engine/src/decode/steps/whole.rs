//! A step that wants whole tokens, fed with parts.

use crate::decode::output::stage::Parts;
use crate::decode::output::stage::{append, Stage};
use crate::error::Result;
use crate::saved::{put_bytes, Reader};
use std::fmt;

pub struct Whole<'a> {
    stage: Box<dyn Stage + 'a>,
    token: String,
    /// A step before joins everything: even nothing at all is one token, an empty one. This is
    /// still to be given to the stage.
    owes_empty: bool,
}

impl<'a> Whole<'a> {
    pub fn new(stage: impl Stage + 'a) -> Self {
        Self { stage: Box::new(stage), token: String::new(), owes_empty: false }
    }

    pub fn comes_joined(&mut self) {
        self.owes_empty = true;
    }

    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        self.owes_empty = false;
        if !ends {
            return append(&mut self.token, part);
        }
        if self.token.is_empty() {
            return self.stage.push(part, &mut |token| out(token, true));
        }
        append(&mut self.token, part)?;
        self.end_token(out)
    }

    pub fn flush(&mut self, out: &mut Parts<'_>) -> Result<()> {
        if !self.token.is_empty() || std::mem::take(&mut self.owes_empty) {
            self.end_token(out)?;
        }
        self.stage.finish(&mut |token| out(token, true))
    }

    fn end_token(&mut self, out: &mut Parts<'_>) -> Result<()> {
        let token = std::mem::take(&mut self.token);
        self.stage.push(&token, &mut |token| out(token, true))
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.push(self.owes_empty.into());
        put_bytes(out, self.token.as_bytes());
        self.stage.save(out);
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.owes_empty = from.flag()?;
        self.token = from.text()?.to_owned();
        self.stage.load(from)
    }
}

impl fmt::Debug for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whole({:?})", self.token)
    }
}
