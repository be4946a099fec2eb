//! Decoding by a table of bytes, as llama.cpp does it.

use crate::decode::output::stage::Text;
use crate::decode::output::utf8::Utf8;
use crate::decode::steps::byte_level::finish_bytes;
use crate::decode::steps::clean_spaces::CleanSpaces;
use crate::definition::llama::TokenBytes;
use crate::error::Result;
use crate::saved::Reader;

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
    if !pieces.clean_spaces {
        return bytes;
    }
    let (mut clean, mut cleaned) = (CleanSpaces::new(), Vec::with_capacity(bytes.len()));
    clean.push(&bytes, &mut cleaned);
    clean.flush(&mut cleaned);
    cleaned
}

/// One id at a time.
#[derive(Debug)]
pub struct TokenBytesMachine<'a> {
    pieces: &'a TokenBytes,
    /// The next token is the first.
    strips: bool,
    clean: Option<CleanSpaces>,
    utf8: Utf8,
}

impl<'a> TokenBytesMachine<'a> {
    pub fn new(pieces: &'a TokenBytes) -> Self {
        let clean = pieces.clean_spaces.then(CleanSpaces::new);
        Self { pieces, strips: pieces.strip_space, clean, utf8: Utf8::default() }
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
        match &mut self.clean {
            Some(clean) => {
                let mut cleaned = Vec::with_capacity(piece.len());
                clean.push(piece, &mut cleaned);
                self.utf8.push(&cleaned, out)
            }
            None => self.utf8.push(piece, out),
        }
    }

    pub fn flush(&mut self, out: &mut Text<'_>) -> Result<()> {
        if let Some(clean) = &mut self.clean {
            let mut held = Vec::new();
            clean.flush(&mut held);
            self.utf8.push(&held, out)?;
        }
        self.utf8.flush(out)
    }

    /// What was pushed so far is the context of what comes: spaces and quotes that wait for what
    /// follows are its own.
    pub fn settle_context(&mut self) -> Result<()> {
        match self.clean.as_mut().is_some_and(CleanSpaces::settle_context) {
            // A beginning of a character before them will not be completed.
            true => self.utf8.flush(&mut |_| Ok(())),
            false => Ok(()),
        }
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.push(self.strips.into());
        self.clean.iter().for_each(|clean| clean.save(out));
        self.utf8.save(out);
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.strips = from.flag()?;
        self.clean.iter_mut().try_for_each(|clean| clean.load(from))?;
        self.utf8.load(from)
    }
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
