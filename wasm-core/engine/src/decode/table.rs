//! What each token becomes, worked out when the tokenizer is built: decoding is then copying.
//!
//! Serves the chains in which a token's share of the text depends on nothing but the token itself,
//! on its being the first, and on the run of bytes that it belongs to. That is all of the usual
//! ones; the others go through the machines.

use super::byte_fallback::{byte_of, REPLACEMENT};
use super::byte_level::{finish_bytes, push_token_bytes};
use super::join::JoinMachine;
use super::machine::{Machine, Machines};
use super::stage::append;
use super::strip::Strip;
use super::{ByteRuns, Decoders, Step};
use crate::error::{Error, ErrorKind, Result};

/// Most tokens are shorter, and are copied as one block of this size whatever their length.
const BLOCK: usize = 16;

const KNOWN: u8 = 1;
const SPECIAL: u8 = 2;
/// The token is a byte of a run.
const BYTE: u8 = 4;

/// What decoding needs to know beside the ids.
pub struct Asked<'a> {
    pub decoders: &'a Decoders,
    /// The text of an id.
    pub token: &'a dyn Fn(u32) -> Option<&'a str>,
    pub skip_special: bool,
    /// U+FFFD stands for an id that there is not; else it is left out.
    pub replace_unknown: bool,
}

#[derive(Debug)]
pub struct TokenTable {
    /// By id; where the token ends, the next one starts.
    starts: Vec<u32>,
    kinds: Vec<u8>,
    /// What each token becomes when it is not the first; a block of zeroes behind the last.
    bytes: Vec<u8>,
    /// What U+FFFD in the place of an unknown id becomes when it is not the first.
    unknown: Vec<u8>,
    /// Whether the first token becomes something else.
    first_differs: bool,
    strip: Option<Strip>,
}

/// A chain that a table can serve.
struct Shape<'a> {
    /// What happens to each token on its own.
    alone: Machines<'a>,
    byte_level: bool,
    byte_runs: bool,
    strip: Option<Strip>,
}

impl<'a> Shape<'a> {
    fn of(decoders: &'a Decoders) -> Option<Self> {
        if decoders.token_bytes.is_some() {
            return None;
        }
        let nothing = || Machines(Vec::new());
        let Some(steps) = decoders.steps.as_deref() else {
            let join = Machines(vec![Machine::Join(JoinMachine::default())]);
            return Some(Self { alone: join, byte_level: false, byte_runs: false, strip: None });
        };
        if decoders.is_byte_level() {
            return Some(Self {
                alone: nothing(),
                byte_level: true,
                byte_runs: false,
                strip: None,
            });
        }
        let (alone, rest) = steps.split_at(steps.iter().take_while(|step| step.forgets()).count());
        let (byte_runs, rest) = match rest {
            [Step::ByteFallback, rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let strip = match rest {
            [] | [Step::Fuse] => None,
            [Step::Fuse, Step::Strip(strip)] => Some(*strip),
            _ => return None,
        };
        let alone = Machines(alone.iter().map(|step| step.machine(ByteRuns::Exact)).collect());
        Some(Self { alone, byte_level: false, byte_runs, strip })
    }

    fn push(&mut self, token: &str, out: &mut String) -> Result<()> {
        self.alone.push(token, &mut |part| append(out, part))
    }
}

impl TokenTable {
    /// `None`: the chain is not one for a table. `token` gives the text of an id, and whether it is
    /// a special one.
    pub fn new<'t>(
        decoders: &Decoders,
        id_bound: u32,
        token: impl Fn(u32) -> Option<(&'t str, bool)>,
    ) -> Option<Self> {
        let mut shape = Shape::of(decoders)?;
        let first_differs = !shape.alone.0.is_empty();
        // From here on no token is the first.
        shape.push("", &mut String::new()).ok()?;
        let mut table = Self {
            starts: Vec::with_capacity(id_bound as usize + 1),
            kinds: Vec::with_capacity(id_bound as usize),
            bytes: Vec::new(),
            unknown: Vec::new(),
            first_differs,
            strip: shape.strip,
        };
        let mut text = String::new();
        for id in 0..id_bound {
            table.starts.push(u32::try_from(table.bytes.len()).ok()?);
            let Some((token, special)) = token(id) else {
                table.kinds.push(0);
                continue;
            };
            let mut kind = KNOWN | if special { SPECIAL } else { 0 };
            if shape.byte_level {
                push_token_bytes(token, &mut table.bytes);
            } else {
                text.clear();
                // A token that grows beyond all bounds is for the machines to complain about.
                shape.push(token, &mut text).ok()?;
                match byte_of(&text).filter(|_| shape.byte_runs) {
                    Some(byte) => {
                        kind |= BYTE;
                        table.bytes.push(byte);
                    }
                    None => table.bytes.extend_from_slice(text.as_bytes()),
                }
            }
            table.kinds.push(kind);
        }
        table.starts.push(u32::try_from(table.bytes.len()).ok()?);
        table.bytes.extend_from_slice(&[0; BLOCK]);
        text.clear();
        shape.push(REPLACEMENT, &mut text).ok()?;
        table.unknown = text.into_bytes();
        Some(table)
    }

    /// The text of the ids, as the reference gives it.
    pub fn text(&self, ids: &[u32], asked: &Asked<'_>) -> Result<String> {
        // Where runs of bytes have a rule of their own there is nothing left to replace.
        let text = finish_bytes(self.collect(ids, asked, true)?);
        Ok(match self.strip {
            Some(strip) => strip.apply(&text).to_owned(),
            None => text,
        })
    }

    /// The bytes that the ids stand for, before anything is replaced by U+FFFD.
    pub fn bytes(&self, ids: &[u32], asked: &Asked<'_>) -> Result<Vec<u8>> {
        let bytes = self.collect(ids, asked, false)?;
        Ok(match self.strip {
            Some(strip) => strip.apply_to_bytes(&bytes).to_vec(),
            None => bytes,
        })
    }

    /// What an id becomes when it is not the first, and whether it is special; `None` for an
    /// unknown one.
    pub fn get(&self, id: u32) -> Option<(&[u8], bool)> {
        let at = id as usize;
        let kind = self.kinds.get(at).copied().filter(|kind| kind & KNOWN != 0)?;
        let (start, end) = (*self.starts.get(at)?, *self.starts.get(at + 1)?);
        Some((self.bytes.get(start as usize..end as usize)?, kind & SPECIAL != 0))
    }

    fn collect(&self, ids: &[u32], asked: &Asked<'_>, replace_runs: bool) -> Result<Vec<u8>> {
        let mut out = Output { replace_runs, ..Output::default() };
        out.make_room(ids.len().saturating_mul(6))?;
        let left_out = if asked.skip_special { SPECIAL } else { 0 };
        let mut first_to_come = self.first_differs;
        for &id in ids {
            let at = id as usize;
            let kind = self.kinds.get(at).copied().unwrap_or(0);
            let unknown = kind & KNOWN == 0;
            if unknown && !asked.replace_unknown || kind & left_out != 0 {
                continue;
            }
            if std::mem::take(&mut first_to_come) {
                self.push_first(id, unknown, asked, &mut out)?;
            } else if unknown {
                out.push(&self.unknown)?;
            } else if let (Some(&start), Some(&end)) =
                (self.starts.get(at), self.starts.get(at + 1))
            {
                out.push_block(&self.bytes, start as usize, end as usize, kind & BYTE != 0)?;
            }
        }
        out.close_run();
        out.bytes.truncate(out.len);
        Ok(out.bytes)
    }

    fn push_first(
        &self,
        id: u32,
        unknown: bool,
        asked: &Asked<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let token = if unknown { REPLACEMENT } else { (asked.token)(id).unwrap_or_default() };
        let Some(mut shape) = Shape::of(asked.decoders) else { return Ok(()) };
        let mut text = String::new();
        shape.push(token, &mut text)?;
        match byte_of(&text).filter(|_| shape.byte_runs) {
            Some(byte) => out.push_block(&[byte], 0, 1, true),
            None => out.push(text.as_bytes()),
        }
    }
}

/// A buffer that has room for a block behind its end.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    len: usize,
    /// Where the open run of bytes starts.
    run: Option<usize>,
    replace_runs: bool,
}

impl Output {
    fn make_room(&mut self, more: usize) -> Result<()> {
        let wanted = self.len.saturating_add(more).saturating_add(BLOCK);
        if wanted > self.bytes.len() {
            let wanted = wanted.max(self.bytes.len().saturating_mul(2));
            self.bytes.try_reserve(wanted - self.bytes.len()).map_err(|_| {
                Error::new(
                    ErrorKind::OutOfMemory,
                    format!("no memory for a text of {wanted} bytes"),
                )
            })?;
            self.bytes.resize(wanted, 0);
        }
        Ok(())
    }

    fn push(&mut self, text: &[u8]) -> Result<()> {
        self.push_block(text, 0, text.len(), false)
    }

    /// Appends `source[start..end]`: as a whole block, if there is one to copy.
    #[inline]
    fn push_block(&mut self, source: &[u8], start: usize, end: usize, byte: bool) -> Result<()> {
        match (byte, self.run) {
            (true, None) => self.run = Some(self.len),
            (false, Some(_)) => self.close_run(),
            _ => {}
        }
        let len = end.saturating_sub(start);
        if self.len + len + BLOCK > self.bytes.len() {
            self.make_room(len)?;
        }
        let block = source.get(start..start + BLOCK).filter(|_| len <= BLOCK);
        match (block, self.bytes.get_mut(self.len..self.len + BLOCK)) {
            (Some(block), Some(place)) => place.copy_from_slice(block),
            _ => {
                let place = self.bytes.get_mut(self.len..self.len + len);
                if let (Some(place), Some(text)) = (place, source.get(start..end)) {
                    place.copy_from_slice(text);
                }
            }
        }
        self.len += len;
        Ok(())
    }

    /// A run that is no text as a whole becomes one U+FFFD for each of its bytes.
    fn close_run(&mut self) {
        let Some(start) = self.run.take() else { return };
        let run = self.bytes.get(start..self.len).unwrap_or_default();
        if !self.replace_runs || std::str::from_utf8(run).is_ok() {
            return;
        }
        let count = run.len();
        self.bytes.truncate(start);
        self.bytes.extend(std::iter::repeat_n(REPLACEMENT.as_bytes(), count).flatten());
        self.len = self.bytes.len();
    }
}
