//! What each exported function does, on a session that is its own for the length of the call.

use crate::body::reserve;
use crate::constants::*;
use crate::input::{bad, utf8};
use crate::sessions::Session;
use crate::tokenizers;
use pywasmtok_engine::decode::ByteRuns;
use pywasmtok_engine::definition::Side;
use pywasmtok_engine::error::{Error, Result};
use pywasmtok_engine::formats;
use pywasmtok_engine::formats::Options;
use pywasmtok_engine::tokenizer::fingerprint::Fingerprints;
use pywasmtok_engine::tokenizer::{Decoding, Outcome, Room, Tokenizer, UnknownIds, Wanted};

pub fn input(session: &mut Session, len: u32) -> Result<u32> {
    let input = &mut session.body.input;
    let outcome = input.reserve(len as usize);
    session.block[FIELD_INPUT_PTR] = input.address();
    session.block[FIELD_INPUT_CAP] = input.capacity() as u32;
    outcome.map(|()| input.address())
}

pub fn load(session: &mut Session, len: u32) -> Result<u32> {
    let bytes = session.body.input.bytes(len as usize)?;
    tokenizers::insert(Tokenizer::load(bytes)?)
}

pub fn load_with(session: &mut Session, len: u32, options_len: u32) -> Result<u32> {
    let (bytes, options) = with_options(session, len, options_len)?;
    tokenizers::insert(Tokenizer::load_with(bytes, &options)?)
}

fn with_options<'a>(
    session: &'a Session,
    len: u32,
    options_len: u32,
) -> Result<(&'a [u8], Options)> {
    let total = len.checked_add(options_len).ok_or_else(|| bad("the two lengths overflow"))?;
    let (bytes, options) = session.body.input.bytes(total as usize)?.split_at(len as usize);
    Ok((bytes, Options::from_json(options)?))
}

pub fn encode(session: &mut Session, tokenizer: u32, len: u32, flags: u32) -> Result<usize> {
    let flags = EncodeFlags::read(flags, ENCODE_CONTINUES)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let text = utf8(body.input.bytes(len as usize)?)?;
    body.ids.clear();
    if flags.details {
        body.details.clear();
        let encoding = tokenizer.encode_full(&mut body.scratch, text, None, flags.wanted)?;
        body.append(&encoding)?;
        body.publish_details(session.block);
    } else if flags.continues {
        tokenizer.continue_ids(&mut body.scratch, text, flags.wanted, &mut body.ids)?;
    } else {
        reserve(&mut body.ids, usual_ids(text.len()))?;
        let wanted = flags.wanted;
        tokenizer.encode_ids(&mut body.scratch, text, wanted, &mut body.ids)?;
    }
    body.publish_ids(session.block);
    Ok(body.ids.len())
}

pub fn encode_pair(
    session: &mut Session,
    tokenizer: u32,
    len_a: u32,
    len_b: u32,
    flags: u32,
) -> Result<usize> {
    let flags = EncodeFlags::read(flags, 0)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let (len_a, len_b) = (len_a as usize, len_b as usize);
    let len = len_a.checked_add(len_b).ok_or_else(|| bad("the two lengths overflow"))?;
    let (a, b) = body.input.bytes(len)?.split_at(len_a);
    let a = utf8(a).map_err(|error| in_text(0, error))?;
    let b = utf8(b).map_err(|error| in_text(1, error))?;
    body.ids.clear();
    let wanted = flags.wanted;
    if flags.details {
        body.details.clear();
        let encoding = tokenizer.encode_full(&mut body.scratch, a, Some(b), wanted)?;
        body.append(&encoding)?;
        body.publish_details(session.block);
    } else {
        reserve(&mut body.ids, usual_ids(len))?;
        tokenizer.encode_pair_ids(&mut body.scratch, a, b, wanted, &mut body.ids)?;
    }
    body.publish_ids(session.block);
    Ok(body.ids.len())
}

pub fn encode_batch(
    session: &mut Session,
    tokenizer: u32,
    count: u32,
    flags: u32,
) -> Result<usize> {
    let flags = EncodeFlags::read(flags, ENCODE_CONTINUES)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let count = count as usize;
    let cut = body.input.texts(count)?;
    let mut texts = Vec::new();
    reserve(&mut texts, count)?;
    for (number, bytes) in cut.enumerate() {
        texts.push(utf8(bytes?).map_err(|error| in_text(number, error))?);
    }
    body.ids.clear();
    body.bounds.clear();
    reserve(&mut body.bounds, count.saturating_add(1))?;
    let wanted = flags.wanted;
    let (ids, bounds) = (&mut body.ids, &mut body.bounds);
    if flags.details {
        body.details.clear();
        bounds.push(0);
        let encodings = tokenizer.encode_batch_full(&mut body.scratch, &texts, wanted)?;
        for encoding in encodings {
            body.append(&encoding)?;
            body.bounds.push(body.ids.len() as u32);
        }
        body.publish_details(session.block);
    } else if flags.continues {
        bounds.push(0);
        for text in texts {
            tokenizer.continue_ids(&mut body.scratch, text, wanted, ids)?;
            bounds.push(ids.len() as u32);
        }
    } else {
        reserve(ids, usual_ids(texts.iter().map(|text| text.len()).sum()))?;
        tokenizer.encode_batch_ids(&mut body.scratch, &texts, wanted, ids, bounds)?;
    }
    body.publish_ids(session.block);
    body.publish_bounds(session.block);
    Ok(body.ids.len())
}

pub fn count(
    session: &mut Session,
    tokenizer: u32,
    len: u32,
    flags: u32,
    limit: u32,
) -> Result<usize> {
    let flags = EncodeFlags::read(flags, ENCODE_MORE_TEXT)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let text = utf8(body.input.bytes(len as usize)?)?;
    let limit = limit as usize;
    tokenizer.count(&mut body.scratch, text, flags.wanted, limit, flags.more_text)
}

pub fn truncate(
    session: &mut Session,
    tokenizer: u32,
    len: u32,
    flags: u32,
    limit: u32,
) -> Result<usize> {
    let flags = EncodeFlags::read(flags, ENCODE_MORE_TEXT | ENCODE_KEEP_END)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let text = utf8(body.input.bytes(len as usize)?)?;
    body.ids.clear();
    body.bounds.clear();
    let side = if flags.keep_end { Side::Left } else { Side::Right };
    let room = Room { limit: limit as usize, side, more: flags.more_text };
    let kept = tokenizer.truncate(&mut body.scratch, text, flags.wanted, room, &mut body.ids)?;
    let (outcome, of_empty) = match kept.outcome {
        Outcome::Whole => (TRUNCATE_WHOLE, 0),
        Outcome::Exact => (TRUNCATE_EXACT, 0),
        Outcome::Inexact => (TRUNCATE_INEXACT, 0),
        Outcome::NeedsMore => (TRUNCATE_NEEDS_MORE, 0),
        Outcome::NoRoom(count) => (TRUNCATE_NO_ROOM, count),
    };
    let range = kept.range;
    body.bounds.extend([range.start as u32, range.end as u32, outcome, of_empty as u32]);
    body.publish_ids(session.block);
    body.publish_bounds(session.block);
    Ok(body.ids.len())
}

/// The text says why the tokenizer has no cuts, if it has none.
pub fn last_cut(session: &mut Session, tokenizer: u32, len: u32, at_most: u32) -> Result<usize> {
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let text = utf8(body.input.bytes(len as usize)?)?;
    let cut = tokenizer.last_cut(text, at_most as usize);
    body.text.clear();
    if cut.is_none() {
        body.text.extend(tokenizer.why_no_cuts().map(|obstacle| obstacle.to_string()));
    }
    body.publish_text(session.block);
    Ok(cut.unwrap_or(0))
}

pub fn decode(session: &mut Session, tokenizer: u32, count: u32, flags: u32) -> Result<usize> {
    let flags = DecodeFlags::read(flags, DECODE_AS_BYTES)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let ids = body.input.words(count as usize)?;
    if flags.as_bytes {
        body.table.clear();
        tokenizer.decode_bytes(ids, flags.decoding, &mut body.table)?;
        body.publish_table(session.block);
        return Ok(body.table.len());
    }
    body.text.clear();
    tokenizer.decode_with(ids, flags.decoding, &mut body.text)?;
    body.publish_text(session.block);
    Ok(body.text.len())
}

pub fn decode_batch(
    session: &mut Session,
    tokenizer: u32,
    count: u32,
    flags: u32,
) -> Result<usize> {
    let flags = DecodeFlags::read(flags, DECODE_AS_BYTES)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    let lists = body.input.lists(count as usize)?;
    body.text.clear();
    body.table.clear();
    body.bounds.clear();
    reserve(&mut body.bounds, (count as usize).saturating_add(1))?;
    body.bounds.push(0);
    for (number, ids) in lists.enumerate() {
        let decoded = match flags.as_bytes {
            true => tokenizer.decode_bytes(ids?, flags.decoding, &mut body.table),
            false => tokenizer.decode_with(ids?, flags.decoding, &mut body.text),
        };
        decoded.map_err(|error| error.at_path(format!("lists[{number}]")))?;
        body.bounds.push((body.text.len() + body.table.len()) as u32);
    }
    match flags.as_bytes {
        true => body.publish_table(session.block),
        false => body.publish_text(session.block),
    }
    body.publish_bounds(session.block);
    Ok(body.text.len() + body.table.len())
}

pub fn token_to_id(session: &mut Session, tokenizer: u32, len: u32) -> Result<Option<usize>> {
    let tokenizer = tokenizers::get(tokenizer)?;
    let token = utf8(session.body.input.bytes(len as usize)?)?;
    Ok(tokenizer.token_to_id(token).map(|id| id as usize))
}

pub fn id_to_token(session: &mut Session, tokenizer: u32, id: u32) -> Result<Option<usize>> {
    let tokenizer = tokenizers::get(tokenizer)?;
    let Some(token) = tokenizer.id_to_token(id) else { return Ok(None) };
    answer_text(session, |text| text.push_str(token)).map(Some)
}

pub fn vocab(session: &mut Session, tokenizer: u32, flags: u32) -> Result<usize> {
    let with_added = read_flag(flags, VOCAB_WITH_ADDED_TOKENS)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    body.table.clear();
    for (token, id) in tokenizer.vocab(with_added) {
        reserve(&mut body.table, token.len() + 8)?;
        body.table.extend_from_slice(&id.to_le_bytes());
        body.table.extend_from_slice(&(token.len() as u32).to_le_bytes());
        body.table.extend_from_slice(token.as_bytes());
    }
    body.publish_table(session.block);
    Ok(body.table.len())
}

pub fn info(session: &mut Session, tokenizer: u32) -> Result<usize> {
    let tokenizer = tokenizers::get(tokenizer)?;
    answer_text(session, |text| text.push_str(&tokenizer.info_json()))
}

pub fn detect(session: &mut Session, len: u32) -> Result<usize> {
    let verdict = formats::detect::detect(session.body.input.bytes(len as usize)?)?;
    answer_text(session, |text| text.push_str(&verdict.to_json()))
}

/// Two texts, one behind the other: the file, and where it differs from what it was made from.
pub fn convert(session: &mut Session, len: u32, options_len: u32) -> Result<usize> {
    let (bytes, options) = with_options(session, len, options_len)?;
    let written = formats::convert(bytes, &options)?;
    let differences = written.differences_json();
    let body = &mut *session.body;
    let end_of_file = written.json.len();
    body.text = written.json;
    body.text.push_str(&differences);
    body.bounds.clear();
    body.bounds.extend([0, end_of_file as u32, body.text.len() as u32]);
    body.publish_text(session.block);
    body.publish_bounds(session.block);
    Ok(body.text.len())
}

pub fn extent(session: &mut Session, len: u32) -> Result<usize> {
    let prefix = session.body.input.bytes(len as usize)?;
    let extent = formats::extent(prefix, &Options::default().limits)?;
    answer_text(session, |text| text.push_str(&extent))
}

pub fn fingerprint(session: &mut Session, len: u32, options_len: u32) -> Result<usize> {
    let (bytes, options) = with_options(session, len, options_len)?;
    let fingerprints = Fingerprints::of_file(bytes, &options)?;
    answer_text(session, |text| text.push_str(&fingerprints.to_json()))
}

fn answer_text(session: &mut Session, write: impl FnOnce(&mut String)) -> Result<usize> {
    session.body.text.clear();
    write(&mut session.body.text);
    session.body.publish_text(session.block);
    Ok(session.body.text.len())
}

pub struct EncodeFlags {
    pub wanted: Wanted,
    pub details: bool,
    continues: bool,
    more_text: bool,
    keep_end: bool,
}

impl EncodeFlags {
    /// `more`: the flags that this function knows beside those of all encoding.
    pub fn read(flags: u32, more: u32) -> Result<Self> {
        const ALL: u32 = ENCODE_ADD_SPECIAL_TOKENS | ENCODE_DETAILS | ENCODE_SPECIAL_IS_TEXT;
        known(flags, ALL | more)?;
        let continues = flags & ENCODE_CONTINUES != 0;
        if continues && flags & (ENCODE_ADD_SPECIAL_TOKENS | ENCODE_DETAILS) != 0 {
            return Err(bad("what continues a text has neither special tokens added nor details"));
        }
        Ok(Self {
            wanted: Wanted {
                add_special: flags & ENCODE_ADD_SPECIAL_TOKENS != 0,
                parse_special: flags & ENCODE_SPECIAL_IS_TEXT == 0,
            },
            details: flags & ENCODE_DETAILS != 0,
            continues,
            more_text: flags & ENCODE_MORE_TEXT != 0,
            keep_end: flags & ENCODE_KEEP_END != 0,
        })
    }
}

pub struct DecodeFlags {
    pub decoding: Decoding,
    pub runs: ByteRuns,
    as_bytes: bool,
}

impl DecodeFlags {
    /// `more`: the flag that this function knows beside those of all decoding.
    pub fn read(flags: u32, more: u32) -> Result<Self> {
        const UNKNOWN: u32 = DECODE_UNKNOWN_IS_ERROR | DECODE_UNKNOWN_IS_REPLACED;
        known(flags, DECODE_SKIP_SPECIAL_TOKENS | UNKNOWN | more)?;
        let unknown = match flags & UNKNOWN {
            0 => UnknownIds::Skip,
            DECODE_UNKNOWN_IS_ERROR => UnknownIds::Refuse,
            DECODE_UNKNOWN_IS_REPLACED => UnknownIds::Replace,
            _ => return Err(bad("an unknown id cannot both be an error and be replaced")),
        };
        let runs = match flags & DECODE_EAGER_BYTE_RUNS {
            0 => ByteRuns::Exact,
            _ => ByteRuns::Eager,
        };
        let skip_special = flags & DECODE_SKIP_SPECIAL_TOKENS != 0;
        let decoding = Decoding { skip_special, unknown };
        Ok(Self { decoding, runs, as_bytes: flags & DECODE_AS_BYTES != 0 })
    }
}

pub fn read_flag(flags: u32, flag: u32) -> Result<bool> {
    known(flags, flag)?;
    Ok(flags == flag)
}

fn known(flags: u32, all: u32) -> Result<()> {
    if flags & !all == 0 {
        Ok(())
    } else {
        Err(bad(format!("the flags {flags:#x} have bits that this function does not know")))
    }
}

/// Room for the ids of nearly every text; the buffer grows where that is too little.
pub fn usual_ids(len: usize) -> usize {
    len / 2 + 64
}

pub fn in_text(number: usize, error: Error) -> Error {
    error.at_path(format!("texts[{number}]"))
}
