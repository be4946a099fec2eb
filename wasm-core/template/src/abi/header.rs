//! What stands in front of each input: flags, limits, the time, and the lengths of what follows.

use super::constants::*;
use crate::error::{Error, Kind, Result};
use crate::limits::Limits;
use crate::semantics::session::Clock;

const FLAGS: u32 = FLAG_STRICT
    | FLAG_GENERATION
    | FLAG_ORIGINS
    | FLAG_HF_4_57
    | FLAG_CONTINUES
    | FLAG_PACKED
    | FLAG_CLOCK
    | FLAG_ZONE;

pub struct Header<'a> {
    words: [u32; HEADER_WORDS],
    zone: &'a str,
    pub field: &'a str,
    pub content: &'a [u8],
}

impl<'a> Header<'a> {
    pub fn read(input: &'a [u8]) -> Result<Self> {
        let mut words = [0; HEADER_WORDS];
        let (head, rest) = split(input, HEADER_WORDS * 4)?;
        for (word, bytes) in words.iter_mut().zip(head.chunks_exact(4)) {
            *word = bytes.try_into().map(u32::from_le_bytes).unwrap_or_default();
        }
        let mut header = Self { words, zone: "", field: "", content: &[] };
        if header.word(HEADER_FLAGS) & !FLAGS != 0 {
            return Err(bad(format!("unknown flags {:#x}", header.word(HEADER_FLAGS) & !FLAGS)));
        }
        let (zone, rest) = split(rest, header.size(HEADER_ZONE_LEN))?;
        let (field, rest) = split(rest, header.size(HEADER_FIELD_LEN))?;
        let (content, _) = split(rest, header.size(HEADER_CONTENT_LEN))?;
        header.zone = text(zone)?;
        header.field = text(field)?;
        header.content = content;
        Ok(header)
    }

    pub fn has(&self, flag: u32) -> bool {
        self.word(HEADER_FLAGS) & flag != 0
    }

    /// The content, for calls whose content is text.
    pub fn text(&self) -> Result<&'a str> {
        text(self.content)
    }

    pub fn limits(&self) -> Limits {
        let halves = (self.word(HEADER_FUEL_HI), self.word(HEADER_FUEL_LO));
        let fuel = u64::from(halves.0) << 32 | u64::from(halves.1);
        Limits {
            source: self.size(HEADER_LIMIT_SOURCE),
            chain: self.size(HEADER_LIMIT_CHAIN),
            branches: self.size(HEADER_LIMIT_BRANCHES),
            nesting: self.size(HEADER_LIMIT_NESTING),
            depth: self.size(HEADER_LIMIT_DEPTH),
            output: self.size(HEADER_LIMIT_OUTPUT),
            // The crate counts down in an `isize`: more would be less than nothing.
            fuel: fuel.min(isize::MAX as u64),
        }
    }

    pub fn clock(&self) -> Option<Clock> {
        self.has(FLAG_CLOCK).then(|| Clock {
            year: self.word(HEADER_YEAR) as i32,
            month: self.word(HEADER_MONTH),
            day: self.word(HEADER_DAY),
            hour: self.word(HEADER_HOUR),
            minute: self.word(HEADER_MINUTE),
            second: self.word(HEADER_SECOND),
            microsecond: self.word(HEADER_MICROSECOND),
            zone: self
                .has(FLAG_ZONE)
                .then(|| (self.word(HEADER_ZONE_OFFSET) as i32, self.zone.to_owned())),
        })
    }

    fn word(&self, index: usize) -> u32 {
        self.words.get(index).copied().unwrap_or_default()
    }

    fn size(&self, index: usize) -> usize {
        self.word(index) as usize
    }
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8])> {
    bytes
        .split_at_checked(at)
        .ok_or_else(|| bad(format!("{} bytes of input where {at} were announced", bytes.len())))
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|wrong| bad(format!("byte {} of a text is no UTF-8", wrong.valid_up_to())))
}

fn bad(message: String) -> Error {
    Error::new(Kind::BadArgument, message)
}
