//! What each token becomes, worked out when the tokenizer is built: decoding is then copying.
//!
//! Serves the chains in which a token's share of the text depends on nothing but the token itself,
//! on its being the first, and on the run of bytes that it belongs to. That is all of the usual
//! ones; the others go through the machines.

use super::machine::{Machine, Machines};
use super::{ByteRuns, Decoders, Step};
use crate::decode::output::stage::append;
use crate::decode::output::utf8::REPLACEMENT;
use crate::decode::steps::byte_fallback::byte_of;
use crate::decode::steps::byte_level::{finish_bytes, push_token_bytes};
use crate::decode::steps::join::JoinMachine;
use crate::decode::steps::strip::Strip;
use crate::error::{Error, ErrorKind, Result};

/// Most tokens are shorter than this, and are copied as one block whatever their length.
const BLOCK: usize = 16;
/// What a token may have of a block.
const MOST_INLINE: usize = BLOCK - 2;
/// The length of a token that is elsewhere.
const ELSEWHERE: u8 = u8::MAX;

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

/// What a token becomes when it is not the first, its length, and its kind: all in one line of a
/// cache, since ids come in no order. Of a longer one the place in [`TokenTable::long`] instead.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(16))]
struct Entry([u8; BLOCK]);

impl Entry {
    /// `None` where there are too many long tokens.
    fn new(text: &[u8], kind: u8, long: &mut Vec<u8>) -> Option<Self> {
        let mut entry = [0; BLOCK];
        let [place @ .., len, kinds] = &mut entry;
        *kinds = kind;
        match place.get_mut(..text.len()) {
            Some(place) => {
                place.copy_from_slice(text);
                *len = text.len() as u8;
            }
            None => {
                let start = u32::try_from(long.len()).ok()?;
                long.extend_from_slice(text);
                let end = u32::try_from(long.len()).ok()?;
                let range = u64::from(start) | u64::from(end) << 32;
                place.first_chunk_mut().map(|place| *place = range.to_le_bytes())?;
                *len = ELSEWHERE;
            }
        }
        Some(Self(entry))
    }

    #[inline(always)]
    fn kind(&self) -> u8 {
        self.0[BLOCK - 1]
    }

    /// `None`: it is elsewhere.
    #[inline(always)]
    fn inline_len(&self) -> Option<usize> {
        let len = self.0[BLOCK - 2];
        (len != ELSEWHERE).then_some(usize::from(len).min(MOST_INLINE))
    }

    fn text<'a>(&'a self, long: &'a [u8]) -> &'a [u8] {
        let found = match self.inline_len() {
            Some(len) => self.0.get(..len),
            None => {
                let range = self.0.first_chunk().map_or(0, |range| u64::from_le_bytes(*range));
                long.get(range as u32 as usize..(range >> 32) as usize)
            }
        };
        found.unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct TokenTable {
    /// By id.
    entries: Vec<Entry>,
    long: Vec<u8>,
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
            entries: Vec::with_capacity(id_bound as usize),
            long: Vec::new(),
            unknown: Vec::new(),
            first_differs,
            strip: shape.strip,
        };
        let (mut text, mut bytes) = (String::new(), Vec::new());
        for id in 0..id_bound {
            let Some((token, special)) = token(id) else {
                table.entries.push(Entry::default());
                continue;
            };
            let mut kind = KNOWN | if special { SPECIAL } else { 0 };
            bytes.clear();
            if shape.byte_level {
                push_token_bytes(token, &mut bytes);
            } else {
                text.clear();
                // A token that grows beyond all bounds is for the machines to complain about.
                shape.push(token, &mut text).ok()?;
                match byte_of(&text).filter(|_| shape.byte_runs) {
                    Some(byte) => {
                        kind |= BYTE;
                        bytes.push(byte);
                    }
                    None => bytes.extend_from_slice(text.as_bytes()),
                }
            }
            table.entries.push(Entry::new(&bytes, kind, &mut table.long)?);
        }
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
        let Some(strip) = self.strip else { return Ok(bytes) };
        let (start, stop) = match std::str::from_utf8(&bytes) {
            Ok(text) => strip.lengths(text),
            // In the text, a byte of a run that is none is U+FFFD, and that is not stripped.
            Err(_) => strip.lengths(&finish_bytes(self.collect(ids, asked, true)?)),
        };
        Ok(bytes.get(start..bytes.len().saturating_sub(stop)).unwrap_or_default().to_vec())
    }

    /// What an id becomes when it is not the first, and whether it is special; `None` for an
    /// unknown one.
    pub fn get(&self, id: u32) -> Option<(&[u8], bool)> {
        let entry = self.entries.get(id as usize).filter(|entry| entry.kind() & KNOWN != 0)?;
        Some((entry.text(&self.long), entry.kind() & SPECIAL != 0))
    }

    fn collect(&self, ids: &[u32], asked: &Asked<'_>, replace_runs: bool) -> Result<Vec<u8>> {
        let mut out = Output { replace_runs, ..Output::default() };
        out.make_room(ids.len().saturating_mul(6))?;
        let left_out = if asked.skip_special { SPECIAL } else { 0 };
        let mut first_to_come = self.first_differs;
        for &id in ids {
            let entry = self.entries.get(id as usize).copied().unwrap_or_default();
            let kind = entry.kind();
            let unknown = kind & KNOWN == 0;
            if unknown && !asked.replace_unknown || kind & left_out != 0 {
                continue;
            }
            if std::mem::take(&mut first_to_come) {
                self.push_first(id, unknown, asked, &mut out)?;
            } else if unknown {
                out.push(&self.unknown)?;
            } else {
                out.turn_to(kind & BYTE != 0);
                match entry.inline_len() {
                    Some(len) => out.push_block(&entry.0, len)?,
                    None => out.push_text(entry.text(&self.long))?,
                }
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
            Some(byte) => {
                out.turn_to(true);
                out.push_text(&[byte])
            }
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
        self.turn_to(false);
        self.push_text(text)
    }

    /// What follows is a byte of a run, or is not.
    #[inline(always)]
    fn turn_to(&mut self, byte: bool) {
        match (byte, self.run) {
            (true, None) => self.run = Some(self.len),
            (false, Some(_)) => self.close_run(),
            _ => {}
        }
    }

    /// Appends the first `len` bytes of a block.
    #[inline(always)]
    fn push_block(&mut self, block: &[u8; BLOCK], len: usize) -> Result<()> {
        if self.len + BLOCK > self.bytes.len() {
            self.make_room(len)?;
        }
        if let Some(place) = self.bytes.get_mut(self.len..self.len + BLOCK) {
            place.copy_from_slice(block);
        }
        self.len += len;
        Ok(())
    }

    #[inline(never)]
    fn push_text(&mut self, text: &[u8]) -> Result<()> {
        self.make_room(text.len())?;
        if let Some(place) = self.bytes.get_mut(self.len..self.len + text.len()) {
            place.copy_from_slice(text);
        }
        self.len += text.len();
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
