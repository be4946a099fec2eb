//! The lines of a rank file.

use crate::error::{Error, Result};
use crate::formats::limits::Limits;
use crate::formats::{base64, ranks};
use crate::vocab::Vocab;

/// Reads all tokens. Lines may end in LF or CRLF, may be blank, and come in any order.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Vocab> {
    let content = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut reader = Reader { limits, vocab: Vocab::new(), token: Vec::new(), text: String::new() };
    let mut at = bytes.len() - content.len();
    for (number, line) in (1u64..).zip(content.split_inclusive(|&byte| byte == b'\n')) {
        reader.line(line).map_err(|mut error| {
            error.message = format!("line {number}: {}", error.message);
            error.at_offset(at as u64)
        })?;
        at += line.len();
    }
    if reader.vocab.is_empty() {
        return Err(Error::invalid("the file has no tokens"));
    }
    if let Some(byte) = ranks::missing_byte(&reader.vocab) {
        return Err(Error::invalid(format!(
            "the byte 0x{byte:02X} is no token, so not every text can be encoded"
        )));
    }
    Ok(reader.vocab)
}

struct Reader<'a> {
    limits: &'a Limits,
    vocab: Vocab,
    token: Vec<u8>,
    text: String,
}

impl Reader<'_> {
    fn line(&mut self, line: &[u8]) -> Result<()> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let (Some(token), rank, None) = (fields.next(), fields.next(), fields.next()) else {
            return Err(Error::invalid("more than a token and its rank"));
        };
        let rank = rank.ok_or_else(|| Error::invalid("there is no rank behind the token"))?;
        let id = self.rank(rank)?;
        Limits::check(self.vocab.len() as u64 + 1, self.limits.items, "tokens")?;
        Limits::check(token.len() as u64 / 4 * 3, self.limits.token, "bytes of a token")?;
        self.token.clear();
        // A published file has a token of no bytes, written so.
        if token != b"=" {
            base64::decode_token(token, &mut self.token)?;
        }
        ranks::spell(&self.token, &mut self.text);
        if let Some(other) = self.vocab.id(&self.text) {
            return Err(Error::invalid(format!("the token has the rank {other} already")));
        }
        if self.vocab.text(id).is_some() {
            return Err(Error::invalid(format!("the rank {id} is another token's already")));
        }
        self.vocab.insert(&self.text, id)
    }

    fn rank(&self, digits: &[u8]) -> Result<u32> {
        let shown = || String::from_utf8_lossy(digits.get(..24).unwrap_or(digits)).into_owned();
        let digits_only = digits.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(digits).ok().filter(|_| digits_only);
        let Some(number) = number else {
            return Err(Error::invalid(format!("{:?} is no rank", shown())));
        };
        number.parse().map_err(|_| {
            Error::invalid(format!("the rank {} is out of range for 32 bits", shown()))
        })
    }
}
