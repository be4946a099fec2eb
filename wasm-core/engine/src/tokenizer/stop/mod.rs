//! Stopping: a stream whose text ends at a token or at a sequence of characters.
//!
//! What goes out can not be taken back, so the end of the text that may still become a stop is held
//! back, and nothing else. Like a stream, a decoder is a few bytes between two calls.
//!
//! In this order, at each id: a stop token; else the id's text, character by character. A stop
//! token settles what is pending first, and a sequence that this completes ended earlier: it wins.

mod matcher;
mod plan;

#[cfg(test)]
mod tests;

pub use plan::StopPlan;

use crate::error::Result;
use crate::saved::{damaged, put_number, Reader};
use crate::tokenizer::stream::{Stream, StreamOptions};
use crate::tokenizer::Tokenizer;
use matcher::Place;

const MARK: &[u8; 3] = b"pwh";
/// Of the layout of a state. Another one is refused.
const STATE_VERSION: u8 = 1;
/// What only counts stands at the end, so that a host can tell it from what decides.
const COUNTS: usize = 24;

/// What stopped the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A token, by its id.
    Token(u32),
    /// A sequence, by its place in its list.
    Sequence(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matched {
    pub cause: Cause,
    pub visible: bool,
    /// The id at which the text stopped, counted from 0; `None` before the first.
    pub token_index: Option<u64>,
    /// Where the stop lies in the text, in bytes and in characters. A hidden token lies at the end.
    pub bytes: (u64, u64),
    pub chars: (u64, u64),
}

/// What one call gave.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub text: String,
    /// How many of the ids were looked at.
    pub consumed: usize,
}

/// A decoder during a call.
#[derive(Debug)]
pub struct StopDecoder<'t> {
    plan: &'t StopPlan,
    stream: Stream<'t>,
    place: Place,
    tokens: u64,
    /// Of all text that is settled, held or not.
    bytes: u64,
    chars: u64,
    matched: Option<Matched>,
}

impl<'t> StopDecoder<'t> {
    pub fn new(
        tokenizer: &'t Tokenizer,
        plan: &'t StopPlan,
        options: StreamOptions,
        context: &[u32],
    ) -> Result<Self> {
        let stream = Stream::new(tokenizer, options, context)?;
        let place = Place::default();
        Ok(Self { plan, stream, place, tokens: 0, bytes: 0, chars: 0, matched: None })
    }

    /// The decoder that wrote this state, with the same tokenizer and the same plan.
    pub fn resume(tokenizer: &'t Tokenizer, plan: &'t StopPlan, state: &[u8]) -> Result<Self> {
        let (state, counts) = state.split_last_chunk::<COUNTS>().ok_or_else(damaged)?;
        let mut counts = counts
            .chunks_exact(8)
            .map(|count| u64::from_le_bytes(<[u8; 8]>::try_from(count).unwrap_or_default()));
        let mut count = || counts.next().unwrap_or_default();
        let (tokens, bytes, chars) = (count(), count(), count());
        let mut from = Reader::new(state);
        for expected in MARK.iter().chain(&[STATE_VERSION]).chain(&plan.identity.to_le_bytes()) {
            if from.byte()? != *expected {
                return Err(damaged());
            }
        }
        let place = Place(u32::try_from(from.number()?).map_err(|_| damaged())?);
        if !plan.matcher.knows(place) {
            return Err(damaged());
        }
        let matched = if from.flag()? { Some(Matched::read(&mut from)?) } else { None };
        let stream = Stream::read(tokenizer, &mut from)?;
        from.end()?;
        Ok(Self { plan, stream, place, tokens, bytes, chars, matched })
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MARK);
        out.push(STATE_VERSION);
        out.extend_from_slice(&self.plan.identity.to_le_bytes());
        put_number(out, u64::from(self.place.0));
        out.push(self.matched.is_some().into());
        if let Some(matched) = &self.matched {
            matched.write(out);
        }
        self.stream.save(out);
        for count in [self.tokens, self.bytes, self.chars] {
            out.extend_from_slice(&count.to_le_bytes());
        }
    }

    pub fn matched(&self) -> Option<Matched> {
        self.matched
    }

    /// Decodes ids up to the first that stops the text.
    pub fn process(&mut self, ids: &[u32]) -> Result<Given> {
        let mut given = Given::default();
        for &id in ids {
            if self.matched.is_some() {
                break;
            }
            self.process_one(id, &mut given.text)?;
            self.tokens = self.tokens.saturating_add(1);
            given.consumed += 1;
        }
        Ok(given)
    }

    /// The end of the input: settles what is pending, which may complete a stop, and lets go of
    /// what is held.
    pub fn finish(&mut self) -> Result<String> {
        let mut text = String::new();
        if self.matched.is_none() {
            let accept = self.tokens > self.plan.min_tokens || self.plan.min_tokens == 0;
            self.settle(self.tokens.checked_sub(1), accept, &mut text)?;
        }
        Ok(text)
    }

    fn process_one(&mut self, id: u32, out: &mut String) -> Result<()> {
        let index = self.tokens;
        let accept = index >= self.plan.min_tokens;
        match self.plan.token(id, self.stream.skips_special()).filter(|_| accept) {
            Some(visible) => self.stop_at_token(id, visible, index, out),
            None => {
                self.stream.admit(&[id])?;
                let mut text = String::new();
                self.stream.push(id, &mut text)?;
                self.take(&text, Some(index), accept, out);
                Ok(())
            }
        }
    }

    fn stop_at_token(
        &mut self,
        id: u32,
        visible: bool,
        index: u64,
        out: &mut String,
    ) -> Result<()> {
        self.settle(Some(index), true, out)?;
        if self.matched.is_some() {
            return Ok(());
        }
        let start = (self.bytes, self.chars);
        if visible {
            let mut text = String::new();
            self.stream.push_shown(id, &mut text)?;
            self.stream.flush(&mut text)?;
            self.count(&text);
            out.push_str(&text);
        }
        self.matched = Some(Matched {
            cause: Cause::Token(id),
            visible,
            token_index: Some(index),
            bytes: (start.0, self.bytes),
            chars: (start.1, self.chars),
        });
        Ok(())
    }

    /// Nothing more comes behind what is pending and what is held.
    fn settle(&mut self, index: Option<u64>, accept: bool, out: &mut String) -> Result<()> {
        let mut text = String::new();
        self.stream.flush(&mut text)?;
        self.take(&text, index, accept, out);
        if self.matched.is_none() {
            out.push_str(self.plan.matcher.held(self.place));
            self.place = Place::default();
        }
        Ok(())
    }

    /// Looks through text that is settled, and lets go of what can not become a stop.
    fn take(&mut self, text: &str, index: Option<u64>, accept: bool, out: &mut String) {
        let matcher = &self.plan.matcher;
        let mut open = matcher.held(self.place).to_owned();
        open.push_str(text);
        let Some((sequence, end)) = matcher.walk(&mut self.place, text, accept) else {
            self.count(text);
            let free = open.len().saturating_sub(matcher.held(self.place).len());
            out.push_str(open.get(..free).unwrap_or_default());
            return;
        };
        self.count(text.get(..end).unwrap_or_default());
        let behind = text.len().saturating_sub(end);
        let dropped = behind + if sequence.visible { 0 } else { sequence.text.len() };
        out.push_str(open.get(..open.len().saturating_sub(dropped)).unwrap_or_default());
        let chars = sequence.text.chars().count() as u64;
        self.matched = Some(Matched {
            cause: Cause::Sequence(sequence.index),
            visible: sequence.visible,
            token_index: index,
            bytes: (self.bytes.saturating_sub(sequence.text.len() as u64), self.bytes),
            chars: (self.chars.saturating_sub(chars), self.chars),
        });
    }

    fn count(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        self.chars = self.chars.saturating_add(text.chars().count() as u64);
    }
}

impl Matched {
    fn write(&self, out: &mut Vec<u8>) {
        let (kind, number) = match self.cause {
            Cause::Token(id) => (0, id),
            Cause::Sequence(index) => (1, index),
        };
        out.push(kind);
        out.push(self.visible.into());
        put_number(out, number.into());
        put_number(out, self.token_index.map_or(0, |index| index.saturating_add(1)));
        for number in [self.bytes.0, self.bytes.1, self.chars.0, self.chars.1] {
            put_number(out, number);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let is_sequence = from.flag()?;
        let visible = from.flag()?;
        let number = u32::try_from(from.number()?).map_err(|_| damaged())?;
        Ok(Self {
            cause: if is_sequence { Cause::Sequence(number) } else { Cause::Token(number) },
            visible,
            token_index: from.number()?.checked_sub(1),
            bytes: (from.number()?, from.number()?),
            chars: (from.number()?, from.number()?),
        })
    }
}
