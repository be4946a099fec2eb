//! JSON as Python's `json` reads it: NaN and Infinity, integers of any size, order kept.

use super::{dict, int_from_decimal, list};
use crate::error::{Error, Kind, Result};
use crate::value::Value;

/// Reads one JSON text, `depth` levels of lists and dictionaries deep at most.
pub fn parse_json(source: &[u8], depth: usize) -> Result<Value> {
    let text = std::str::from_utf8(source).map_err(|bad| {
        Error::new(Kind::Context, format!("the context is not UTF-8 (byte {})", bad.valid_up_to()))
    })?;
    let mut reader = Reader { text, at: 0, depth };
    reader.blank();
    let value = reader.value(0)?;
    reader.blank();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.error("something after the end of the JSON")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes().get(self.at..).unwrap_or_default()
    }

    /// `from..self.at`, both at ASCII characters.
    fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    fn error(&self, what: &str) -> Error {
        Error::new(Kind::Context, format!("the context is no JSON: {what} (byte {})", self.at))
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(self.error("a value was expected"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, level: usize) -> Result<Value> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.dictionary(level),
            Some(b'[') => self.list(level),
            Some(b't') => self.word("true", Value::from(true)),
            Some(b'f') => self.word("false", Value::from(false)),
            Some(b'n') => self.word("null", Value::from(())),
            Some(b'N') => self.word("NaN", Value::from(f64::NAN)),
            Some(b'I') => self.word("Infinity", Value::from(f64::INFINITY)),
            Some(b'-') if self.rest().starts_with(b"-I") => {
                self.word("-Infinity", Value::from(f64::NEG_INFINITY))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.error("a value was expected")),
            None => Err(self.error("it ends too early")),
        }
    }

    fn deeper(&self, level: usize) -> Result<usize> {
        if level < self.depth {
            return Ok(level + 1);
        }
        let message = format!("the context is deeper than {} levels", self.depth);
        Err(Error::new(Kind::Limit, message).named("depth"))
    }

    fn list(&mut self, level: usize) -> Result<Value> {
        let level = self.deeper(level)?;
        let mut items = Vec::new();
        self.at += 1;
        self.blank();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(list(items));
        }
        loop {
            self.blank();
            items.push(self.value(level)?);
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(list(items));
                }
                _ => return Err(self.error("',' or ']' was expected")),
            }
        }
    }

    fn dictionary(&mut self, level: usize) -> Result<Value> {
        let level = self.deeper(level)?;
        let mut entries = Vec::new();
        self.at += 1;
        self.blank();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(dict(entries));
        }
        loop {
            self.blank();
            if self.peek() != Some(b'"') {
                return Err(self.error("a key in double quotes was expected"));
            }
            let key = self.string()?;
            self.blank();
            if self.peek() != Some(b':') {
                return Err(self.error("':' was expected"));
            }
            self.at += 1;
            self.blank();
            entries.push((key, self.value(level)?));
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(dict(entries));
                }
                _ => return Err(self.error("',' or '}' was expected")),
            }
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Value> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let zero = self.peek() == Some(b'0');
        match self.digits() {
            0 => return Err(self.error("a digit was expected")),
            2.. if zero => return Err(self.error("a number begins with 0")),
            _ => {}
        }
        let mut float = false;
        if self.peek() == Some(b'.') {
            self.at += 1;
            float = true;
            if self.digits() == 0 {
                return Err(self.error("a digit was expected"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            float = true;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.error("a digit was expected"));
            }
        }
        let text = self.since(from);
        if !float {
            return int_from_decimal(text);
        }
        text.parse::<f64>().map(Value::from).map_err(|_| self.error("no number"))
    }

    fn string(&mut self) -> Result<Value> {
        self.at += 1;
        let from = self.at;
        self.plain()?;
        if self.peek() == Some(b'"') {
            let text = self.since(from);
            self.at += 1;
            return Ok(Value::from(text));
        }
        let mut out = String::from(self.since(from));
        loop {
            let from = self.at;
            self.plain()?;
            out.push_str(self.since(from));
            if self.peek() == Some(b'"') {
                self.at += 1;
                return Ok(Value::from(out));
            }
            out.push(self.escape()?);
        }
    }

    /// Walks to the next quote or backslash.
    fn plain(&mut self) -> Result<()> {
        let rest = self.rest();
        match rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
            Some(length) => {
                self.at += length;
                match self.peek() {
                    Some(b'"' | b'\\') => Ok(()),
                    _ => Err(self.error("a control character in a string")),
                }
            }
            None => {
                self.at += rest.len();
                Err(self.error("a string does not end"))
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.error("an unknown escape")),
        })
    }

    fn unicode(&mut self) -> Result<char> {
        let high = self.unit()?;
        let code = if (0xd800..0xdc00).contains(&high) && self.rest().starts_with(b"\\u") {
            self.at += 2;
            let low = self.unit()?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(self.error("half of a surrogate pair"));
            }
            0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.error("half of a surrogate pair"))
    }

    fn unit(&mut self) -> Result<u32> {
        let digits = self.bytes().get(self.at..self.at + 4).unwrap_or_default();
        let text = std::str::from_utf8(digits).unwrap_or_default();
        if text.len() != 4 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.error("four hexadecimal digits were expected"));
        }
        self.at += 4;
        u32::from_str_radix(text, 16).map_err(|_| self.error("no hexadecimal number"))
    }
}
