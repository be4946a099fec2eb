//! SentencePiece's own decoding: `▁` is a space, except where the normalizer put it at the start;
//! bytes that are no UTF-8 become U+FFFD one by one, and only those.

use crate::decode::output::stage::{append_char_replaced, Sink, Stage};
use crate::decode::output::utf8::may_go_on;
use crate::decode::output::utf8::REPLACEMENT;
use crate::definition::SentencePieceDecoder;
use crate::error::Result;
use crate::normalize::SentencePiece as Normalizer;
use crate::saved::{damaged, put_bytes, Reader};
use crate::vocab::Vocab;

const SPACE: char = '\u{2581}';

const CONTROL: u32 = 0;
const UNKNOWN: u32 = 1;

#[derive(Debug)]
pub struct Pieces {
    /// The pieces that are not written as they are spelled, except for bytes.
    silent: Vocab,
    unk_surface: String,
    byte_fallback: bool,
    strip_dummy_prefix: bool,
    strip_each: bool,
    denormalizer: Option<Normalizer>,
}

impl Pieces {
    pub fn new(definition: &SentencePieceDecoder) -> Result<Self> {
        let mut silent = Vocab::new();
        for text in &definition.control {
            silent.insert(text, CONTROL)?;
        }
        silent.insert(&definition.unk, UNKNOWN)?;
        Ok(Self {
            silent,
            unk_surface: definition.unk_surface.clone(),
            byte_fallback: definition.byte_fallback,
            strip_dummy_prefix: definition.strip_dummy_prefix,
            strip_each: definition.strip_each,
            denormalizer: match &definition.denormalizer {
                Some(definition) => Some(Normalizer::new(definition)?),
                None => None,
            },
        })
    }

    /// Whether the text is rewritten when all of it is there.
    pub fn rewrites_all(&self) -> bool {
        self.denormalizer.is_some()
    }

    /// The bytes of a list of pieces, before any of them becomes U+FFFD.
    pub fn bytes<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // Knows whether the text has begun, also by bytes.
        let mut stage = PiecesStage::new(self);
        for piece in pieces {
            if let Some(byte) = self.byte_of(piece) {
                stage.push(piece, &mut |_| Ok(()))?;
                bytes.push(byte);
                continue;
            }
            stage.close_run(&mut |_| Ok(()))?;
            stage.push(piece, &mut |text| {
                bytes.extend_from_slice(text.as_bytes());
                Ok(())
            })?;
        }
        Ok(bytes)
    }

    /// The byte that a piece is the name of. Other spellings of the number are text.
    fn byte_of(&self, token: &str) -> Option<u8> {
        let [b'<', b'0', b'x', high, low, b'>'] = token.as_bytes() else { return None };
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'A'..=b'F' => Some(byte - b'A' + 10),
            _ => None,
        };
        Some(digit(*high)? << 4 | digit(*low)?).filter(|_| self.byte_fallback)
    }
}

#[derive(Debug)]
pub struct PiecesStage<'a> {
    pieces: &'a Pieces,
    /// Bytes that may still become a character.
    run: Vec<u8>,
    /// Whether the next piece may still be the first of the text.
    at_start: bool,
    /// Whether the last piece gave its `▁` away, or anything was written.
    started: bool,
    /// All of the text, where it is rewritten as a whole.
    text: String,
    buffer: String,
}

impl<'a> PiecesStage<'a> {
    pub fn new(pieces: &'a Pieces) -> Self {
        Self {
            pieces,
            run: Vec::new(),
            at_start: true,
            started: false,
            text: String::new(),
            buffer: String::new(),
        }
    }

    fn write(&mut self, text: &str, out: &mut Sink<'_>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.started = true;
        match self.pieces.denormalizer {
            Some(_) => crate::decode::output::stage::append(&mut self.text, text),
            None => out(text),
        }
    }

    /// What is certain of the run: a character that is complete, a byte that is part of none.
    fn let_characters_go(&mut self, out: &mut Sink<'_>) -> Result<()> {
        while !self.run.is_empty() && !may_go_on(&self.run) {
            let run = std::mem::take(&mut self.run);
            match std::str::from_utf8(&run) {
                Ok(text) => self.write(text, out)?,
                Err(_) => {
                    self.write(REPLACEMENT, out)?;
                    self.run = run.get(1..).unwrap_or_default().to_vec();
                }
            }
        }
        Ok(())
    }

    fn close_run(&mut self, out: &mut Sink<'_>) -> Result<()> {
        if self.run.is_empty() {
            return Ok(());
        }
        let mut run = std::mem::take(&mut self.run);
        for chunk in run.utf8_chunks() {
            self.write(chunk.valid(), out)?;
            for _ in chunk.invalid() {
                self.write(REPLACEMENT, out)?;
            }
        }
        run.clear();
        self.run = run;
        Ok(())
    }
}

impl Stage for PiecesStage<'_> {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        let pieces = self.pieces;
        if let Some(byte) = pieces.byte_of(token) {
            self.run.push(byte);
            return self.let_characters_go(out);
        }
        self.close_run(out)?;
        self.at_start &= !self.started;
        match pieces.silent.id(token) {
            Some(CONTROL) => return Ok(()),
            Some(_) => return self.write(&pieces.unk_surface, out),
            None => {}
        }
        let mut rest = token;
        if self.at_start && pieces.strip_dummy_prefix {
            if let Some(stripped) = rest.strip_prefix(SPACE) {
                rest = stripped;
                // Where extra spaces go, the text has not begun with this one.
                self.started = !pieces.strip_each;
            }
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        append_char_replaced(&mut buffer, rest, SPACE, " ")?;
        let written = self.write(&buffer, out);
        self.buffer = buffer;
        written
    }

    fn finish(&mut self, out: &mut Sink<'_>) -> Result<()> {
        self.close_run(out)?;
        match &self.pieces.denormalizer {
            Some(denormalizer) => {
                let text = std::mem::take(&mut self.text);
                out(&denormalizer.normalize(&text)?)
            }
            None => Ok(()),
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.push(self.at_start.into());
        out.push(self.started.into());
        put_bytes(out, &self.run);
        put_bytes(out, self.text.as_bytes());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.at_start = from.flag()?;
        self.started = from.flag()?;
        self.run = from.bytes()?.to_vec();
        if !self.run.is_empty() && !may_go_on(&self.run) {
            return Err(damaged());
        }
        self.text = from.text()?.to_owned();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_become_no_character_are_not_taken_from_a_state() {
        let pieces = Pieces::new(&SentencePieceDecoder {
            control: Vec::new(),
            unk: "<unk>".to_owned(),
            unk_surface: " ⁇ ".to_owned(),
            byte_fallback: true,
            strip_dummy_prefix: true,
            strip_each: false,
            denormalizer: None,
        })
        .unwrap();
        let load = |run: &[u8]| {
            let mut state = vec![0, 1];
            put_bytes(&mut state, run);
            put_bytes(&mut state, b"");
            PiecesStage::new(&pieces).load(&mut Reader::new(&state))
        };
        assert!(load(b"").is_ok() && load(&[0xE2, 0x96]).is_ok());
        assert!(load(&[0xFF; 50_000]).is_err() && load(b"a").is_err());
    }
}
