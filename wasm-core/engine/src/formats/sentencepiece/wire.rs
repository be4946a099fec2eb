//! Protocol buffers, as far as reading a message goes: a list of numbered fields.
//!
//! Nothing is allocated: a value borrows from the file. Every length is checked against what is
//! left before it is used, and every error has the byte where it was found.

use crate::error::{Error, Result};

/// Messages of unknown content may nest this deep, as in the reference's parser.
const MAX_GROUPS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Varint(u64),
    Fixed32(u32),
    Bytes(Bytes<'a>),
    /// Of a kind that no known field has: 64 bits, or a group.
    Other,
}

/// Bytes of the file and where they begin in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bytes<'a> {
    pub content: &'a [u8],
    pub offset: usize,
}

impl<'a> Bytes<'a> {
    pub fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.content).map_err(|error| {
            Error::invalid("this text of the SentencePiece model is not UTF-8")
                .at_offset((self.offset + error.valid_up_to()) as u64)
        })
    }

    pub fn fields(self) -> Fields<'a> {
        Fields { rest: self.content, end: self.offset + self.content.len() }
    }
}

/// The fields of a message, in the order of the file.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
    /// Where the message ends in the file.
    end: usize,
}

impl<'a> Fields<'a> {
    pub fn of_file(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, end: bytes.len() }
    }

    /// Where in the file the next field begins.
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// The number and value of the next field.
    pub fn next_field(&mut self) -> Result<Option<(u32, Value<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let start = self.offset();
        let (number, kind) = self.tag()?;
        let value = match kind {
            3 => {
                self.skip_group(number, start)?;
                Value::Other
            }
            4 => return Err(broken("a group ends that did not begin", start)),
            _ => self.value(kind, start)?,
        };
        Ok(Some((number, value)))
    }

    fn tag(&mut self) -> Result<(u32, u8)> {
        let start = self.offset();
        let tag = u32::try_from(self.varint()?).unwrap_or(0);
        match tag >> 3 {
            0 => Err(broken("a field has no valid number", start)),
            number => Ok((number, (tag & 7) as u8)),
        }
    }

    fn value(&mut self, kind: u8, start: usize) -> Result<Value<'a>> {
        Ok(match kind {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Other
            }
            2 => {
                let at = self.offset();
                let length = self.varint()?;
                let length = usize::try_from(length).ok().filter(|&n| n <= self.rest.len());
                let length = length.ok_or_else(|| {
                    broken("a field is longer than the message that it belongs to", at)
                })?;
                let offset = self.offset();
                Value::Bytes(Bytes { content: self.take(length)?, offset })
            }
            5 => {
                let bytes = self.take(4)?;
                Value::Fixed32(bytes.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b)))
            }
            _ => return Err(broken("a field is of a kind that does not exist", start)),
        })
    }

    /// Passes over a group, which holds fields up to its own end mark.
    fn skip_group(&mut self, number: u32, start: usize) -> Result<()> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            if self.rest.is_empty() {
                return Err(broken("a group does not end", start));
            }
            let at = self.offset();
            let (number, kind) = self.tag()?;
            match kind {
                3 if open.len() >= MAX_GROUPS => {
                    return Err(broken("its groups nest too deep", at));
                }
                3 => open.push(number),
                4 if number == innermost => {
                    open.pop();
                }
                4 => return Err(broken("a group ends that did not begin", at)),
                _ => {
                    self.value(kind, at)?;
                }
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.offset();
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some((&byte, rest)) = self.rest.split_first() else {
                return Err(broken("it ends inside a number", start));
            };
            self.rest = rest;
            // The tenth byte has one bit to give; the reference's parser drops the others.
            value |= u64::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(broken("a number is longer than 64 bits", start))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| broken("it ends inside a value", self.offset()))?;
        self.rest = rest;
        Ok(taken)
    }
}

fn broken(why: &str, offset: usize) -> Error {
    Error::invalid(format!(
        "the SentencePiece model is damaged or cut short: {why}; fetch the file again"
    ))
    .at_offset(offset as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u32, Value<'_>)>> {
        let mut fields = Fields::of_file(bytes);
        let mut list = Vec::new();
        while let Some(field) = fields.next_field()? {
            list.push(field);
        }
        Ok(list)
    }

    fn offset(bytes: &[u8]) -> u64 {
        all(bytes).unwrap_err().offset.unwrap()
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let bytes = b"\x08\x96\x01\x15\x01\x02\x03\x04\x1A\x02hi\x21\0\0\0\0\0\0\0\0";
        let content = Bytes { content: b"hi", offset: 10 };
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Fixed32(0x0403_0201)),
            (3, Value::Bytes(content)),
            (4, Value::Other),
        ];
        assert_eq!(all(bytes).unwrap(), expected);
        assert_eq!(content.text().unwrap(), "hi");
    }

    #[test]
    fn a_negative_number_takes_ten_bytes() {
        let bytes = b"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01";
        assert_eq!(all(bytes).unwrap(), [(1, Value::Varint(u64::MAX))]);
    }

    #[test]
    fn groups_are_passed_over() {
        assert_eq!(
            all(b"\x0B\x10\x01\x13\x14\x0C\x10\x07").unwrap(),
            [(1, Value::Other), (2, Value::Varint(7))]
        );
        assert_eq!(offset(b"\x0B\x10\x01"), 0);
        assert_eq!(offset(b"\x0B\x14"), 1);
        assert_eq!(offset(b"\x0C"), 0);
        assert_eq!(offset(&[0x0B; 200]), 100);
    }

    #[test]
    fn damage_is_located() {
        assert_eq!(offset(b"\x00\x00"), 0);
        assert_eq!(offset(b"\x10\x01\x0E"), 2);
        assert_eq!(offset(b"\x10\x01\x08\xFF"), 3);
        assert_eq!(offset(b"\x0A\xFF\xFF\xFF\xFF\x0Fxxx"), 1);
        assert_eq!(offset(b"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), 1);
        assert_eq!(offset(b"\x15\x01"), 1);
        let bytes = Bytes { content: b"a\xFF", offset: 7 };
        assert_eq!(bytes.text().unwrap_err().offset, Some(8));
    }
}
