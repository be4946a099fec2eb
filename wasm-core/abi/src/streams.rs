//! Streams and stop decoders. Neither lives here: between two calls each is a few bytes that the
//! host keeps, so that any session of any instance can go on with any of them.

use crate::body::reserve;
use crate::calls::{read_flag, DecodeFlags};
use crate::constants::*;
use crate::input::{bad, Input};
use crate::sessions::Session;
use crate::tokenizers;
use pywasmtok_engine::error::Result;
use pywasmtok_engine::tokenizer::stop::{Cause, Matched, StopDecoder, StopPlan};
use pywasmtok_engine::tokenizer::stream::{Stream, StreamOptions};
use pywasmtok_engine::tokenizer::Tokenizer;
use std::sync::Arc;

/// Plans are a few hundred bytes; a host that serves more configurations at once compiles again.
const PLANS: usize = 8;

/// The last stop configurations of a session, ready for use.
#[derive(Default)]
pub struct Plans {
    known: Vec<Known>,
}

struct Known {
    tokenizer: u32,
    config: Vec<u8>,
    plan: Arc<StopPlan>,
}

impl Plans {
    fn get(&mut self, handle: u32, tokenizer: &Tokenizer, config: &[u8]) -> Result<Arc<StopPlan>> {
        let place =
            self.known.iter().position(|known| known.tokenizer == handle && known.config == config);
        match place {
            // The one that was not used for longest stands last.
            Some(place) => {
                if let Some(found) = self.known.get_mut(..=place) {
                    found.rotate_right(1);
                }
            }
            None => {
                let plan = Arc::new(StopPlan::new(tokenizer, config)?);
                let mut kept = Vec::new();
                reserve(&mut kept, config.len())?;
                kept.extend_from_slice(config);
                self.known.truncate(PLANS - 1);
                self.known.insert(0, Known { tokenizer: handle, config: kept, plan });
            }
        }
        match self.known.first() {
            Some(known) => Ok(known.plan.clone()),
            None => Err(bad("no plan")),
        }
    }
}

pub fn stream_new(session: &mut Session, handle: u32, count: u32, flags: u32) -> Result<usize> {
    let flags = DecodeFlags::read(flags, DECODE_EAGER_BYTE_RUNS)?;
    let tokenizer = tokenizers::get(handle)?;
    let body = &mut *session.body;
    let (context, _) = ids_and_rest(&body.input, count, 0)?;
    let stream = Stream::new(&tokenizer, options(&flags), context)?;
    body.state.clear();
    stream.save(&mut body.state);
    body.publish_state(session.block);
    Ok(body.state.len())
}

pub fn stream_step(
    session: &mut Session,
    handle: u32,
    count: u32,
    state_len: u32,
    flags: u32,
) -> Result<usize> {
    let finish = read_flag(flags, STEP_FINISH)?;
    let tokenizer = tokenizers::get(handle)?;
    let body = &mut *session.body;
    let (ids, state) = ids_and_rest(&body.input, count, state_len)?;
    let mut stream = Stream::resume(&tokenizer, state)?;
    stream.admit(ids)?;
    let mut text = std::mem::take(&mut body.text);
    text.clear();
    for &id in ids {
        stream.push(id, &mut text)?;
    }
    if finish {
        stream.flush(&mut text)?;
    }
    body.text = text;
    body.state.clear();
    stream.save(&mut body.state);
    body.publish_text(session.block);
    body.publish_state(session.block);
    Ok(body.text.len())
}

pub fn stop_new(
    session: &mut Session,
    handle: u32,
    count: u32,
    config_len: u32,
    flags: u32,
) -> Result<usize> {
    let flags = DecodeFlags::read(flags, DECODE_EAGER_BYTE_RUNS)?;
    let tokenizer = tokenizers::get(handle)?;
    let body = &mut *session.body;
    let (context, config) = ids_and_rest(&body.input, count, config_len)?;
    let plan = body.plans.get(handle, &tokenizer, config)?;
    let decoder = StopDecoder::new(&tokenizer, &plan, options(&flags), context)?;
    body.state.clear();
    decoder.save(&mut body.state);
    body.text = plan.notes_json(&tokenizer, flags.decoding.skip_special);
    body.publish_text(session.block);
    body.publish_state(session.block);
    Ok(body.text.len())
}

pub fn stop_step(
    session: &mut Session,
    handle: u32,
    count: u32,
    config_len: u32,
    state_len: u32,
    flags: u32,
) -> Result<usize> {
    let finish = read_flag(flags, STEP_FINISH)?;
    let tokenizer = tokenizers::get(handle)?;
    let body = &mut *session.body;
    let behind =
        config_len.checked_add(state_len).ok_or_else(|| bad("the two lengths overflow"))?;
    let (ids, rest) = ids_and_rest(&body.input, count, behind)?;
    let (config, state) = rest.split_at(config_len as usize);
    let plan = body.plans.get(handle, &tokenizer, config)?;
    let mut decoder = StopDecoder::resume(&tokenizer, &plan, state)?;
    let mut given = decoder.process(ids)?;
    if finish {
        given.text.push_str(&decoder.finish()?);
    }
    body.state.clear();
    decoder.save(&mut body.state);
    body.bounds.clear();
    report(given.consumed, decoder.matched(), &mut body.bounds);
    body.text = given.text;
    body.publish_text(session.block);
    body.publish_state(session.block);
    body.publish_bounds(session.block);
    Ok(body.text.len())
}

/// docs/abi.md has the meaning of each word. Numbers of 64 bits are two words, the low one first.
fn report(consumed: usize, matched: Option<Matched>, words: &mut Vec<u32>) {
    words.push(consumed as u32);
    let Some(matched) = matched else {
        words.push(0);
        return;
    };
    let (kind, number) = match matched.cause {
        Cause::Token(id) => (1, id),
        Cause::Sequence(index) => (2, index),
    };
    words.extend([kind, number, matched.visible.into()]);
    let numbers = [
        matched.token_index.unwrap_or(u64::MAX),
        matched.bytes.0,
        matched.bytes.1,
        matched.chars.0,
        matched.chars.1,
    ];
    words.extend(numbers.iter().flat_map(|&number| [number as u32, (number >> 32) as u32]));
}

fn options(flags: &DecodeFlags) -> StreamOptions {
    StreamOptions { decoding: flags.decoding, runs: flags.runs }
}

/// `count` ids and the `len` bytes behind them.
fn ids_and_rest(input: &Input, count: u32, len: u32) -> Result<(&[u32], &[u8])> {
    let ids = input.words(count as usize)?;
    let total = (count as usize * 4).checked_add(len as usize);
    let total = total.ok_or_else(|| bad("the lengths overflow"))?;
    let rest = input.bytes(total)?.get(count as usize * 4..).unwrap_or_default();
    Ok((ids, rest))
}
