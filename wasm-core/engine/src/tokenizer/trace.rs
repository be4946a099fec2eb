//! The way of the reference, step by step, with the origin of every id.

use super::{admit, Scratch, Tokenizer, Wanted, Workspace};
use crate::added::guard::Guard;
use crate::added::Segment;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::model::sentencepiece::SentencePiece;
use crate::model::Token;
use crate::text::AlignedText;

/// An encoding with everything a caller can ask of it; columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FullEncoding {
    pub ids: Vec<u32>,
    pub type_ids: Vec<u32>,
    pub tokens: Vec<String>,
    /// In characters of the text that the id came from.
    pub offsets: Vec<(u32, u32)>,
    /// The same places in bytes.
    pub byte_offsets: Vec<(u32, u32)>,
    pub special_mask: Vec<u8>,
    pub attention_mask: Vec<u8>,
}

impl FullEncoding {
    pub(super) fn new(encoding: Encoding, first: &str, second: &str) -> Self {
        let tables = [first, second].map(byte_of_char);
        let byte_offsets = encoding
            .offsets
            .iter()
            .zip(&encoding.sequence)
            .map(|(&(start, end), sequence)| {
                let Some(table) = sequence.and_then(|n| tables.get(usize::from(n))) else {
                    return (0, 0);
                };
                let at = |n: u32| table.get(n as usize).or(table.last()).copied().unwrap_or(0);
                (at(start), at(end))
            })
            .collect();
        Self {
            ids: encoding.ids,
            type_ids: encoding.type_ids,
            tokens: encoding.tokens,
            offsets: encoding.offsets,
            byte_offsets,
            special_mask: encoding.special_mask,
            attention_mask: encoding.attention_mask,
        }
    }
}

/// A piece of text, or an added token with the text that it was found as.
pub(super) struct Piece {
    pub text: AlignedText,
    pub id: Option<u32>,
}

impl Tokenizer {
    pub fn encode_full(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: Option<&str>,
        wanted: Wanted,
    ) -> Result<FullEncoding> {
        let encoding = self.process(scratch, first, second, wanted)?;
        Ok(FullEncoding::new(encoding, first, second.unwrap_or_default()))
    }

    /// [`Self::encode_full`] for each text, padded to one length where the file asks for that.
    pub fn encode_batch_full(
        &self,
        scratch: &mut Scratch,
        texts: &[&str],
        wanted: Wanted,
    ) -> Result<Vec<FullEncoding>> {
        let batch = self.process_batch(scratch, texts, wanted)?;
        let full = |(encoding, text): (Encoding, &&str)| FullEncoding::new(encoding, text, "");
        Ok(batch.into_iter().zip(texts).map(full).collect())
    }

    /// Encodes and post-processes texts. Padding makes them depend on each other.
    pub(super) fn process_batch(
        &self,
        scratch: &mut Scratch,
        texts: &[&str],
        wanted: Wanted,
    ) -> Result<Vec<Encoding>> {
        let mut batch: Vec<Encoding> = texts
            .iter()
            .map(|text| self.process(scratch, text, None, wanted))
            .collect::<Result<_>>()?;
        self.post.pad_batch(&mut batch)?;
        Ok(batch)
    }

    /// Encodes one text or a pair and post-processes it.
    pub(super) fn process(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: Option<&str>,
        wanted: Wanted,
    ) -> Result<Encoding> {
        let names_are_text = (!wanted.parse_special).then(|| self.names_are_text());
        self.process_guarded(scratch, first, second, wanted.add_special, names_are_text)
    }

    pub(super) fn process_guarded(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: Option<&str>,
        add_special: bool,
        guard: Option<Guard>,
    ) -> Result<Encoding> {
        let first = self.trace(scratch, first, false, guard)?;
        let second = match second {
            Some(text) => Some(self.trace(scratch, text, true, guard)?),
            None => None,
        };
        self.post.process(first, second, add_special)
    }

    /// One text, up to the post-processor.
    fn trace(
        &self,
        scratch: &mut Scratch,
        text: &str,
        is_second: bool,
        guard: Option<Guard>,
    ) -> Result<Encoding> {
        let pieces = self.pieces(text, guard)?;
        let Some(workspace) = scratch.workspace(self) else {
            return Err(Error::internal("no workspace"));
        };
        let chars = char_of_byte(text);
        let mut tokens: Vec<Token> = Vec::new();
        let mut whole = Encoding::default();
        for piece in &pieces {
            tokens.clear();
            self.piece_tokens(workspace, piece, guard, &mut tokens)?;
            whole.merge_with(self.rows(piece, &tokens, &chars), false);
        }
        if is_second {
            whole.set_sequence(1);
            whole.set_type_id(1);
        }
        Ok(whole)
    }

    /// The tokens of a piece, with the bytes of its text that each covers.
    pub(super) fn piece_tokens(
        &self,
        workspace: &mut Workspace,
        piece: &Piece,
        guard: Option<Guard>,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        let text = piece.text.as_str();
        if let Some(id) = piece.id {
            out.push(Token { id, start: 0, end: text.len() as u32 });
            return Ok(());
        }
        let first = out.len();
        self.model.tokens(&mut workspace.model, text, out)?;
        match guard {
            Some(guard) => self.without_forbidden(workspace, &piece.text, guard, first, out),
            None => Ok(()),
        }
    }

    /// Splits on added tokens, normalises, pre-tokenizes.
    pub(super) fn pieces(&self, text: &str, guard: Option<Guard>) -> Result<Vec<Piece>> {
        admit(text.len())?;
        let mut segments = Vec::new();
        let mut whole = AlignedText::new(text, 0, true);
        match guard {
            Some(guard) => {
                self.find_raw_guarded(text, guard, &mut segments)?;
                whole = whole.with_untrusted(guard.untrusted.flags(0..text.len()));
            }
            None => self.added.find_raw(text, true, &mut segments),
        }
        let mut pieces = Vec::new();
        for piece in cut(&whole, &segments)? {
            match piece.id {
                Some(_) => pieces.push(piece),
                None => self.stretch_pieces(piece.text, guard, &mut pieces)?,
            }
        }
        Ok(pieces)
    }

    /// Normalises a stretch between raw added tokens and pre-tokenizes it.
    pub(super) fn stretch_pieces(
        &self,
        text: AlignedText,
        guard: Option<Guard>,
        out: &mut Vec<Piece>,
    ) -> Result<()> {
        for piece in self.normalized_pieces(text, guard)? {
            if piece.id.is_some() {
                out.push(piece);
                continue;
            }
            let parts = self.pre_tokenizers.apply(vec![piece.text])?;
            out.extend(parts.into_iter().map(|text| Piece { text, id: None }));
        }
        Ok(())
    }

    /// Normalises a stretch and finds the added tokens that match what comes out.
    pub(super) fn normalized_pieces(
        &self,
        mut text: AlignedText,
        guard: Option<Guard>,
    ) -> Result<Vec<Piece>> {
        self.normalizers.apply(&mut text)?;
        admit(text.as_str().len())?;
        let mut segments = Vec::new();
        match guard {
            Some(guard) => self.find_normalized_guarded(&text, guard, &mut segments)?,
            None => self.added.find_normalized(text.as_str(), true, &mut segments),
        }
        cut(&text, &segments)
    }

    fn rows(&self, piece: &Piece, tokens: &[Token], chars: &[u32]) -> Encoding {
        if let (Some(model), None) = (self.model.as_sentencepiece(), piece.id) {
            return sentencepiece_rows(model, &piece.text, tokens, chars);
        }
        let texts = tokens
            .iter()
            .map(|token| match piece.id {
                // What was found in the text, with the white space that the token took along.
                Some(_) => piece.text.as_str().to_owned(),
                None => self.model.text(*token, piece.text.as_str()).to_owned(),
            })
            .collect();
        let offsets = tokens
            .iter()
            .map(|token| {
                let range = token.start as usize..token.end as usize;
                to_chars(piece.text.offsets_of(range), chars)
            })
            .collect();
        Encoding::from_tokens(tokens.iter().map(|token| token.id).collect(), texts, offsets)
    }
}

/// SentencePiece shows unknown text as it is, and knows a place for what covers nothing.
fn sentencepiece_rows(
    model: &SentencePiece,
    text: &AlignedText,
    tokens: &[Token],
    chars: &[u32],
) -> Encoding {
    let end = chars.last().map_or(0, |last| last + 1);
    let to_chars = |at: usize| chars.get(at).copied().unwrap_or(end);
    let texts = tokens.iter().map(|token| {
        let range = token.start as usize..token.end as usize;
        let shown = match token.id == model.unk() {
            true => text.as_str().get(range),
            false => model.vocab().text(token.id),
        };
        shown.unwrap_or_default().to_owned()
    });
    let offsets = tokens.iter().map(|token| {
        let (start, end) = (token.start as usize, token.end as usize);
        // What covers nothing lies where the next byte begins.
        let (first, last) = text.offsets_of(start..end.max(start + 1));
        (to_chars(first), to_chars(if start == end { first } else { last }))
    });
    let (texts, offsets) = (texts.collect(), offsets.collect());
    Encoding::from_tokens(tokens.iter().map(|token| token.id).collect(), texts, offsets)
}

/// Cuts a text at the segments; empty pieces vanish, as in the reference.
fn cut(text: &AlignedText, segments: &[Segment]) -> Result<Vec<Piece>> {
    segments
        .iter()
        .filter(|segment| segment.start < segment.end)
        .map(|segment| Ok(Piece { text: text.slice(segment.start..segment.end)?, id: segment.id }))
        .collect()
}

/// For each byte of `text`, the index of its character.
fn char_of_byte(text: &str) -> Vec<u32> {
    let mut chars = Vec::with_capacity(text.len());
    for (n, c) in (0u32..).zip(text.chars()) {
        chars.extend(std::iter::repeat_n(n, c.len_utf8()));
    }
    chars
}

/// For each character of `text`, its first byte; and the end of the text.
fn byte_of_char(text: &str) -> Vec<u32> {
    text.char_indices().map(|(at, _)| at as u32).chain([text.len() as u32]).collect()
}

/// Byte offsets to character offsets, with the reference's answers for the end of the text.
fn to_chars((start, end): (usize, usize), chars: &[u32]) -> (u32, u32) {
    let unchanged = (start as u32, end as u32);
    let Some(&first) = chars.get(start) else { return unchanged };
    match chars.get(end) {
        Some(&last) => (first, last),
        None => {
            let last = end.checked_sub(1).and_then(|at| chars.get(at)).copied();
            (first, last.unwrap_or(first + 1) + 1)
        }
    }
}
