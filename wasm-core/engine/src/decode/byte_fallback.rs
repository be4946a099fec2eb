//! `ByteFallback`: tokens such as `<0xE4>` are bytes; a run of them is text if it is valid UTF-8
//! as a whole, else one U+FFFD for each byte.

use super::stage::{Sink, Stage};
use crate::error::Result;

pub const REPLACEMENT: &str = "\u{FFFD}";

/// The byte that a token spells. The reference's parser of numbers takes a sign as well, so
/// `<0x+F>` is the byte 0F.
pub fn byte_of(token: &str) -> Option<u8> {
    if token.len() != "<0xHH>".len() {
        return None;
    }
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok()
}

#[derive(Debug, Default)]
pub struct ByteFallbackStage {
    run: Vec<u8>,
}

impl ByteFallbackStage {
    fn close_run(&mut self, out: &mut Sink<'_>) -> Result<()> {
        if self.run.is_empty() {
            return Ok(());
        }
        match String::from_utf8(std::mem::take(&mut self.run)) {
            Ok(text) => out(&text),
            Err(error) => error.as_bytes().iter().try_for_each(|_| out(REPLACEMENT)),
        }
    }
}

impl Stage for ByteFallbackStage {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        match byte_of(token) {
            Some(byte) => {
                self.run.push(byte);
                Ok(())
            }
            None => {
                self.close_run(out)?;
                out(token)
            }
        }
    }

    fn finish(&mut self, out: &mut Sink<'_>) -> Result<()> {
        self.close_run(out)
    }
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
