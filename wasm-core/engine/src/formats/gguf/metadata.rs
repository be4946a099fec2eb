//! The pairs by key, each asked for by the type that it should have.

use super::container::{Kind, Pair, Value};
use crate::error::{Error, Result};
use std::collections::HashMap;

#[derive(Debug)]
pub struct Metadata<'a> {
    pairs: HashMap<&'a str, Value<'a>>,
}

impl<'a> Metadata<'a> {
    pub fn new(pairs: Vec<Pair<'a>>) -> Self {
        Self { pairs: pairs.into_iter().map(|pair| (pair.key, pair.value)).collect() }
    }

    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.pairs.get(key).copied()
    }

    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        if value.kind != Kind::String {
            return Err(wrong(key, value, "a string"));
        }
        utf8(value.bytes, value.offset).map(Some).map_err(|error| error.at_path(key))
    }

    /// llama.cpp asks for some numbers as u32 and refuses other types; a file that has them signed
    /// or longer says the same, so they are taken as long as they fit.
    pub fn number(&self, key: &str) -> Result<Option<u32>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let signed = matches!(value.kind, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64);
        let unsigned = matches!(value.kind, Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64);
        if !signed && !unsigned {
            return Err(wrong(key, value, "a whole number"));
        }
        let negative = signed && value.bytes.last().is_some_and(|byte| byte >= &0x80);
        let number = value.bytes.iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
        // What does not fit is out of every range that it could be compared with.
        Ok(Some(if negative { u32::MAX } else { u32::try_from(number).unwrap_or(u32::MAX) }))
    }

    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match (value.kind, value.bytes) {
            (Kind::Bool, [byte]) => Ok(Some(*byte != 0)),
            _ => Err(wrong(key, value, "a boolean")),
        }
    }

    /// The strings of an array, each with its place in the file.
    pub fn strings(&self, key: &str) -> Result<Option<Strings<'a>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.items {
            Some((Kind::String, count)) => {
                Ok(Some(Strings { bytes: value.bytes, offset: value.offset, left: count }))
            }
            _ => Err(wrong(key, value, "an array of strings")),
        }
    }

    /// The items of an array of numbers of four bytes.
    pub fn words(&self, key: &str) -> Result<Option<(Kind, Vec<[u8; 4]>)>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.items {
            Some((kind @ (Kind::I32 | Kind::U32 | Kind::F32), _)) => {
                let words = value.bytes.chunks_exact(4).filter_map(|w| w.first_chunk().copied());
                Ok(Some((kind, words.collect())))
            }
            _ => Err(wrong(key, value, "an array of numbers of four bytes")),
        }
    }

    /// An array of bytes, with its place.
    pub fn bytes(&self, key: &str) -> Result<Option<(&'a [u8], u64)>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.items {
            Some((Kind::U8 | Kind::I8, _)) => Ok(Some((value.bytes, value.offset))),
            _ => Err(wrong(key, value, "an array of bytes")),
        }
    }
}

/// See [`Metadata::strings`]. The container has checked every length.
#[derive(Debug, Clone)]
pub struct Strings<'a> {
    bytes: &'a [u8],
    offset: u64,
    left: usize,
}

impl Strings<'_> {
    pub fn none() -> Self {
        Self { bytes: &[], offset: 0, left: 0 }
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (length, rest) = self.bytes.split_first_chunk()?;
        let length = u64::from_le_bytes(*length);
        let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let offset = self.offset + 8;
        self.offset = offset + length;
        self.bytes = rest;
        Some((offset, text))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Strings<'_> {}

pub fn utf8(bytes: &[u8], offset: u64) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid("the text is not UTF-8").at_offset(offset + error.valid_up_to() as u64)
    })
}

fn wrong(key: &str, value: Value, wanted: &str) -> Error {
    let found = match value.items {
        Some((kind, _)) => format!("an array of {kind:?}"),
        None => format!("{:?}", value.kind),
    };
    Error::invalid(format!("expected {wanted}, found {found}")).at_path(key).at_offset(value.offset)
}
