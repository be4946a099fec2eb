//! jinja2's lexer, with `trim_blocks` and `lstrip_blocks`: where text ends, and what a tag takes of
//! the white space around it.

use super::literal::{unescape, Refused};
use super::number;
use super::source::{is_space, skip_space, Source};
use super::token::{Kind, Operator, Token};
use crate::error::Error;

/// What a source is made of, up to where it stops being a template.
pub struct Lexed<'s> {
    /// Ends with `Eof`.
    pub tokens: Vec<Token<'s>>,
    /// Why the tokens end before the source does: met only by a parser that comes so far.
    pub failure: Option<Error>,
    pub unsupported: Vec<Error>,
}

pub fn lex<'s>(source: &Source<'s>) -> Lexed<'s> {
    let mut lexer = Lexer {
        source,
        text: source.text,
        at: 0,
        line_starts: true,
        tokens: Vec::with_capacity(source.text.len() / 6 + 4),
        unsupported: Vec::new(),
    };
    let failure = lexer.run().err();
    let end = lexer.text.len();
    lexer.tokens.push(Token { kind: Kind::Eof, at: end });
    Lexed { tokens: lexer.tokens, failure, unsupported: lexer.unsupported }
}

struct Lexer<'a, 's> {
    source: &'a Source<'s>,
    text: &'s str,
    at: usize,
    /// Whether the last match of jinja2's rules ended with a newline, or there was none.
    line_starts: bool,
    tokens: Vec<Token<'s>>,
    unsupported: Vec<Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opens {
    Variable,
    Block,
    Comment,
    Raw,
}

/// `-`, `+` or nothing beside a delimiter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Strip,
    Keep,
    Default,
}

impl<'s> Lexer<'_, 's> {
    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, kind: Kind<'s>, at: usize) {
        self.tokens.push(Token { kind, at });
    }

    fn run(&mut self) -> Result<(), Error> {
        while self.at < self.text.len() {
            let Some(opening) = self.opening() else {
                self.push(Kind::Data(self.rest()), self.at);
                self.at = self.text.len();
                return Ok(());
            };
            let (start, opens, sign, end) = opening;
            let data = self.text.get(self.at..start).unwrap_or_default();
            self.data(data, sign, opens != Opens::Variable);
            self.moved(end);
            match opens {
                Opens::Variable => {
                    self.push(Kind::VariableBegin, start);
                    self.inside(false)?;
                }
                Opens::Block => {
                    self.push(Kind::BlockBegin, start);
                    self.inside(true)?;
                }
                Opens::Comment => self.comment(start)?,
                Opens::Raw => self.raw(start)?,
            }
        }
        Ok(())
    }

    /// The next delimiter that opens something: where, what, its sign, and where it ends.
    fn opening(&self) -> Option<(usize, Opens, Sign, usize)> {
        let bytes = self.text.as_bytes();
        let mut from = self.at;
        loop {
            let start = from + self.text.get(from..)?.find('{')?;
            let opens = match bytes.get(start + 1) {
                Some(b'{') => Opens::Variable,
                Some(b'%') => Opens::Block,
                Some(b'#') => Opens::Comment,
                _ => {
                    from = start + 1;
                    continue;
                }
            };
            let (sign, end) = self.sign(start + 2);
            if opens == Opens::Block {
                if let Some(end) = self.raw_opening(end) {
                    return Some((start, Opens::Raw, sign, end));
                }
            }
            return Some((start, opens, sign, end));
        }
    }

    fn sign(&self, at: usize) -> (Sign, usize) {
        match self.text.as_bytes().get(at) {
            Some(b'-') => (Sign::Strip, at + 1),
            Some(b'+') => (Sign::Keep, at + 1),
            _ => (Sign::Default, at),
        }
    }

    /// `raw %}` keeps the newline after it, and knows no `+`.
    fn raw_opening(&self, at: usize) -> Option<usize> {
        let word = skip_space(self.text, at);
        let rest = self.text.get(word..)?.strip_prefix("raw")?;
        let end = skip_space(self.text, self.text.len() - rest.len());
        let rest = self.text.get(end..)?;
        if rest.starts_with("-%}") {
            Some(skip_space(self.text, end + 3))
        } else if rest.starts_with("%}") {
            Some(end + 2)
        } else {
            None
        }
    }

    /// Text in front of a tag, without the white space that the tag takes.
    fn data(&mut self, data: &'s str, sign: Sign, lstrip: bool) {
        let kept = match sign {
            Sign::Strip => data.trim_end_matches(is_space),
            Sign::Default if lstrip => self.without_indent(data),
            Sign::Keep | Sign::Default => data,
        };
        if !kept.is_empty() {
            self.push(Kind::Data(kept), self.at);
        }
    }

    fn without_indent(&self, data: &'s str) -> &'s str {
        let line = data.rfind('\n').map_or(0, |at| at + 1);
        if line == 0 && !self.line_starts {
            return data;
        }
        let (before, indent) = data.split_at(line);
        if indent.chars().all(is_space) {
            before
        } else {
            data
        }
    }

    fn moved(&mut self, end: usize) {
        self.at = end;
        self.line_starts = self.text.get(..end).is_some_and(|read| read.ends_with('\n'));
    }

    /// Where a block, a comment or a raw block ends, if its end is at `at`.
    fn closing(&self, at: usize, delimiter: &str) -> Option<usize> {
        let rest = self.text.get(at..)?;
        if let Some(rest) = rest.strip_prefix(delimiter) {
            let end = at + delimiter.len();
            return Some(if rest.starts_with('\n') { end + 1 } else { end });
        }
        let (sign, end) = self.sign(at);
        if sign == Sign::Default || !self.text.get(end..)?.starts_with(delimiter) {
            return None;
        }
        let end = end + delimiter.len();
        Some(if sign == Sign::Strip { skip_space(self.text, end) } else { end })
    }

    fn comment(&mut self, start: usize) -> Result<(), Error> {
        let inside = self.at;
        let Some(found) = self.rest().find("#}") else {
            // jinja2 forgives a comment that has nothing in it at all.
            let missing = !self.rest().is_empty();
            self.at = self.text.len();
            return if missing {
                Err(self.source.syntax("Missing end of comment tag", start))
            } else {
                Ok(())
            };
        };
        let hash = inside + found;
        let signed =
            hash > inside && matches!(self.text.as_bytes().get(hash - 1), Some(b'-' | b'+'));
        let end = self.closing(if signed { hash - 1 } else { hash }, "#}");
        self.moved(end.unwrap_or(hash + 2));
        Ok(())
    }

    fn raw(&mut self, start: usize) -> Result<(), Error> {
        let mut from = self.at;
        while let Some(found) = self.text.get(from..).and_then(|rest| rest.find("{%")) {
            let tag = from + found;
            let (sign, end) = self.sign(tag + 2);
            let word = skip_space(self.text, end);
            if self.text.get(word..).is_some_and(|rest| rest.starts_with("endraw")) {
                let after = skip_space(self.text, word + "endraw".len());
                if let Some(end) = self.closing(after, "%}") {
                    let data = self.text.get(self.at..tag).unwrap_or_default();
                    self.data(data, sign, true);
                    self.moved(end);
                    return Ok(());
                }
            }
            from = tag + 2;
        }
        let missing = !self.rest().is_empty();
        self.at = self.text.len();
        if missing {
            return Err(self.source.syntax("Missing end of raw directive", start));
        }
        Ok(())
    }

    /// The tokens of a tag, its end included. Its delimiters count only outside of brackets.
    fn inside(&mut self, block: bool) -> Result<(), Error> {
        let mut open: Vec<Operator> = Vec::new();
        while let Some(c) = self.rest().chars().next() {
            let start = self.at;
            if open.is_empty() {
                if let Some(end) = self.tag_end(block) {
                    self.push(if block { Kind::BlockEnd } else { Kind::VariableEnd }, start);
                    self.moved(end);
                    return Ok(());
                }
            }
            if is_space(c) {
                self.at = skip_space(self.text, start);
            } else if let Some((kind, end)) = number::at(self.text, start) {
                if matches!(kind, Kind::Integer(None)) {
                    self.unsupported
                        .push(self.source.unsupported("an integer of more than 127 bits", start));
                }
                self.push(kind, start);
                self.at = end;
            } else if c == '_' || c.is_alphanumeric() {
                self.name();
            } else if let Some(end) = self.string_end(c) {
                self.string(end)?;
            } else if let Some((operator, length)) = Operator::longest(self.rest()) {
                self.balance(&mut open, operator)?;
                self.push(Kind::Operator(operator), start);
                self.at += length;
            } else {
                let before = self.text.get(..start).map_or(0, |read| read.chars().count());
                let message = format!("unexpected char {} at {before}", quoted_char(c));
                return Err(self.source.syntax(message, start));
            }
        }
        Ok(())
    }

    fn tag_end(&self, block: bool) -> Option<usize> {
        if block {
            return self.closing(self.at, "%}");
        }
        let rest = self.rest();
        if rest.starts_with("}}") {
            Some(self.at + 2)
        } else if rest.starts_with("-}}") {
            Some(skip_space(self.text, self.at + 3))
        } else {
            None
        }
    }

    fn name(&mut self) {
        let rest = self.rest();
        let length = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        let (name, _) = rest.split_at(length);
        if !name.is_ascii() {
            self.unsupported
                .push(self.source.unsupported("a name with letters beyond ASCII", self.at));
        }
        self.push(Kind::Name(name), self.at);
        self.at += length;
    }

    /// Offset of the closing quote, if a whole literal begins here.
    fn string_end(&self, quote: char) -> Option<usize> {
        if quote != '\'' && quote != '"' {
            return None;
        }
        let mut escaped = false;
        let found = self.rest().bytes().skip(1).position(|byte| {
            let ends = !escaped && byte == quote as u8;
            escaped = !escaped && byte == b'\\';
            ends
        })?;
        Some(self.at + 1 + found)
    }

    fn string(&mut self, end: usize) -> Result<(), Error> {
        let inside = self.text.get(self.at + 1..end).unwrap_or_default();
        let value = match unescape(inside) {
            Ok(value) => value,
            Err(Refused::Malformed(message)) => return Err(self.source.syntax(message, self.at)),
            Err(Refused::Unsupported(feature)) => {
                self.unsupported.push(self.source.unsupported(feature, self.at));
                String::new()
            }
        };
        self.push(Kind::Text(value), self.at);
        self.at = end + 1;
        Ok(())
    }

    fn balance(&self, open: &mut Vec<Operator>, operator: Operator) -> Result<(), Error> {
        use Operator as O;
        match operator {
            O::LeftBrace => open.push(O::RightBrace),
            O::LeftParen => open.push(O::RightParen),
            O::LeftBracket => open.push(O::RightBracket),
            O::RightBrace | O::RightParen | O::RightBracket => match open.pop() {
                Some(expected) if expected == operator => {}
                Some(expected) => {
                    let message =
                        format!("unexpected '{}', expected '{}'", operator.text(), expected.text());
                    return Err(self.source.syntax(message, self.at));
                }
                None => {
                    return Err(self
                        .source
                        .syntax(format!("unexpected '{}'", operator.text()), self.at));
                }
            },
            _ => {}
        }
        Ok(())
    }
}

/// As Python writes the character in a message.
fn quoted_char(c: char) -> String {
    match c {
        '\'' => "\"'\"".to_owned(),
        '\\' => "'\\\\'".to_owned(),
        _ => format!("'{c}'"),
    }
}
