//! The container: a header, then pairs of keys and values. Tensors lie behind them and are never
//! looked at, so a file of a hundred gigabytes costs as much as its vocabulary.
//!
//! Every length is compared with what is left before anything is taken; nothing is allocated but
//! the list of pairs, whose values stay where they are.

use crate::error::{Error, Result};
use crate::formats::limits::Limits;
use std::collections::HashSet;

const SIGNATURE: &[u8] = b"GGUF";
/// What every pair begins with: the length of its key.
const SHORTEST_PAIR: u64 = 8;
/// The shortest string of an array: its length.
const SHORTEST_STRING: u64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::String,
        Self::Array,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The bytes of one value; `None` where they differ from value to value.
    fn size(self) -> Option<u64> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::String | Self::Array => None,
        }
    }
}

/// A value where it lies in the file.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    pub kind: Kind,
    /// The kind of the items and their number, for an array.
    pub items: Option<(Kind, usize)>,
    /// The value without its length; the items of an array with theirs.
    pub bytes: &'a [u8],
    /// Where `bytes` begins.
    pub offset: u64,
}

#[derive(Debug)]
pub struct Pair<'a> {
    pub key: &'a str,
    pub value: Value<'a>,
    /// Where the pair begins.
    pub offset: u64,
}

/// Why reading stopped early.
enum Stop {
    /// The first bytes of the file were given, and so many of them are needed at least.
    More(u64),
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

type Step<T> = std::result::Result<T, Stop>;

/// How much of a file the reader needs: `Ok` = exactly so much, `Err` = at least so much, to say
/// more.
pub fn extent(prefix: &[u8], limits: &Limits) -> Result<std::result::Result<u64, u64>> {
    let mut reader = Reader { bytes: prefix, at: 0, is_prefix: true, limits };
    match reader.pairs(&mut |_| Ok(())) {
        Ok(()) => Ok(Ok(reader.at)),
        Err(Stop::More(bytes)) => Ok(Err(bytes)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// The pairs of a file, or of as much of it as [`extent`] asks for.
pub fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Vec<Pair<'a>>> {
    let mut reader = Reader { bytes, at: 0, is_prefix: false, limits };
    let mut pairs = Vec::new();
    let mut seen = HashSet::new();
    let outcome = reader.pairs(&mut |pair| {
        if !seen.insert(pair.key) {
            return Err(Error::invalid(format!("the key {:?} is there twice", pair.key))
                .at_offset(pair.offset));
        }
        pairs.push(pair);
        Ok(())
    });
    match outcome {
        Ok(()) => Ok(pairs),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::More(_)) => Err(Error::internal("a whole file was taken for its beginning")),
    }
}

struct Reader<'a, 'l> {
    bytes: &'a [u8],
    at: u64,
    is_prefix: bool,
    limits: &'l Limits,
}

impl<'a> Reader<'a, '_> {
    fn pairs(&mut self, each: &mut dyn FnMut(Pair<'a>) -> Result<()>) -> Step<()> {
        let count = self.header()?;
        for _ in 0..count {
            let pair = self.pair()?;
            if pair.key == "general.alignment" {
                check_alignment(&pair)?;
            }
            Limits::check(self.at, self.limits.metadata, "bytes of GGUF metadata")?;
            each(pair)?;
        }
        Ok(())
    }

    /// The number of pairs.
    fn header(&mut self) -> Step<u64> {
        if self.take(4, "the signature")? != SIGNATURE {
            return Err(Error::invalid("the file does not start with GGUF").at_offset(0).into());
        }
        let version = self.u32("the version")?;
        if version & 0xFFFF == 0 && version != 0 {
            return Err(Error::unsupported(
                "gguf:big_endian",
                "the file is written for machines of the other byte order (big-endian); \
                 convert it with gguf_convert_endian.py of llama.cpp",
            )
            .at_offset(4)
            .into());
        }
        if !matches!(version, 2 | 3) {
            return Err(Error::unsupported(
                format!("gguf:version:{version}"),
                format!("GGUF version {version} is not read; versions 2 and 3 are"),
            )
            .at_offset(4)
            .into());
        }
        for what in ["tensors", "pairs"] {
            let offset = self.at;
            let count = self.u64("a count")?;
            if i64::try_from(count).is_err() {
                let message = format!("the number of {what} is negative");
                return Err(Error::invalid(message).at_offset(offset).into());
            }
            if what == "pairs" {
                self.expect(count, SHORTEST_PAIR, offset, "pairs")?;
                Limits::check(count, self.limits.pairs, "pairs of GGUF metadata")
                    .map_err(|error| error.at_offset(offset))?;
                return Ok(count);
            }
        }
        Ok(0)
    }

    fn pair(&mut self) -> Step<Pair<'a>> {
        let offset = self.at;
        let key = self.string(self.limits.key, "a key")?;
        let key = std::str::from_utf8(key)
            .map_err(|_| Error::invalid("a key is not UTF-8").at_offset(offset))?;
        if key.is_empty() {
            return Err(Error::invalid("a key is empty").at_offset(offset).into());
        }
        let kind = self.kind()?;
        let value = self.value(kind).map_err(|stop| match stop {
            Stop::Failed(error) => Stop::Failed(error.at_path(key)),
            more @ Stop::More(_) => more,
        })?;
        Ok(Pair { key, value, offset })
    }

    fn value(&mut self, kind: Kind) -> Step<Value<'a>> {
        let scalar = |bytes, offset| Value { kind, items: None, bytes, offset };
        match kind {
            Kind::String => {
                let bytes = self.string(self.limits.string, "a string")?;
                Ok(scalar(bytes, self.at.saturating_sub(bytes.len() as u64)))
            }
            Kind::Array => self.array(),
            _ => {
                let offset = self.at;
                Ok(scalar(self.take(kind.size().unwrap_or(0), "a value")?, offset))
            }
        }
    }

    fn array(&mut self) -> Step<Value<'a>> {
        let item_offset = self.at;
        let item = self.kind()?;
        if item == Kind::Array {
            let message = "an array of arrays: GGUF does not nest them";
            return Err(Error::invalid(message).at_offset(item_offset).into());
        }
        let count_offset = self.at;
        let count = self.u64("the length of an array")?;
        self.expect(count, item.size().unwrap_or(SHORTEST_STRING), count_offset, "items")?;
        Limits::check(count, self.limits.items, "items of an array")
            .map_err(|error| error.at_offset(count_offset))?;
        let items = Some((item, count as usize));
        let offset = self.at;
        let bytes = match item.size() {
            Some(size) => self.take(count * size, "an array")?,
            None => {
                for left in (0..count).rev() {
                    self.string(self.limits.string, "a string").map_err(|stop| match stop {
                        // Those behind it need room, too: fewer questions to the host.
                        Stop::More(bytes) => Stop::More(bytes + left * SHORTEST_STRING),
                        failed @ Stop::Failed(_) => failed,
                    })?;
                }
                self.bytes.get(offset as usize..self.at as usize).unwrap_or_default()
            }
        };
        Ok(Value { kind: Kind::Array, items, bytes, offset })
    }

    fn kind(&mut self) -> Step<Kind> {
        let offset = self.at;
        let number = self.u32("a type")?;
        Kind::ALL.get(number as usize).copied().ok_or_else(|| {
            let message = format!("there is no type {number}; GGUF has 0 to 12");
            Error::invalid(message).at_offset(offset).into()
        })
    }

    fn string(&mut self, bound: u64, what: &str) -> Step<&'a [u8]> {
        let offset = self.at;
        let length = self.u64(what)?;
        self.expect(length, 1, offset, "bytes")?;
        Limits::check(length, bound, &format!("bytes of {what}"))
            .map_err(|error| error.at_offset(offset))?;
        self.take(length, what)
    }

    fn u32(&mut self, what: &str) -> Step<u32> {
        let bytes = self.take(4, what)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    fn u64(&mut self, what: &str) -> Step<u64> {
        let bytes = self.take(8, what)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Refuses a count, stated at `offset`, that the rest of the file cannot hold. Of a file whose
    /// end is not there nothing is known.
    fn expect(&self, count: u64, size: u64, offset: u64, what: &str) -> Result<()> {
        let left = (self.bytes.len() as u64).saturating_sub(self.at);
        if !self.is_prefix && count.checked_mul(size).is_none_or(|needed| needed > left) {
            return Err(Error::invalid(format!(
                "{count} {what} are announced, but {left} bytes are left: the file is damaged or \
                 incomplete"
            ))
            .at_offset(offset));
        }
        Ok(())
    }

    fn take(&mut self, length: u64, what: &str) -> Step<&'a [u8]> {
        let start = self.at as usize;
        let end = self.at.checked_add(length).ok_or_else(|| {
            Error::invalid(format!("the length of {what} is absurd")).at_offset(self.at)
        })?;
        match usize::try_from(end).ok().and_then(|end| self.bytes.get(start..end)) {
            Some(bytes) => {
                self.at = end;
                Ok(bytes)
            }
            None if self.is_prefix => {
                Limits::check(end, self.limits.metadata, "bytes of GGUF metadata")?;
                Err(Stop::More(end))
            }
            None => {
                let message = format!("the file ends inside {what}: it is damaged or incomplete");
                Err(Error::invalid(message).at_offset(self.at).into())
            }
        }
    }
}

fn check_alignment(pair: &Pair) -> Result<()> {
    let number = match (pair.value.kind, pair.value.bytes) {
        (Kind::U32, &[a, b, c, d]) => Some(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    };
    match number {
        Some(number) if number.is_power_of_two() => Ok(()),
        _ => Err(Error::invalid("general.alignment has to be a power of two, as u32")
            .at_path(pair.key)
            .at_offset(pair.offset)),
    }
}
