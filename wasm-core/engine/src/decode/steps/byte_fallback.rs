//! `ByteFallback`: tokens such as `<0xE4>` are bytes; a run of them is text if it is valid UTF-8
//! as a whole, else one U+FFFD for each byte.

use crate::decode::output::stage::Parts;
use crate::decode::output::utf8::{may_go_on, REPLACEMENT};
use crate::error::Result;
use crate::saved::{damaged, put_bytes, put_number, Reader};

/// The byte that a token spells. The reference's parser of numbers takes a sign as well, so
/// `<0x+F>` is the byte 0F.
pub fn byte_of(token: &str) -> Option<u8> {
    if token.len() != "<0xHH>".len() {
        return None;
    }
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok()
}

/// When the text of a run goes out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ByteRuns {
    /// When the run has ended, for only then is it certain that all of it is text: the reference's
    /// rule.
    #[default]
    Exact,
    /// Each character when it is complete, and one U+FFFD for each byte that is part of none:
    /// SentencePiece's rule, for people who watch the text appear.
    Eager,
}

/// A run is held back up to this; from there on its characters go out when they are complete. The
/// text is then another than the reference's if a later byte of the same run is no UTF-8.
pub const MAX_RUN: usize = 4096;

/// Longer tokens spell no byte.
const SPELLING: usize = "<0xHH>".len();

#[derive(Debug, Default)]
pub struct ByteFallbackMachine {
    runs: ByteRuns,
    /// The token so far, while it may still spell a byte.
    token: String,
    /// The current token spells no byte: its parts pass.
    passing: bool,
    /// Bytes of the open run that have not gone out.
    run: Vec<u8>,
    /// So many of them are whole characters.
    complete: usize,
    /// The open run is no text: each of its bytes is a U+FFFD.
    broken: bool,
    /// Characters of the open run have gone out: the token that they began is still open.
    begun: bool,
}

impl ByteFallbackMachine {
    pub fn new(runs: ByteRuns) -> Self {
        Self { runs, ..Self::default() }
    }

    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        if self.passing {
            self.passing = !ends;
            return out(part, ends);
        }
        if self.token.is_empty() && ends {
            return self.push_token(part, out);
        }
        self.token.push_str(part);
        let token = std::mem::take(&mut self.token);
        if ends {
            return self.push_token(&token, out);
        }
        if may_spell_a_byte(&token) {
            self.token = token;
            return Ok(());
        }
        self.passing = true;
        self.close_run(out)?;
        out(&token, false)
    }

    pub fn flush(&mut self, out: &mut Parts<'_>) -> Result<()> {
        if !self.token.is_empty() {
            let token = std::mem::take(&mut self.token);
            self.push_token(&token, out)?;
        }
        self.close_run(out)
    }

    /// Lets the characters of the open run go that are complete.
    pub fn release_complete(&mut self, out: &mut Parts<'_>) -> Result<()> {
        let complete = std::mem::take(&mut self.complete);
        let bytes = self.run.get(..complete).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        self.begun = true;
        out(std::str::from_utf8(bytes).map_err(|_| damaged())?, false)?;
        self.run.drain(..complete);
        Ok(())
    }

    fn push_token(&mut self, token: &str, out: &mut Parts<'_>) -> Result<()> {
        match byte_of(token) {
            None => {
                self.close_run(out)?;
                out(token, true)
            }
            Some(_) if self.broken => out(REPLACEMENT, true),
            Some(byte) => {
                self.run.push(byte);
                match self.runs {
                    ByteRuns::Exact => self.look_at_the_end(out),
                    ByteRuns::Eager => self.let_characters_go(out),
                }
            }
        }
    }

    /// After a byte: is the run still the beginning of a text?
    fn look_at_the_end(&mut self, out: &mut Parts<'_>) -> Result<()> {
        let open = self.run.get(self.complete..).unwrap_or_default();
        if std::str::from_utf8(open).is_ok() {
            self.complete = self.run.len();
        } else if !may_go_on(open) {
            self.broken = true;
            return self.replace_all(out);
        }
        match self.run.len() > MAX_RUN {
            true => self.release_complete(out),
            false => Ok(()),
        }
    }

    fn let_characters_go(&mut self, out: &mut Parts<'_>) -> Result<()> {
        while !self.run.is_empty() && !may_go_on(&self.run) {
            self.begun = true;
            match std::str::from_utf8(&self.run) {
                Ok(text) => {
                    out(text, false)?;
                    self.run.clear();
                }
                Err(_) => {
                    out(REPLACEMENT, false)?;
                    self.run.remove(0);
                }
            }
        }
        Ok(())
    }

    fn close_run(&mut self, out: &mut Parts<'_>) -> Result<()> {
        if std::mem::take(&mut self.broken) {
            return Ok(());
        }
        if self.complete < self.run.len() {
            return self.replace_all(out);
        }
        if self.run.is_empty() && !self.begun {
            return Ok(());
        }
        let run = std::mem::take(&mut self.run);
        self.complete = 0;
        self.begun = false;
        out(std::str::from_utf8(&run).map_err(|_| damaged())?, true)
    }

    /// Each byte that is held becomes a token of its own.
    fn replace_all(&mut self, out: &mut Parts<'_>) -> Result<()> {
        if std::mem::take(&mut self.begun) {
            out("", true)?;
        }
        self.complete = 0;
        std::mem::take(&mut self.run).iter().try_for_each(|_| out(REPLACEMENT, true))
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        let flags = u8::from(self.passing) | u8::from(self.broken) << 1 | u8::from(self.begun) << 2;
        out.push(flags);
        put_bytes(out, self.token.as_bytes());
        put_bytes(out, &self.run);
        put_number(out, self.complete as u64);
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let flags = from.byte()?;
        self.passing = flags & 1 != 0;
        self.broken = flags & 2 != 0;
        self.begun = flags & 4 != 0;
        self.token = from.text()?.to_owned();
        self.run = from.bytes()?.to_vec();
        self.complete = from.size()?;
        let open = self.run.get(self.complete..).ok_or_else(damaged)?;
        if flags > 7
            || self.run.len() > MAX_RUN
            || self.broken && !self.run.is_empty()
            || !self.token.is_empty() && !may_spell_a_byte(&self.token)
            || !open.is_empty() && !may_go_on(open)
        {
            return Err(damaged());
        }
        Ok(())
    }
}

fn may_spell_a_byte(begun: &str) -> bool {
    begun.len() <= SPELLING && begun.bytes().zip("<0x".bytes()).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::byte_of;

    #[test]
    fn bytes_are_parsed_as_the_reference_parses_them() {
        assert_eq!(byte_of("<0xE4>"), Some(0xE4));
        assert_eq!(byte_of("<0xe4>"), Some(0xE4));
        assert_eq!(byte_of("<0x+F>"), Some(0x0F));
        for token in ["<0x-1>", "<0xG0>", "<0xé>", "<0x4>", "<0x041>", "<0x41", "", "0x4141"] {
            assert_eq!(byte_of(token), None, "{token}");
        }
    }
}
