//! Escapes.

use super::parse::Parser;
use super::set::CodeSet;
use crate::error::Result;

impl Parser<'_> {
    /// Right behind a backslash: a class of characters, if the escape stands for one.
    pub(super) fn class_escape(&mut self, in_class: bool) -> Result<Option<CodeSet>> {
        let start = self.at - 1;
        let Some(letter) = self.peek() else {
            return Err(self.invalid(start, "end pattern at escape"));
        };
        let table = match letter.to_ascii_lowercase() {
            's' => self.named("White_Space"),
            'd' => self.named("Nd"),
            'w' => self.named(if in_class { "bracket_word" } else { "word" }),
            'h' => Some(CodeSet::of([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)])),
            'p' => {
                self.next();
                return self.property(letter == 'P', in_class, start).map(Some);
            }
            _ => None,
        };
        let Some(set) = table else { return Ok(None) };
        self.next();
        Ok(Some(if letter.is_ascii_uppercase() { set.complement() } else { set }))
    }

    /// `{L}`, `{^L}` and their like, behind `\p` or `\P`.
    fn property(&mut self, is_negative: bool, in_class: bool, start: usize) -> Result<CodeSet> {
        let Some((name, _)) = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}'))
        else {
            return Err(self.unsupported(start, "PropertyWithoutBraces"));
        };
        self.at += name.len() + 2;
        let (name, is_negative) = match name.strip_prefix('^') {
            Some(name) => (name, !is_negative),
            None => (name, is_negative),
        };
        let key: String = name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).collect();
        let set = match key.to_ascii_lowercase().as_str() {
            // Our own names, which no pattern knows.
            "bracketword" | "bracketpunct" => None,
            "word" if in_class => self.named("bracket_word"),
            key => self.named(key),
        };
        let Some(set) = set else {
            let is_harmless = name.len() <= 32
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' '));
            let feature =
                if is_harmless { format!("Property:{name}") } else { "Property".to_owned() };
            return Err(self.unsupported(start, &feature));
        };
        Ok(if is_negative { set.complement() } else { set })
    }

    /// Behind a backslash: a single character.
    pub(super) fn char_escape(&mut self, start: usize) -> Result<char> {
        let Some(letter) = self.next() else {
            return Err(self.invalid(start, "end pattern at escape"));
        };
        match letter {
            't' => Ok('\t'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            'f' => Ok('\u{0C}'),
            'v' => Ok('\u{0B}'),
            'a' => Ok('\u{07}'),
            'e' => Ok('\u{1B}'),
            'x' => self.hexadecimal(start),
            'u' => match self.digits(4, 4) {
                Some(code) => self.code_point(code, start),
                None => Err(self.invalid(start, "too short escape")),
            },
            letter if letter.is_ascii_alphanumeric() => {
                Err(self.unsupported(start, &format!("Escape:{letter}")))
            }
            other => Ok(other),
        }
    }

    /// `HH` or `{H...}`, behind `\x`.
    fn hexadecimal(&mut self, start: usize) -> Result<char> {
        if self.eat("{") {
            let code = self.digits(1, 8);
            return match code {
                Some(code) if self.eat("}") => self.code_point(code, start),
                _ => Err(self.unsupported(start, "Escape:x")),
            };
        }
        match self.digits(1, 2) {
            // Above ASCII it is a byte, not a character.
            Some(code @ 0..0x80) => self.code_point(code, start),
            _ => Err(self.unsupported(start, "Escape:x")),
        }
    }

    fn code_point(&self, code: u32, start: usize) -> Result<char> {
        char::from_u32(code).ok_or_else(|| self.unsupported(start, "InvalidCodePoint"))
    }

    /// As many hexadecimal digits as there are, up to `most`.
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let is_digit = |byte: &u8| byte.is_ascii_hexdigit();
        let count = self.rest().bytes().take(most).take_while(is_digit).count();
        let digits = self.rest().get(..count).filter(|_| count >= least)?;
        self.at += count;
        u32::from_str_radix(digits, 16).ok()
    }
}
