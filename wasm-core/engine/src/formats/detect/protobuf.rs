//! Whether a file is a SentencePiece model, or was meant to be one.

use crate::error::Error;

/// Whether the file opens with at least three records of field 1 that each hold a text and a score.
pub fn is_sentencepiece(head: &[u8]) -> bool {
    let mut rest = head;
    let mut records = 0;
    while records < 3 {
        let Some((0x0A, tail)) = rest.split_first() else { return false };
        let Some((record, behind)) = delimited(tail) else { return false };
        let Some((0x0A, text)) = record.split_first() else { return false };
        if delimited(text).is_none() {
            return false;
        }
        rest = behind;
        records += 1;
    }
    true
}

/// A file that is nothing else and begins as a SentencePiece model does: what is wrong with it.
pub fn broken(head: &[u8]) -> Option<Error> {
    let (&tag, tail) = head.split_first()?;
    match tag {
        0x0A => match varint(tail) {
            None => Some(Error::invalid(
                "it begins like a SentencePiece model, with a length that is no number",
            )),
            Some((length, rest)) if length > rest.len() as u64 && head.len() < super::SNIFF => {
                Some(Error::invalid(format!(
                    "it begins like a SentencePiece model, with a piece of {length} bytes, of \
                     which {} are there",
                    rest.len()
                )))
            }
            Some(_) => None,
        }
        .map(|error| error.at_offset(1)),
        // The message that says how it was trained, and no pieces in front of it.
        0x12 => match delimited(tail) {
            Some((inside, [])) if !inside.is_empty() => {
                Some(Error::invalid("it is a SentencePiece model without pieces").at_offset(0))
            }
            _ => None,
        },
        _ => None,
    }
}

/// What a length stands in front of, and what is behind.
fn delimited(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = varint(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (n, &byte) in bytes.iter().enumerate().take(10) {
        let part = u64::from(byte & 0x7F);
        let shift = n as u32 * 7;
        if part.checked_shl(shift).is_none_or(|shifted| shifted >> shift != part) {
            return None;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Some((value, bytes.get(n + 1..)?));
        }
    }
    None
}
