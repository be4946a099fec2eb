//! The chain of nearly every model that came from SentencePiece, `Replace`, `ByteFallback`, `Fuse`
//! and possibly `Strip`, in one pass over the tokens.

use super::byte_fallback::{byte_of, REPLACEMENT};
use super::replace::Replace;
use super::stage::append;
use super::strip::Strip;
use super::Step;
use crate::error::Result;

#[derive(Debug, Clone, Copy)]
pub struct SentencePiece<'a> {
    replace: &'a Replace,
    strip: Option<Strip>,
}

impl<'a> SentencePiece<'a> {
    /// `None`: the chain is another one.
    pub fn recognise(steps: &'a [Step]) -> Option<Self> {
        match steps {
            [Step::Replace(replace), Step::ByteFallback, Step::Fuse] => {
                Some(Self { replace, strip: None })
            }
            [Step::Replace(replace), Step::ByteFallback, Step::Fuse, Step::Strip(strip)] => {
                Some(Self { replace, strip: Some(*strip) })
            }
            _ => None,
        }
    }

    pub fn decode<'t>(&self, tokens: impl Iterator<Item = &'t str>) -> Result<String> {
        let mut text = String::new();
        let mut run = Vec::new();
        let mut token = String::new();
        for raw in tokens {
            token.clear();
            self.replace.apply(raw, &mut token)?;
            if let Some(byte) = byte_of(&token) {
                run.push(byte);
                continue;
            }
            close_run(&mut run, &mut text)?;
            append(&mut text, &token)?;
        }
        close_run(&mut run, &mut text)?;
        Ok(match self.strip {
            Some(strip) => stripped(strip, text),
            None => text,
        })
    }
}

fn close_run(run: &mut Vec<u8>, text: &mut String) -> Result<()> {
    if run.is_empty() {
        return Ok(());
    }
    match std::str::from_utf8(run) {
        Ok(valid) => append(text, valid)?,
        Err(_) => run.iter().try_for_each(|_| append(text, REPLACEMENT))?,
    }
    run.clear();
    Ok(())
}

fn stripped(strip: Strip, text: String) -> String {
    let kept = strip.apply(&text);
    if kept.len() == text.len() {
        return text;
    }
    kept.to_owned()
}
