//! RWKV's vocabulary as text: lines of an id, a Python literal and the length in bytes.

use crate::definition::{Decoder, Definition, Greedy, Model, PreTokenizer};
use crate::error::{Error, Result};
use crate::formats::limits::Limits;
use crate::formats::options::Options;
use crate::formats::ranks;
use crate::vocab::Vocab;

pub fn read(bytes: &[u8], options: &Options) -> Result<Definition> {
    let content = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let shift = bytes.len() - content.len();
    let text = std::str::from_utf8(content).map_err(|error| {
        Error::invalid("the file is not UTF-8").at_offset((shift + error.valid_up_to()) as u64)
    })?;
    let mut vocab = Vocab::new();
    let (mut at, mut token, mut spelled) = (shift, Vec::new(), String::new());
    for (number, line) in (1u64..).zip(text.split_inclusive('\n')) {
        let read = read_line(line, &options.limits, &mut vocab, &mut token, &mut spelled);
        read.map_err(|mut error| {
            error.message = format!("line {number}: {}", error.message);
            error.at_offset(at as u64)
        })?;
        at += line.len();
    }
    if vocab.is_empty() {
        return Err(Error::invalid("the file has no tokens"));
    }
    if let Some(byte) = ranks::missing_byte(&vocab) {
        return Err(Error::invalid(format!(
            "the byte 0x{byte:02X} is no token, so not every text can be encoded"
        )));
    }
    Ok(Definition {
        ids_as_stated: true,
        pre_tokenizer: vec![PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: false }],
        decoder: Some(vec![Decoder::ByteLevel]),
        ..Definition::new("rwkv", Model::Greedy(Greedy { vocab }))
    })
}

fn read_line(
    line: &str,
    limits: &Limits,
    vocab: &mut Vocab,
    token: &mut Vec<u8>,
    spelled: &mut String,
) -> Result<()> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(());
    }
    // The literal may hold spaces itself.
    let fields = line.split_once(' ').and_then(|(id, rest)| {
        rest.rsplit_once(' ').map(|(literal, length)| (id, literal, length))
    });
    let Some((id, literal, length)) = fields else {
        return Err(Error::invalid("not an id, a literal and a length"));
    };
    let id: u32 = number(id)?;
    let length: u32 = number(length)?;
    Limits::check(vocab.len() as u64 + 1, limits.items, "tokens")?;
    Limits::check(u64::from(length), limits.token, "bytes of a token")?;
    token.clear();
    Literal { rest: literal, out: token }.read()?;
    if token.len() as u64 != u64::from(length) {
        return Err(Error::invalid(format!(
            "the token has {} bytes, and {length} are stated",
            token.len()
        )));
    }
    if token.is_empty() {
        return Err(Error::invalid("the token is empty"));
    }
    ranks::spell(token, spelled);
    if let Some(other) = vocab.id(spelled) {
        return Err(Error::invalid(format!("the token has the id {other} already")));
    }
    if vocab.text(id).is_some() {
        return Err(Error::invalid(format!("the id {id} is another token's already")));
    }
    vocab.insert(spelled, id)
}

fn number(digits: &str) -> Result<u32> {
    let short: String = digits.chars().take(24).collect();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::invalid(format!("{short:?} is no number")));
    }
    digits.parse().map_err(|_| Error::invalid(format!("{short} is out of range for 32 bits")))
}

/// A literal of Python: `'...'`, `"..."` or the same behind a `b`.
struct Literal<'a> {
    rest: &'a str,
    out: &'a mut Vec<u8>,
}

impl Literal<'_> {
    fn read(mut self) -> Result<()> {
        let is_bytes = self.rest.starts_with('b');
        if is_bytes {
            self.next();
        }
        let quote = self.next().filter(|c| matches!(c, '\'' | '"'));
        let Some(quote) = quote else { return Err(wrong("it does not begin with a quote")) };
        loop {
            match self.next() {
                None => return Err(wrong("its closing quote is missing")),
                Some(c) if c == quote => break,
                Some('\\') => self.escape(is_bytes)?,
                Some(c) if is_bytes && !c.is_ascii() => {
                    return Err(wrong("bytes with a character that is not ASCII"))
                }
                Some(c) => self.push(c),
            }
        }
        match self.rest {
            "" => Ok(()),
            _ => Err(wrong("something stands behind its closing quote")),
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    fn push(&mut self, c: char) {
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn escape(&mut self, is_bytes: bool) -> Result<()> {
        let c = match self.next() {
            Some(c @ ('\\' | '\'' | '"')) => c,
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{C}',
            Some('v') => '\u{B}',
            Some('x') => {
                let code = self.digits(2)?;
                // In bytes it is a byte, in a string a character.
                if let (true, Ok(byte)) = (is_bytes, u8::try_from(code)) {
                    self.out.push(byte);
                    return Ok(());
                }
                character(code)?
            }
            Some('u') if !is_bytes => character(self.digits(4)?)?,
            Some('U') if !is_bytes => character(self.digits(8)?)?,
            _ => return Err(wrong("an escape that is not known")),
        };
        self.push(c);
        Ok(())
    }

    fn digits(&mut self, count: usize) -> Result<u32> {
        let digits = self.rest.get(..count);
        let digits = digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(code) = code else { return Err(wrong("an escape without its digits")) };
        self.rest = self.rest.get(count..).unwrap_or_default();
        Ok(code)
    }
}

fn character(code: u32) -> Result<char> {
    char::from_u32(code).ok_or_else(|| wrong("an escape that is no character"))
}

fn wrong(what: &str) -> Error {
    Error::invalid(format!("the literal is not valid: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::tokenizer::{Scratch, Tokenizer, Wanted};
    use std::fmt::Write as _;

    fn literal(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        Literal { rest: text, out: &mut out }.read().ok().map(|()| out)
    }

    #[test]
    fn literals_mean_what_python_means() {
        let cases: [(&str, &[u8]); 10] = [
            (r"'a'", b"a"),
            (r#""it's""#, b"it's"),
            (r"'\'\\\n\r\t'", b"'\\\n\r\t"),
            (r"'\x00\x7f'", b"\0\x7F"),
            // A character in a string, a byte in bytes.
            (r"'\x80'", b"\xC2\x80"),
            (r"b'\x80\xff'", b"\x80\xFF"),
            (r"'\u2002'", "\u{2002}".as_bytes()),
            (r"'\U0001f600'", "\u{1F600}".as_bytes()),
            ("'é 字'", "é 字".as_bytes()),
            ("''", b""),
        ];
        for (text, bytes) in cases {
            assert_eq!(literal(text).as_deref(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn other_literals_are_refused() {
        let bad = [
            "",
            "a",
            "'",
            "'a",
            "'a'b",
            "'\\",
            "'\\q'",
            "'\\x1'",
            "'\\xg1'",
            "'\\ud800'",
            "b'\\u0041'",
            "b'é'",
            "'\\x1é'",
            "f'a'",
            "'\\N{DIGIT ONE}'",
        ];
        for text in bad {
            assert_eq!(literal(text), None, "{text}");
        }
    }

    fn file() -> String {
        (0..=255u8).fold(String::new(), |mut file, byte| {
            writeln!(file, "{} b'\\x{byte:02x}' 1", u32::from(byte) + 1).unwrap();
            file
        })
    }

    #[test]
    fn the_longest_token_wins() {
        let file = file() + "300 'ab' 2\r\n\n301 'abcd' 4\n302 'cde' 3\n";
        let tokenizer = Tokenizer::load(file.as_bytes()).unwrap();
        let mut scratch = Scratch::new();
        let mut ids = Vec::new();
        tokenizer.encode_ids(&mut scratch, "abcde ab\n", Wanted::new(true), &mut ids).unwrap();
        assert_eq!(ids, [301, 102, 33, 300, 11]);
        let full = tokenizer.encode_full(&mut scratch, "abcdé", None, Wanted::new(true)).unwrap();
        assert_eq!(full.ids, [301, 0xC4, 0xAA]);
        let mut text = String::new();
        tokenizer.decode(&ids, true, &mut text).unwrap();
        assert_eq!(text, "abcde ab\n");
    }

    #[test]
    fn complaints_name_the_line() {
        let file = file();
        let cases = [
            ("300 'ab' 3\n", "line 257: the token has 2 bytes"),
            ("300 'ab\n", "line 257: not an id"),
            ("300 ab 2\n", "line 257: the literal"),
            ("300 'a' 1\n", "line 257: the token has the id 98 already"),
            ("98 'ab' 2\n", "line 257: the id 98 is another"),
            ("-1 'ab' 2\n", "line 257: \"-1\" is no number"),
            ("4294967296 'ab' 2\n", "line 257: 4294967296 is out of range"),
            ("300 '' 0\n", "line 257: the token is empty"),
        ];
        for (line, message) in cases {
            let error = Tokenizer::load(format!("{file}{line}").as_bytes()).unwrap_err();
            assert!(error.message.starts_with(message), "{error}");
            assert_eq!(error.kind, ErrorKind::InvalidFile);
            assert_eq!(error.offset, Some(file.len() as u64));
        }
        let error = Tokenizer::load(b"1 'a' 1\n").unwrap_err();
        assert!(error.message.contains("0x00"), "{error}");
    }
}
