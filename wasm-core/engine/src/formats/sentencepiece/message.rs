//! The messages of a SentencePiece model with their defaults, as far as encoding and decoding ask
//! for them.
//!
//! A number or a text that comes twice has its last value, a message that comes twice is read into
//! the same place, and a known field of the wrong kind is passed over as an unknown one: the rules
//! of protocol buffers.

use super::wire::{Bytes, Fields, Value};
use crate::definition::PieceKind;
use crate::error::{Error, Result};
use crate::formats::limits::Limits;

#[derive(Debug)]
pub struct Piece<'a> {
    pub text: Bytes<'a>,
    pub score: f32,
    pub kind: PieceKind,
}

#[derive(Debug)]
pub struct Trainer<'a> {
    /// 1 Unigram, 2 BPE, 3 words, 4 characters.
    pub model_type: i32,
    pub treat_whitespace_as_suffix: bool,
    pub byte_fallback: bool,
    pub unk_surface: &'a str,
    pub unk_piece: &'a str,
    pub bos_piece: &'a str,
    pub eos_piece: &'a str,
    pub pad_piece: &'a str,
}

impl Default for Trainer<'_> {
    fn default() -> Self {
        Self {
            model_type: 1,
            treat_whitespace_as_suffix: false,
            byte_fallback: false,
            unk_surface: " \u{2047} ",
            unk_piece: "<unk>",
            bos_piece: "<s>",
            eos_piece: "</s>",
            pad_piece: "<pad>",
        }
    }
}

#[derive(Debug)]
pub struct Normalizer<'a> {
    pub name: &'a str,
    pub charsmap: Option<Bytes<'a>>,
    pub add_dummy_prefix: bool,
    pub remove_extra_whitespaces: bool,
    pub escape_whitespaces: bool,
}

impl Default for Normalizer<'_> {
    fn default() -> Self {
        Self {
            name: "",
            charsmap: None,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}

#[derive(Debug, Default)]
pub struct Model<'a> {
    pub pieces: Vec<Piece<'a>>,
    pub trainer: Trainer<'a>,
    pub normalizer: Normalizer<'a>,
    pub denormalizer: Normalizer<'a>,
}

impl<'a> Model<'a> {
    pub fn read(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        let mut model = Self::default();
        let mut fields = Fields::of_file(bytes);
        while let Some((number, value)) = fields.next_field()? {
            let Value::Bytes(message) = value else { continue };
            match number {
                1 => {
                    let count = model.pieces.len() as u64 + 1;
                    Limits::check(count, limits.items, "pieces")
                        .map_err(|error| error.at_offset(message.offset as u64))?;
                    model.pieces.push(Piece::read(message, limits)?);
                }
                2 => model.trainer.read(message, limits)?,
                3 => model.normalizer.read(message, limits)?,
                5 => model.denormalizer.read(message, limits)?,
                _ => {}
            }
        }
        Ok(model)
    }
}

impl<'a> Piece<'a> {
    fn read(message: Bytes<'a>, limits: &Limits) -> Result<Self> {
        let nothing = Bytes { content: &[], offset: message.offset };
        let mut piece = Self { text: nothing, score: 0.0, kind: PieceKind::Normal };
        let mut fields = message.fields();
        loop {
            let offset = fields.offset() as u64;
            match fields.next_field()? {
                None => return Ok(piece),
                Some((1, Value::Bytes(text))) => {
                    let length = text.content.len() as u64;
                    Limits::check(length, limits.token, "bytes of a piece")
                        .map_err(|error| error.at_offset(text.offset as u64))?;
                    piece.text = text;
                }
                Some((2, Value::Fixed32(bits))) => {
                    piece.score = f32::from_bits(bits);
                }
                Some((3, Value::Varint(kind))) => {
                    piece.kind = match kind as u32 {
                        1 => PieceKind::Normal,
                        2 => PieceKind::Unknown,
                        3 => PieceKind::Control,
                        4 => PieceKind::UserDefined,
                        5 => PieceKind::Unused,
                        6 => PieceKind::Byte,
                        other => {
                            return Err(Error::unsupported(
                                "sentencepiece:type",
                                format!("a piece is of type {other}, which is not known"),
                            )
                            .at_offset(offset))
                        }
                    };
                }
                Some(_) => {}
            }
        }
    }
}

impl<'a> Trainer<'a> {
    fn read(&mut self, message: Bytes<'a>, limits: &Limits) -> Result<()> {
        let mut fields = message.fields();
        while let Some(field) = fields.next_field()? {
            match field {
                // Numbers are of 32 bits, whatever they came with.
                (3, Value::Varint(number)) => self.model_type = number as u32 as i32,
                (24, Value::Varint(flag)) => self.treat_whitespace_as_suffix = flag != 0,
                (35, Value::Varint(flag)) => self.byte_fallback = flag != 0,
                (44, Value::Bytes(text)) => self.unk_surface = name(text, limits)?,
                (45, Value::Bytes(text)) => self.unk_piece = or(name(text, limits)?, "<unk>"),
                (46, Value::Bytes(text)) => self.bos_piece = or(name(text, limits)?, "<s>"),
                (47, Value::Bytes(text)) => self.eos_piece = or(name(text, limits)?, "</s>"),
                (48, Value::Bytes(text)) => self.pad_piece = or(name(text, limits)?, "<pad>"),
                _ => {}
            }
        }
        Ok(())
    }
}

/// What an empty name stands for.
fn or<'a>(name: &'a str, default: &'a str) -> &'a str {
    match name {
        "" => default,
        name => name,
    }
}

fn name<'a>(text: Bytes<'a>, limits: &Limits) -> Result<&'a str> {
    Limits::check(text.content.len() as u64, limits.token, "bytes of a name")
        .map_err(|error| error.at_offset(text.offset as u64))?;
    text.text()
}

impl<'a> Normalizer<'a> {
    fn read(&mut self, message: Bytes<'a>, limits: &Limits) -> Result<()> {
        let mut fields = message.fields();
        while let Some(field) = fields.next_field()? {
            match field {
                (1, Value::Bytes(text)) => self.name = name(text, limits)?,
                (2, Value::Bytes(blob)) => {
                    let length = blob.content.len() as u64;
                    Limits::check(length, limits.string, "bytes of rules for the normalizer")
                        .map_err(|error| error.at_offset(blob.offset as u64))?;
                    self.charsmap = Some(blob).filter(|blob| !blob.content.is_empty());
                }
                (3, Value::Varint(flag)) => self.add_dummy_prefix = flag != 0,
                (4, Value::Varint(flag)) => self.remove_extra_whitespaces = flag != 0,
                (5, Value::Varint(flag)) => self.escape_whitespaces = flag != 0,
                _ => {}
            }
        }
        Ok(())
    }
}
