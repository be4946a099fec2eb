//! The input buffer: the host writes it, a call reads it.

use crate::error::{Error, Kind, Result};

/// What the buffer is made of, for the sake of its alignment: hosts view it as `u32`s.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Line([u8; LINE]);

const LINE: usize = 16;

#[derive(Default)]
pub struct Input {
    lines: Vec<Line>,
}

impl Input {
    /// Makes room for `len` bytes; what was there is lost if there was less.
    pub fn reserve(&mut self, len: usize) -> Result<()> {
        let lines = len.div_ceil(LINE);
        if lines > self.lines.len() {
            // The old buffer goes first: the two need not fit beside each other.
            self.lines = Vec::new();
            self.lines.try_reserve_exact(lines).map_err(|_| {
                Error::new(Kind::OutOfMemory, format!("there is no room for {len} bytes of input"))
            })?;
            self.lines.resize(lines, Line([0; LINE]));
        }
        Ok(())
    }

    pub fn address(&self) -> u32 {
        self.lines.as_ptr() as usize as u32
    }

    /// The first `len` bytes.
    pub fn bytes(&self, len: usize) -> Result<&[u8]> {
        let room = self.lines.len().saturating_mul(LINE);
        // SAFETY: a `Line` is 16 initialised bytes without padding.
        let all = unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), room) };
        all.get(..len).ok_or_else(|| {
            Error::new(Kind::BadArgument, format!("the input has room for {room} bytes, not {len}"))
        })
    }

    #[cfg(test)]
    pub fn put(&mut self, content: &[u8]) {
        self.reserve(content.len()).unwrap();
        for (line, chunk) in self.lines.iter_mut().zip(content.chunks(LINE)) {
            line.0[..chunk.len()].copy_from_slice(chunk);
        }
    }
}
