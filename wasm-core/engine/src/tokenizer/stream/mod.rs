//! Decoding one id at a time. All text that a stream gives, and what its flush gives, is the text
//! of all ids decoded at once, however the list is cut; text that went out never changes.
//!
//! A stream has no life of its own: between two calls it is a few bytes, which the caller keeps.
//! So it costs nothing to copy one, to go back to where it was, or to go on in another process.

#[cfg(test)]
pub mod tests;

use crate::decode::machine::Machines;
use crate::decode::output::stage::append;
use crate::decode::table::TokenTable;
use crate::decode::token_bytes::TokenBytesMachine;
use crate::decode::{ByteRuns, Utf8};
use crate::error::{Error, ErrorKind, Result};
use crate::saved::{damaged, put_number, Reader};
use crate::tokenizer::{stands_in, Decoding, Tokenizer, UnknownIds};

/// Of the layout of a state. Another one is refused.
pub const STATE_VERSION: u8 = 3;
const KIND: [u8; 4] = [b'p', b'w', b's', STATE_VERSION];

const SKIP_SPECIAL: u8 = 1;
const EAGER: u8 = 2;
const REFUSE_UNKNOWN: u8 = 4;
const REPLACE_UNKNOWN: u8 = 8;
/// Not an option: text of the context is left.
const CONTEXT_LEFT: u8 = 16;

/// What a stream is made with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamOptions {
    pub decoding: Decoding,
    pub runs: ByteRuns,
}

impl StreamOptions {
    fn to_byte(self) -> u8 {
        let unknown = match self.decoding.unknown {
            UnknownIds::Skip => 0,
            UnknownIds::Refuse => REFUSE_UNKNOWN,
            UnknownIds::Replace => REPLACE_UNKNOWN,
        };
        let skip = if self.decoding.skip_special { SKIP_SPECIAL } else { 0 };
        let runs = if self.runs == ByteRuns::Eager { EAGER } else { 0 };
        unknown | skip | runs
    }

    fn from_byte(byte: u8) -> Result<Self> {
        let unknown = match byte & !(SKIP_SPECIAL | EAGER) {
            0 => UnknownIds::Skip,
            REFUSE_UNKNOWN => UnknownIds::Refuse,
            REPLACE_UNKNOWN => UnknownIds::Replace,
            _ => return Err(damaged()),
        };
        let runs = if byte & EAGER == 0 { ByteRuns::Exact } else { ByteRuns::Eager };
        let decoding = Decoding { skip_special: byte & SKIP_SPECIAL != 0, unknown };
        Ok(Self { decoding, runs })
    }
}

/// A stream during a call.
#[derive(Debug)]
pub struct Stream<'t> {
    tokenizer: &'t Tokenizer,
    options: StreamOptions,
    work: Work<'t>,
    /// A step may hold text of the context, which comes out with what follows: so many bytes of it
    /// are still to be dropped.
    context_left: usize,
}

#[derive(Debug)]
enum Work<'t> {
    /// Nothing but the bytes of the tokens counts.
    Bytes(&'t TokenTable, Utf8),
    Chain(Machines<'t>),
    /// Nothing but the bytes of the ids.
    Ids(TokenBytesMachine<'t>),
}

impl<'t> Stream<'t> {
    /// A stream whose text begins behind `context`: the ids that stand before it decide about
    /// leading spaces, and the beginning of a character at their end belongs to what follows.
    pub fn new(tokenizer: &'t Tokenizer, options: StreamOptions, context: &[u32]) -> Result<Self> {
        let mut stream = Self::fresh(tokenizer, options);
        let mut text = String::new();
        stream.admit(context)?;
        for &id in context {
            text.clear();
            stream.push(id, &mut text)?;
        }
        match &mut stream.work {
            Work::Chain(machines) if !context.is_empty() => {
                machines.settle_context(&mut |_| Ok(()))?;
                let mut state = Vec::new();
                machines.save(&mut state);
                let mut copy = tokenizer.decoders().machines(options.runs);
                copy.load(&mut Reader::new(&state))?;
                text.clear();
                copy.flush(&mut |part| append(&mut text, part))?;
                // A character that the context breaks off is completed, or not, by what follows.
                stream.context_left = text.trim_end_matches(char::REPLACEMENT_CHARACTER).len();
            }
            Work::Ids(machine) => machine.settle_context()?,
            Work::Chain(_) | Work::Bytes(..) => {}
        }
        Ok(stream)
    }

    /// The stream that wrote this state, with the same tokenizer.
    pub fn resume(tokenizer: &'t Tokenizer, state: &[u8]) -> Result<Self> {
        let mut from = Reader::new(state);
        let stream = Self::read(tokenizer, &mut from)?;
        from.end()?;
        Ok(stream)
    }

    pub(crate) fn read(tokenizer: &'t Tokenizer, from: &mut Reader<'_>) -> Result<Self> {
        // A step of one id is little work, and this is part of each: no byte is read by itself.
        if from.array()? != &KIND {
            return Err(damaged());
        }
        if u64::from_le_bytes(*from.array()?) != tokenizer.decoding_identity() {
            return Err(Error::new(
                ErrorKind::BadArgument,
                "the state is that of a stream over another tokenizer",
            ));
        }
        let flags = from.byte()?;
        let options = StreamOptions::from_byte(flags & !CONTEXT_LEFT)?;
        let mut stream = Self::fresh(tokenizer, options);
        match &mut stream.work {
            Work::Bytes(_, utf8) => utf8.load(from)?,
            Work::Chain(machines) => machines.load(from)?,
            Work::Ids(machine) => machine.load(from)?,
        }
        if flags & CONTEXT_LEFT != 0 {
            stream.context_left = from.size()?;
        }
        Ok(stream)
    }

    /// Appends the state to `out`.
    pub fn save(&self, out: &mut Vec<u8>) {
        let identity = self.tokenizer.decoding_identity().to_le_bytes();
        let [p, w, s, version] = KIND;
        let [a, b, c, d, e, f, g, h] = identity;
        let left = if self.context_left > 0 { CONTEXT_LEFT } else { 0 };
        let options = self.options.to_byte() | left;
        out.extend_from_slice(&[p, w, s, version, a, b, c, d, e, f, g, h, options]);
        match &self.work {
            Work::Bytes(_, utf8) => utf8.save(out),
            Work::Chain(machines) => machines.save(out),
            Work::Ids(machine) => machine.save(out),
        }
        if self.context_left > 0 {
            put_number(out, self.context_left as u64);
        }
    }

    /// Refuses ids that the tokenizer does not have, if they are to be refused. To be asked before
    /// the first of them is pushed: a call that fails changes nothing.
    pub fn admit(&self, ids: &[u32]) -> Result<()> {
        self.tokenizer.admit_ids(ids, self.options.decoding.unknown)
    }

    /// Appends the text that is certain now.
    pub fn push(&mut self, id: u32, text: &mut String) -> Result<()> {
        self.push_with(id, self.options.decoding, text)
    }

    /// The same for a token that is shown even if it is special.
    pub(crate) fn push_shown(&mut self, id: u32, text: &mut String) -> Result<()> {
        let how = Decoding { skip_special: false, ..self.options.decoding };
        self.push_with(id, how, text)
    }

    fn push_with(&mut self, id: u32, how: Decoding, text: &mut String) -> Result<()> {
        match &mut self.work {
            Work::Bytes(table, utf8) => {
                let bytes = match table.get(id) {
                    Some((_, true)) if how.skip_special => return Ok(()),
                    Some((bytes, _)) => bytes,
                    None if how.unknown == UnknownIds::Replace => "\u{FFFD}".as_bytes(),
                    None => return Ok(()),
                };
                utf8.push(bytes, &mut |part| append(text, part))
            }
            Work::Chain(machines) => {
                let Some(token) = self.tokenizer.shown(id, how) else { return Ok(()) };
                let start = text.len();
                machines.push(token, &mut |part| append(text, part))?;
                drop_behind(text, start, &mut self.context_left);
                Ok(())
            }
            Work::Ids(machine) => {
                let skip = self.tokenizer.skips(id, how);
                machine.push(id, skip, stands_in(how), &mut |part| append(text, part))
            }
        }
    }

    /// No more ids, at least for now: appends what was held back for them. What comes later goes on
    /// as new bytes of the same text.
    pub fn flush(&mut self, text: &mut String) -> Result<()> {
        let start = text.len();
        match &mut self.work {
            Work::Bytes(_, utf8) => utf8.flush(&mut |part| append(text, part))?,
            Work::Chain(machines) => machines.flush(&mut |part| append(text, part))?,
            Work::Ids(machine) => machine.flush(&mut |part| append(text, part))?,
        }
        drop_behind(text, start, &mut self.context_left);
        Ok(())
    }

    pub fn skips_special(&self) -> bool {
        self.options.decoding.skip_special
    }

    fn fresh(tokenizer: &'t Tokenizer, options: StreamOptions) -> Self {
        let work = match (tokenizer.byte_table(), &tokenizer.decoders().token_bytes) {
            (Some(table), _) => Work::Bytes(table, Utf8::default()),
            (None, Some(bytes)) => Work::Ids(TokenBytesMachine::new(bytes)),
            (None, None) => Work::Chain(tokenizer.decoders().machines(options.runs)),
        };
        Self { tokenizer, options, work, context_left: 0 }
    }
}

/// Drops up to `left` bytes of what stands in `text` from `start` on; never a part of a character.
fn drop_behind(text: &mut String, start: usize, left: &mut usize) {
    if *left == 0 {
        return;
    }
    let mut end = start.saturating_add(*left).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    *left = left.saturating_sub(end - start);
    text.drain(start..end);
}
