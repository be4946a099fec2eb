//! Bytes to text while they come: a character goes out when its last byte is there, U+FFFD for each
//! maximal part that is no UTF-8 as soon as that is certain.

use crate::decode::output::stage::Text;
use crate::error::Result;
use crate::saved::{damaged, put_bytes, Reader};

pub const REPLACEMENT: &str = "\u{FFFD}";

#[derive(Debug, Default)]
pub struct Utf8 {
    /// The beginning of a character: at most three bytes.
    pending: Vec<u8>,
}

impl Utf8 {
    pub fn push(&mut self, bytes: &[u8], out: &mut Text<'_>) -> Result<()> {
        if self.pending.is_empty() {
            // Nearly all tokens are whole characters.
            if let Ok(text) = std::str::from_utf8(bytes) {
                return if text.is_empty() { Ok(()) } else { out(text) };
            }
            let open = decode(bytes, out)?;
            self.pending.extend_from_slice(open);
        } else {
            let mut all = std::mem::take(&mut self.pending);
            all.extend_from_slice(bytes);
            let open = decode(&all, out)?.len();
            all.drain(..all.len() - open);
            self.pending = all;
        }
        Ok(())
    }

    /// No more will come: the beginning of a character is none.
    pub fn flush(&mut self, out: &mut Text<'_>) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.pending.clear();
        out(REPLACEMENT)
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        put_bytes(out, &self.pending);
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let pending = from.bytes()?;
        if !pending.is_empty() && !may_go_on(pending) {
            return Err(damaged());
        }
        self.pending = pending.to_vec();
        Ok(())
    }
}

/// Whether the bytes are the beginning of one character, and nothing else.
pub fn may_go_on(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => false,
        Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
    }
}

/// Hands on what is certain; the rest may go on.
fn decode<'b>(bytes: &'b [u8], out: &mut Text<'_>) -> Result<&'b [u8]> {
    let mut done = 0;
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_empty() {
            out(chunk.valid())?;
        }
        done += chunk.valid().len();
        let wrong = chunk.invalid();
        if wrong.is_empty() {
            continue;
        }
        if done + wrong.len() == bytes.len() && may_go_on(wrong) {
            return Ok(bytes.get(done..).unwrap_or_default());
        }
        done += wrong.len();
        out(REPLACEMENT)?;
    }
    Ok(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    #[test]
    fn any_cut_gives_what_the_whole_gives() {
        const BYTES: [u8; 14] =
            [0x41, 0x80, 0xBD, 0xA0, 0xC3, 0xE4, 0xE0, 0xED, 0xF0, 0xF4, 0x9F, 0x8C, 0xFF, 0xEF];
        let mut random = Random::new(0x07F8);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..random.below(12)).map(|_| *random.pick(&BYTES)).collect();
            let mut text = String::new();
            let mut utf8 = Utf8::default();
            let mut out = |part: &str| {
                text.push_str(part);
                Ok(())
            };
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(1 + random.below(rest.len()));
                utf8.push(now, &mut out).unwrap();
                assert!(utf8.pending.len() < 4);
                rest = later;
            }
            utf8.flush(&mut out).unwrap();
            assert_eq!(text, String::from_utf8_lossy(&bytes), "{bytes:X?}");
        }
    }
}
