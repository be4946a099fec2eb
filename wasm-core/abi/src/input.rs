//! The input buffer: the host writes it, a call reads it.

use crate::constants::INPUT_PADDING;
use pywasmtok_engine::error::{Error, ErrorKind, Result};

/// What the buffer is made of, for the sake of its alignment: hosts view it as `u32`s.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Line([u8; LINE]);

const LINE: usize = 16;
const SMALLEST: usize = 4096;
/// Up to here a buffer at least doubles when it grows; above, it is as large as asked for.
const LARGEST_DOUBLING: usize = 1 << 20;

#[derive(Default)]
pub struct Input {
    lines: Vec<Line>,
}

impl Input {
    pub fn capacity(&self) -> usize {
        (self.lines.len() * LINE).saturating_sub(INPUT_PADDING)
    }

    pub fn address(&self) -> u32 {
        self.lines.as_ptr() as usize as u32
    }

    /// Makes room for `len` bytes and the padding.
    pub fn reserve(&mut self, len: usize) -> Result<()> {
        if len <= self.capacity() {
            return Ok(());
        }
        let wanted = len.max((self.capacity() * 2).min(LARGEST_DOUBLING)).max(SMALLEST);
        let lines =
            wanted.checked_add(INPUT_PADDING).ok_or_else(|| out_of_memory(len))?.div_ceil(LINE);
        // The old buffer goes first: the two need not fit beside each other.
        self.lines = Vec::new();
        self.lines.try_reserve_exact(lines).map_err(|_| out_of_memory(len))?;
        self.lines.resize(lines, Line([0; LINE]));
        Ok(())
    }

    /// The first `len` bytes.
    pub fn bytes(&self, len: usize) -> Result<&[u8]> {
        self.all().get(..len).ok_or_else(|| {
            bad(format!("the input has room for {} bytes, not for {len}", self.capacity()))
        })
    }

    /// The first `count` words.
    pub fn words(&self, count: usize) -> Result<&[u32]> {
        let len = count.checked_mul(4).ok_or_else(|| bad(format!("{count} words are too many")))?;
        let bytes = self.bytes(len)?;
        // SAFETY: `bytes` are initialised, start at a multiple of 16 and are `4 * count` long; every
        // bit pattern is a u32.
        Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), count) })
    }

    /// `count` lengths from the start of the input, and the bytes behind them cut by these lengths.
    pub fn texts(&self, count: usize) -> Result<impl Iterator<Item = Result<&[u8]>>> {
        let lengths = self.words(count)?;
        let behind = self.bytes(self.capacity())?.get(count * 4..).unwrap_or_default();
        Ok(cut(lengths, behind))
    }

    /// `count` lengths from the start of the input, and the words behind them cut by these lengths.
    pub fn lists(&self, count: usize) -> Result<impl Iterator<Item = Result<&[u32]>>> {
        let words = self.words(self.capacity() / 4)?;
        let (lengths, behind) = words
            .split_at_checked(count)
            .ok_or_else(|| bad(format!("the input has no room for {count} lengths")))?;
        Ok(cut(lengths, behind))
    }

    pub fn wipe(&mut self) {
        self.lines.fill(Line([0; LINE]));
    }

    /// As a host does between calls.
    #[cfg(test)]
    pub fn fill(&mut self, bytes: &[u8]) {
        for (line, part) in self.lines.iter_mut().zip(bytes.chunks(LINE)) {
            line.0[..part.len()].copy_from_slice(part);
        }
    }

    fn all(&self) -> &[u8] {
        // SAFETY: a `Line` is 16 initialised bytes without padding, and `capacity` is not larger
        // than their number times 16.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.capacity()) }
    }
}

fn cut<'a, T>(lengths: &'a [u32], mut rest: &'a [T]) -> impl Iterator<Item = Result<&'a [T]>> + 'a {
    lengths.iter().enumerate().map(move |(number, &len)| {
        let (item, behind) = rest
            .split_at_checked(len as usize)
            .ok_or_else(|| bad(format!("item {number} ends behind the input buffer")))?;
        rest = behind;
        Ok(item)
    })
}

/// Checks text once, for all that comes behind.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    // The fast check does not say where; for wrong text the slow one finds the place.
    simdutf8::basic::from_utf8(bytes).or_else(|_| {
        std::str::from_utf8(bytes).map_err(|error| {
            Error::new(ErrorKind::InvalidText, "the text is not valid UTF-8")
                .at_offset(error.valid_up_to() as u64)
        })
    })
}

pub fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadArgument, message)
}

#[cold]
pub fn out_of_memory(len: usize) -> Error {
    Error::new(
        ErrorKind::OutOfMemory,
        format!("no memory for {len} bytes of input and their results: cut it, or allow more"),
    )
}
