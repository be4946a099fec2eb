//! `CTC`: a model of speech says a token again for as long as it is heard, and a padding token in
//! between. Repeated tokens count once, padding is dropped, what is left of nothing vanishes.

use super::word_piece::cleaned;
use crate::decode::output::stage::{append_replaced, Sink, Stage};
use crate::error::Result;
use crate::saved::{put_bytes, Reader};

#[derive(Debug)]
pub struct Ctc {
    pub pad: String,
    pub word_delimiter: String,
    pub cleanup: bool,
}

#[derive(Debug)]
pub struct CtcStage<'a> {
    ctc: &'a Ctc,
    last: Option<String>,
    scratch: String,
}

impl<'a> CtcStage<'a> {
    pub fn new(ctc: &'a Ctc) -> Self {
        Self { ctc, last: None, scratch: String::new() }
    }
}

impl Stage for CtcStage<'_> {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        if self.last.as_deref() == Some(token) {
            return Ok(());
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.push_str(token);
        self.scratch.clear();
        append_replaced(&mut self.scratch, token, &self.ctc.pad, "")?;
        if !self.ctc.cleanup {
            return match self.scratch.as_str() {
                "" => Ok(()),
                text => out(text),
            };
        }
        let mut text = String::new();
        append_replaced(&mut text, &cleaned(&self.scratch), &self.ctc.word_delimiter, " ")?;
        if text.is_empty() {
            return Ok(());
        }
        out(&text)
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.push(self.last.is_some().into());
        put_bytes(out, self.last.as_deref().unwrap_or_default().as_bytes());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let any = from.flag()?;
        self.last = Some(from.text()?.to_owned()).filter(|_| any);
        Ok(())
    }
}
