//! `ByteLevel`: tokens spelled in 256 printable characters, one for each byte.

use crate::decode::output::stage::append;
use crate::decode::output::stage::Parts;
use crate::decode::output::utf8::Utf8;
use crate::error::Result;
use crate::saved::{put_bytes, Reader};

/// The characters of the alphabet lie below this code point.
const ALPHABET_END: usize = 0x144;
const NO_BYTE: u16 = u16::MAX;

/// The byte that each character stands for. Printable bytes stand for themselves; the others are
/// numbered on from U+0100.
const BYTE_OF: [u16; ALPHABET_END] = {
    let mut table = [NO_BYTE; ALPHABET_END];
    let mut byte = 0;
    let mut moved = 0x100;
    while byte < 0x100 {
        let at = if is_printable(byte as u8) {
            byte
        } else {
            moved += 1;
            moved - 1
        };
        table[at] = byte as u16;
        byte += 1;
    }
    table
};

const fn is_printable(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// Appends the bytes that a token stands for: one for each character if all of them belong to the
/// alphabet, else its own UTF-8.
pub fn push_token_bytes(token: &str, out: &mut Vec<u8>) {
    let start = out.len();
    for c in token.chars() {
        match BYTE_OF.get(c as usize).copied().and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => out.push(byte),
            None => {
                out.truncate(start);
                out.extend_from_slice(token.as_bytes());
                return;
            }
        }
    }
}

/// The text of all bytes together: one U+FFFD for each maximal part that is no UTF-8.
pub fn finish_bytes(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Gives one token that never ends.
#[derive(Debug, Default)]
pub struct ByteLevelMachine {
    /// The token so far: which bytes it stands for shows at its end.
    token: String,
    bytes: Vec<u8>,
    utf8: Utf8,
}

impl ByteLevelMachine {
    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        if self.token.is_empty() && ends {
            return self.push_token(part, out);
        }
        append(&mut self.token, part)?;
        if !ends {
            return Ok(());
        }
        let token = std::mem::take(&mut self.token);
        self.push_token(&token, out)
    }

    fn push_token(&mut self, token: &str, out: &mut Parts<'_>) -> Result<()> {
        self.bytes.clear();
        push_token_bytes(token, &mut self.bytes);
        self.utf8.push(&self.bytes, &mut |text| out(text, false))
    }

    pub fn flush(&mut self, out: &mut Parts<'_>) -> Result<()> {
        let token = std::mem::take(&mut self.token);
        self.push_token(&token, out)?;
        self.utf8.flush(&mut |text| out(text, false))
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.token.as_bytes());
        self.utf8.save(out);
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.token = from.text()?.to_owned();
        self.utf8.load(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(token: &str) -> Vec<u8> {
        let mut out = b"|".to_vec();
        push_token_bytes(token, &mut out);
        out.split_off(1)
    }

    #[test]
    fn the_alphabet_has_every_byte_once() {
        let mut seen: Vec<u16> = BYTE_OF.iter().copied().filter(|&b| b != NO_BYTE).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..256).collect::<Vec<u16>>());
    }

    #[test]
    fn a_token_with_a_foreign_character_is_taken_as_it_is() {
        assert_eq!(bytes("Ġx"), b" x");
        assert_eq!(bytes("Ċ"), b"\n");
        assert_eq!(bytes("é"), [0xE9]);
        assert_eq!(bytes("Ġ x"), "Ġ x".as_bytes());
        assert_eq!(bytes("<｜U｜>"), "<｜U｜>".as_bytes());
        assert_eq!(bytes(""), b"");
    }
}
