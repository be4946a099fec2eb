//! Reads what `marshal.dumps(value, 4)` of CPython writes of plain data: several times as fast as
//! JSON on both sides, and tuples, exact floats and keys that are no strings survive.
//!
//! What Python holds in several places (the keys of messages, mostly) is written once, with a flag,
//! and then referred to by its number. Values never change, so they are shared here as well.

use crate::context::{dict_of_unique, int_from_decimal, list, tuple};
use crate::error::{Error, Kind, Result};
use crate::value::Value;

/// Digits of an integer, of 15 bits each; Python prints no longer ones.
const MOST_DIGITS: usize = 1000;
const DIGIT_BITS: u32 = 15;
/// Room for most dictionaries: how many entries follow is not said.
const ENTRIES: usize = 4;
/// Room for what most requests refer to: keys of messages, mostly.
const KEPT_ROOM: usize = 8;
/// The bit of a tag that says: later values may refer to this one.
const KEPT: u8 = 0x80;
/// Nine decimal digits fit into 32 bits.
const LIMB: u64 = 1_000_000_000;

/// Reads one value, `depth` levels of lists and dictionaries deep at most.
pub fn parse_packed(source: &[u8], depth: usize) -> Result<Value> {
    let kept = Vec::with_capacity(KEPT_ROOM);
    let mut reader = Reader { rest: source, depth, deepest: 0, kept, error: None };
    match reader.value(0) {
        Ok(value) if reader.rest.is_empty() => Ok(value),
        Ok(_) => Err(malformed("something follows the value")),
        Err(Failed) => Err(reader.error.unwrap_or_else(|| malformed("no reason is known"))),
    }
}

/// The reader holds the error: answers with room for one would be moved about with each value.
struct Failed;

type Read<T> = std::result::Result<T, Failed>;

/// A value that others refer to.
struct Kept {
    value: Value,
    /// Levels of lists and dictionaries in it.
    levels: usize,
}

struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
    /// The deepest level so far, of what is kept that is read at the moment.
    deepest: usize,
    /// In the order in which they begin; None while one is read.
    kept: Vec<Option<Kept>>,
    error: Option<Error>,
}

impl<'a> Reader<'a> {
    fn value(&mut self, level: usize) -> Read<Value> {
        let [tag] = self.fixed()?;
        self.tagged(tag, level)
    }

    fn tagged(&mut self, tag: u8, level: usize) -> Read<Value> {
        if tag & KEPT != 0 {
            return self.keep(tag & !KEPT, level);
        }
        Ok(match tag {
            b'z' | b'Z' => Value::from(self.short_text()?),
            b'u' | b't' | b'a' | b'A' => Value::from(self.text()?),
            b'r' => self.again(level)?,
            b'{' => {
                let level = self.deeper(level)?;
                let mut entries = Vec::with_capacity(ENTRIES);
                loop {
                    let [tag] = self.fixed()?;
                    if tag == b'0' {
                        // They come out of a dict of Python's, which has each key once.
                        break dict_of_unique(entries);
                    }
                    let key = self.tagged(tag, level)?;
                    entries.push((key, self.value(level)?));
                }
            }
            b'[' => {
                let count = self.length()?;
                list(self.items(count, level)?)
            }
            b'(' => {
                let count = self.length()?;
                tuple(self.items(count, level)?)
            }
            b')' => {
                let [count] = self.fixed()?;
                tuple(self.items(usize::from(count), level)?)
            }
            b'N' => Value::from(()),
            b'F' => Value::from(false),
            b'T' => Value::from(true),
            b'i' => Value::from(i32::from_le_bytes(self.fixed()?)),
            b'l' => self.long()?,
            b'g' => Value::from(f64::from_le_bytes(self.fixed()?)),
            _ => return self.fail(not_plain(format!("byte {tag:#04x} begins no plain value"))),
        })
    }

    /// A value under the next number, which it has before those inside it.
    fn keep(&mut self, tag: u8, level: usize) -> Read<Value> {
        let number = self.kept.len();
        self.kept.push(None);
        let around = std::mem::replace(&mut self.deepest, level);
        let value = self.tagged(tag, level)?;
        let levels = self.deepest - level;
        self.deepest = self.deepest.max(around);
        if let Some(place) = self.kept.get_mut(number) {
            *place = Some(Kept { value: value.clone(), levels });
        }
        Ok(value)
    }

    /// A value that was read before. What is inside itself is no plain data: the host names it.
    fn again(&mut self, level: usize) -> Read<Value> {
        let number = self.length()?;
        let (value, levels) = match self.kept.get(number) {
            Some(Some(kept)) => (kept.value.clone(), kept.levels),
            Some(None) => return self.fail(not_plain("a value is inside itself".to_owned())),
            None => return self.fail(malformed("it refers to nothing")),
        };
        let deepest = level + levels;
        if deepest > self.depth {
            return self.too_deep();
        }
        self.deepest = self.deepest.max(deepest);
        Ok(value)
    }

    fn items(&mut self, count: usize, level: usize) -> Read<Vec<Value>> {
        let level = self.deeper(level)?;
        // A value takes a byte at least: no more room than the input can fill.
        let mut items = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            items.push(self.value(level)?);
        }
        Ok(items)
    }

    fn text(&mut self) -> Read<&'a str> {
        let length = self.length()?;
        self.text_of(length)
    }

    fn short_text(&mut self) -> Read<&'a str> {
        let [length] = self.fixed()?;
        self.text_of(usize::from(length))
    }

    fn text_of(&mut self, length: usize) -> Read<&'a str> {
        let bytes = self.take(length)?;
        // Python's strings may hold halves of surrogate pairs: the host knows how to name them.
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => self.fail(not_plain("a string is no UTF-8".to_owned())),
        }
    }

    fn long(&mut self) -> Read<Value> {
        let count = i32::from_le_bytes(self.fixed()?);
        let length = count.unsigned_abs() as usize;
        if length > MOST_DIGITS {
            let message = format!("an integer of {} bits", length * DIGIT_BITS as usize);
            return self.fail(Error::new(Kind::Limit, message).named("integer"));
        }
        let digits = self.take(length * 2)?;
        let mut limbs: Vec<u32> = vec![0];
        for digit in digits.chunks_exact(2).rev() {
            let mut carry = digit.try_into().map(u16::from_le_bytes).map_or(0, u64::from);
            for limb in &mut limbs {
                carry += u64::from(*limb) << DIGIT_BITS;
                *limb = (carry % LIMB) as u32;
                carry /= LIMB;
            }
            if carry > 0 {
                limbs.push(carry as u32);
            }
        }
        let mut text = String::from(if count < 0 { "-" } else { "" });
        for (index, limb) in limbs.iter().rev().enumerate() {
            let limb = if index == 0 { limb.to_string() } else { format!("{limb:09}") };
            text.push_str(&limb);
        }
        match int_from_decimal(&text) {
            Ok(value) => Ok(value),
            Err(error) => self.fail(error),
        }
    }

    fn deeper(&mut self, level: usize) -> Read<usize> {
        if level < self.depth {
            self.deepest = self.deepest.max(level + 1);
            return Ok(level + 1);
        }
        self.too_deep()
    }

    #[cold]
    fn too_deep<T>(&mut self) -> Read<T> {
        let message = format!("the request is deeper than {} levels", self.depth);
        self.fail(Error::new(Kind::Limit, message).named("depth"))
    }

    #[cold]
    fn fail<T>(&mut self, error: Error) -> Read<T> {
        self.error = Some(error);
        Err(Failed)
    }

    fn length(&mut self) -> Read<usize> {
        Ok(u32::from_le_bytes(self.fixed()?) as usize)
    }

    fn fixed<const N: usize>(&mut self) -> Read<[u8; N]> {
        let Some((head, rest)) = self.rest.split_first_chunk() else {
            return self.fail(malformed("it is cut off"));
        };
        self.rest = rest;
        Ok(*head)
    }

    fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let Some((head, rest)) = self.rest.split_at_checked(length) else {
            return self.fail(malformed("it is cut off"));
        };
        self.rest = rest;
        Ok(head)
    }
}

fn malformed(what: &str) -> Error {
    Error::new(Kind::BadArgument, format!("the packed request is malformed: {what}"))
}

fn not_plain(message: String) -> Error {
    Error::new(Kind::NotPlain, message)
}
