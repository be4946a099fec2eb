//! What each token decodes to, as llama.cpp says it.

use super::tokens::{byte_of, Tokens, BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED};
use crate::decode::steps::byte_level::push_token_bytes;
use crate::definition::llama::TokenBytes;
use crate::definition::Decoder;
use crate::split::byte_level::byte_of_char;

/// How normal tokens are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `▁` for a space.
    Escaped,
    /// In the alphabet of bytes.
    ByteLevel,
    /// With backslashes, special tokens too.
    Backslashes,
}

/// The decoder of a file: a chain that everybody has if it gives the same, else a table.
pub fn decoder(
    tokens: &Tokens,
    spelling: Spelling,
    strip_space: bool,
    clean_spaces: bool,
) -> Vec<Decoder> {
    let mut pieces = TokenBytes::new(strip_space, clean_spaces);
    let mut as_chain = spelling == Spelling::ByteLevel && !strip_space && !clean_spaces;
    let mut piece = Vec::new();
    let mut chained = Vec::new();
    for id in 0..tokens.count {
        piece.clear();
        push_piece(tokens, id, spelling, &mut piece);
        pieces.push(&piece);
        if as_chain {
            chained.clear();
            push_token_bytes(tokens.vocab.text(id).unwrap_or_default(), &mut chained);
            as_chain = chained == piece;
        }
    }
    match as_chain {
        true => vec![Decoder::ByteLevel],
        false => vec![Decoder::TokenBytes(Box::new(pieces))],
    }
}

fn push_piece(tokens: &Tokens, id: u32, spelling: Spelling, out: &mut Vec<u8>) {
    let text = tokens.vocab.text(id).unwrap_or_default();
    if spelling == Spelling::Backslashes {
        unescape(text, out);
    } else if tokens.is(id, CONTROL | UNKNOWN | USER_DEFINED) {
        out.extend_from_slice(text.as_bytes());
    } else if tokens.is(id, NORMAL) {
        match spelling {
            Spelling::ByteLevel => push_spelled(text, out),
            _ => out.extend_from_slice(text.replace('▁', " ").as_bytes()),
        }
    } else if tokens.is(id, BYTE) {
        out.extend(byte_of(text));
    }
}

/// A character outside of the alphabet is announced as loudly as llama.cpp does it.
fn push_spelled(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match byte_of_char(c) {
            Some(byte) => out.push(byte),
            None => {
                let hex: String =
                    c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("{byte:02x}")).collect();
                out.extend_from_slice(format!("[UNK_BYTE_0x{hex}{text}]").as_bytes());
            }
        }
    }
}

/// `\n`, `\x0a` and their like; the digits are computed as llama.cpp computes them.
pub fn unescape(text: &str, out: &mut Vec<u8>) {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b't') => out.push(b'\t'),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b'x') => {
                if let (Some(high), Some(low)) = (bytes.next(), bytes.next()) {
                    out.push((digit(high) << 4).wrapping_add(digit(low)));
                }
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
}

fn digit(byte: u8) -> u8 {
    match byte {
        b'a'.. => byte.wrapping_sub(b'a' - 10),
        _ => byte.wrapping_sub(b'0'),
    }
}
