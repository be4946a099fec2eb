//! What a machine remembers between two calls, as bytes: a host keeps them and hands them back.
//!
//! They may come back altered, so a reader believes nothing: every length is compared with what is
//! there, and what does not fit is an error.

use crate::error::{Error, ErrorKind, Result};

pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or_else(damaged)?;
        self.rest = rest;
        Ok(first)
    }

    /// The next bytes, of a number that is known.
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        let (first, rest) = self.rest.split_first_chunk().ok_or_else(damaged)?;
        self.rest = rest;
        Ok(first)
    }

    pub fn flag(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged()),
        }
    }

    pub fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    pub fn size(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| damaged())
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.size()?;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| damaged())
    }

    /// Nothing may be left over.
    pub fn end(&self) -> Result<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(damaged())
        }
    }
}

#[cold]
pub fn damaged() -> Error {
    Error::new(
        ErrorKind::BadArgument,
        "the state is damaged or of another version: use what the last call gave, unaltered",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_read() {
        let mut out = Vec::new();
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            put_number(&mut out, number);
        }
        put_bytes(&mut out, "é".as_bytes());
        let mut from = Reader::new(&out);
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(from.number().unwrap(), number);
        }
        assert_eq!(from.text().unwrap(), "é");
        from.end().unwrap();
        assert!(from.byte().is_err());
        let mut from = Reader::new(&[1, 2, 3]);
        assert_eq!(from.array().unwrap(), &[1, 2]);
        assert!(from.array::<2>().is_err());
        assert_eq!(from.byte().unwrap(), 3);
    }

    #[test]
    fn a_length_beyond_the_end_is_an_error() {
        assert!(Reader::new(&[5, 1, 2]).bytes().is_err());
        assert!(Reader::new(&[0xFF; 11]).number().is_err());
        assert!(Reader::new(&[1, 0xFF]).text().is_err());
        assert!(Reader::new(&[2]).flag().is_err());
        assert!(Reader::new(&[1]).end().is_err());
    }
}
