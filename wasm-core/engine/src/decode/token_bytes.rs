//! Decoding by a table of bytes, as llama.cpp does it.

use super::byte_level::finish_bytes;
use super::machine::Text;
use super::utf8::Utf8;
use crate::error::Result;
use crate::llama::TokenBytes;
use crate::saved::{put_bytes, Reader};

/// The text of ids; `skip` says which of them stand for nothing, `stands_in` what is written for
/// those that there are not.
pub fn decode(
    pieces: &TokenBytes,
    ids: &[u32],
    skip: impl Fn(u32) -> bool,
    stands_in: Option<&str>,
) -> String {
    finish_bytes(decode_bytes(pieces, ids, skip, stands_in))
}

/// The same before anything becomes U+FFFD.
pub fn decode_bytes(
    pieces: &TokenBytes,
    ids: &[u32],
    skip: impl Fn(u32) -> bool,
    stands_in: Option<&str>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut strip = pieces.strip_space;
    for &id in ids {
        let stands_in = stands_in.map(str::as_bytes);
        let Some(piece) = pieces.get(id).or(stands_in) else { continue };
        let strips = std::mem::take(&mut strip);
        if skip(id) {
            continue;
        }
        let stripped = piece.strip_prefix(b" ").filter(|_| strips);
        bytes.extend_from_slice(stripped.unwrap_or(piece));
    }
    match pieces.clean_spaces {
        true => cleaned(bytes),
        false => bytes,
    }
}

fn cleaned(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes = without_before(bytes, |byte, _| matches!(byte, b'?' | b'!' | b'.' | b','));
    bytes = without_single_quotes(bytes);
    without_before(bytes, |byte, rest| {
        byte == b'\'' && matches!(rest, [b's' | b'm', ..] | [b'r' | b'v', b'e', ..])
    })
}

/// One id at a time. Where spaces are removed, everything is held until the end: a space in front
/// of punctuation goes, and so does one in front of what that leaves behind.
#[derive(Debug)]
pub struct TokenBytesMachine<'a> {
    pieces: &'a TokenBytes,
    /// The next token is the first.
    strips: bool,
    utf8: Utf8,
    held: Vec<u8>,
}

impl<'a> TokenBytesMachine<'a> {
    pub fn new(pieces: &'a TokenBytes) -> Self {
        Self { pieces, strips: pieces.strip_space, utf8: Utf8::default(), held: Vec::new() }
    }

    pub fn push(
        &mut self,
        id: u32,
        skip: bool,
        stands_in: Option<&str>,
        out: &mut Text<'_>,
    ) -> Result<()> {
        let piece = self.pieces.get(id).or(stands_in.map(str::as_bytes));
        let Some(piece) = piece else { return Ok(()) };
        let strips = std::mem::take(&mut self.strips);
        if skip {
            return Ok(());
        }
        let piece = piece.strip_prefix(b" ").filter(|_| strips).unwrap_or(piece);
        if self.pieces.clean_spaces {
            self.held.extend_from_slice(piece);
            return Ok(());
        }
        self.utf8.push(piece, out)
    }

    pub fn flush(&mut self, out: &mut Text<'_>) -> Result<()> {
        let held = cleaned(std::mem::take(&mut self.held));
        self.utf8.push(&held, out)?;
        self.utf8.flush(out)
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.push(self.strips.into());
        put_bytes(out, &self.held);
        self.utf8.save(out);
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.strips = from.flag()?;
        self.held = from.bytes()?.to_vec();
        self.utf8.load(from)
    }
}

/// Removes each space that stands before a byte of which `closes(byte, what follows)`.
fn without_before(bytes: Vec<u8>, closes: impl Fn(u8, &[u8]) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if before == Some(&b' ') && closes(byte, bytes.get(at + 1..).unwrap_or_default()) {
            out.pop();
        }
        out.push(byte);
    }
    out
}

/// Removes the spaces on both sides of a quote that stands between two.
fn without_single_quotes(bytes: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut before = None;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\'' && before == Some(b' ') && bytes.get(at + 1) == Some(&b' ') {
            out.pop();
            out.push(byte);
            // The space behind is gone for what comes next, too.
            before = None;
            at += 2;
            continue;
        }
        out.push(byte);
        before = Some(byte);
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        let mut pieces = TokenBytes::new(false, true);
        pieces.push(text.as_bytes());
        decode(&pieces, &[0], |_| false, None)
    }

    /// The second and the third are what llama.cpp answered.
    #[test]
    fn spaces_are_cleaned_up() {
        assert_eq!(clean("a ? b  ! c .d ,"), "a? b ! c.d,");
        assert_eq!(clean("'s 't 're 've 'm 'll 'd"), "'s 't're've'm 'll 'd");
        assert_eq!(clean("John's' 's's's"), "John's''s's's");
        assert_eq!(clean("a ' b ' ' c"), "a'b'' c");
        assert_eq!(clean(" ."), ".");
    }

    #[test]
    fn one_space_goes_from_the_first_token_only() {
        let mut pieces = TokenBytes::new(true, false);
        for piece in [&b"<s>"[..], b"  a", b" b", b"\xE4", b""] {
            pieces.push(piece);
        }
        assert_eq!(decode(&pieces, &[1, 2], |_| false, None), " a b");
        assert_eq!(decode(&pieces, &[0, 2], |id| id == 0, None), " b");
        assert_eq!(decode(&pieces, &[9, 2, 3], |_| false, None), "b\u{FFFD}");
        assert_eq!(decode(&pieces, &[9, 2], |_| false, Some("?")), "? b");
    }
}
