//! Encoding where not every name of a special token may become one.

use crate::body::{reserve, Body};
use crate::calls::{in_text, usual_ids, EncodeFlags};
use crate::constants::ENCODE_SPECIAL_IS_TEXT;
use crate::input::{bad, utf8};
use crate::sessions::{Block, Session};
use crate::tokenizers;
use pywasmtok_engine::error::Result;
use pywasmtok_engine::tokenizer::{Policy, Special, Tokenizer};

pub fn encode_with(
    session: &mut Session,
    tokenizer: u32,
    count: u32,
    policy_len: u32,
    flags: u32,
) -> Result<usize> {
    if flags & ENCODE_SPECIAL_IS_TEXT != 0 {
        return Err(bad("the policy says what special tokens are, not a flag"));
    }
    let flags = EncodeFlags::read(flags, 0)?;
    let tokenizer = tokenizers::get(tokenizer)?;
    let body = &mut *session.body;
    // The engine writes to what the input does not borrow.
    let input = std::mem::take(&mut body.input);
    let outcome = encode(&tokenizer, &input, (count, policy_len), &flags, body, session.block);
    session.body.input = input;
    outcome
}

fn encode(
    tokenizer: &Tokenizer,
    input: &crate::input::Input,
    (count, policy_len): (u32, u32),
    flags: &EncodeFlags,
    body: &mut Body,
    block: &mut Block,
) -> Result<usize> {
    let lengths = input.words(count as usize)?;
    let total = lengths.iter().try_fold(0usize, |sum, &len| sum.checked_add(len as usize));
    let total = total.ok_or_else(|| bad("the lengths overflow"))?;
    let (from, len) = (lengths.len() * 4, policy_len as usize);
    let end = from.checked_add(total).and_then(|end| end.checked_add(len));
    let all = input.bytes(end.ok_or_else(|| bad("the lengths overflow"))?)?;
    let (texts, policy) = all.get(from..).unwrap_or_default().split_at(total);
    let policy = Policy::from_json(policy)?;
    let untrusted = policy.untrusted(lengths)?;
    let special = policy.special(&untrusted);
    let mut cut = Vec::new();
    reserve(&mut cut, lengths.len())?;
    for (number, bytes) in input.texts(lengths.len())?.enumerate() {
        cut.push(utf8(bytes?).map_err(|error| in_text(number, error))?);
    }
    body.ids.clear();
    body.bounds.clear();
    body.details.clear();
    reserve(&mut body.bounds, cut.len().saturating_add(1))?;
    reserve(&mut body.ids, usual_ids(total))?;
    body.bounds.push(0);
    let mut call = Call { tokenizer, special, flags, body };
    if policy.trusted.is_some() {
        // Each segment is text, so all of them together are.
        call.append(utf8(texts)?, None)?;
    } else if policy.pair {
        let &[first, second] = cut.as_slice() else {
            return Err(bad(format!("a pair is two texts, not {count}")));
        };
        call.append(first, Some(second))?;
    } else {
        for (number, text) in cut.iter().enumerate() {
            call.append(text, None).map_err(|error| in_text(number, error))?;
        }
    }
    if flags.details {
        body.publish_details(block);
    }
    body.publish_ids(block);
    body.publish_bounds(block);
    Ok(body.ids.len())
}

struct Call<'a> {
    tokenizer: &'a Tokenizer,
    special: Special<'a>,
    flags: &'a EncodeFlags,
    body: &'a mut Body,
}

impl Call<'_> {
    /// Encodes one text, or one pair, behind what is there.
    fn append(&mut self, first: &str, second: Option<&str>) -> Result<()> {
        let Self { tokenizer, special, flags, body } = self;
        let wanted = (flags.wanted.add_special, *special);
        if flags.details {
            let scratch = &mut body.scratch;
            let made = tokenizer.encode_special_full(scratch, first, second, wanted)?;
            body.append(&made)?;
        } else {
            let (scratch, ids) = (&mut body.scratch, &mut body.ids);
            tokenizer.encode_special_ids(scratch, first, second, wanted, ids)?;
        }
        self.body.bounds.push(self.body.ids.len() as u32);
        Ok(())
    }
}
