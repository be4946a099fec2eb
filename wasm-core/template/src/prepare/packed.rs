//! Reads what `marshal.dumps(value, 2)` of CPython writes of plain data: several times as fast as
//! JSON on both sides, and tuples, exact floats and keys that are no strings survive.

use crate::context::{dict_of_unique, int_from_decimal, list, tuple};
use crate::error::{Error, Kind, Result};
use minijinja::Value;

/// Digits of an integer, of 15 bits each; Python prints no longer ones.
const MOST_DIGITS: usize = 1000;
const DIGIT_BITS: u32 = 15;
/// Room for most dictionaries: how many entries follow is not said.
const ENTRIES: usize = 4;
/// Nine decimal digits fit into 32 bits.
const LIMB: u64 = 1_000_000_000;

/// Reads one value, `depth` levels of lists and dictionaries deep at most.
pub fn parse_packed(source: &[u8], depth: usize) -> Result<Value> {
    let mut reader = Reader { rest: source, depth };
    let value = reader.value(0)?;
    if reader.rest.is_empty() {
        return Ok(value);
    }
    Err(malformed("something follows the value"))
}

struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, level: usize) -> Result<Value> {
        let [tag] = self.fixed()?;
        self.tagged(tag, level)
    }

    fn tagged(&mut self, tag: u8, level: usize) -> Result<Value> {
        Ok(match tag {
            b'u' => Value::from(self.text()?),
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
            b'[' => list(self.items(level)?),
            b'(' => tuple(self.items(level)?),
            b'N' => Value::from(()),
            b'F' => Value::from(false),
            b'T' => Value::from(true),
            b'i' => Value::from(i32::from_le_bytes(self.fixed()?)),
            b'l' => self.long()?,
            b'g' => Value::from(f64::from_le_bytes(self.fixed()?)),
            _ => return Err(not_plain(format!("byte {tag:#04x} begins no plain value"))),
        })
    }

    fn items(&mut self, level: usize) -> Result<Vec<Value>> {
        let level = self.deeper(level)?;
        let count = self.length()?;
        // A value takes a byte at least: no more room than the input can fill.
        let mut items = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            items.push(self.value(level)?);
        }
        Ok(items)
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.length()?;
        let bytes = self.take(length)?;
        // Python's strings may hold halves of surrogate pairs: the host knows how to name them.
        std::str::from_utf8(bytes).map_err(|_| not_plain("a string is no UTF-8".to_owned()))
    }

    fn long(&mut self) -> Result<Value> {
        let count = i32::from_le_bytes(self.fixed()?);
        let length = count.unsigned_abs() as usize;
        if length > MOST_DIGITS {
            let message = format!("an integer of {} bits", length * DIGIT_BITS as usize);
            return Err(Error::new(Kind::Limit, message).named("integer"));
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
        int_from_decimal(&text)
    }

    fn deeper(&self, level: usize) -> Result<usize> {
        if level < self.depth {
            return Ok(level + 1);
        }
        let message = format!("the request is deeper than {} levels", self.depth);
        Err(Error::new(Kind::Limit, message).named("depth"))
    }

    fn length(&mut self) -> Result<usize> {
        Ok(u32::from_le_bytes(self.fixed()?) as usize)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) =
            self.rest.split_first_chunk().ok_or_else(|| malformed("it is cut off"))?;
        self.rest = rest;
        Ok(*head)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let halves = self.rest.split_at_checked(length);
        let (head, rest) = halves.ok_or_else(|| malformed("it is cut off"))?;
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
