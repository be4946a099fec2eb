//! The replacement fields of `str.format`, cut as Python's `string.Formatter` cuts them.

use crate::python::fault::{Fault, Outcome};
use crate::python::text::classes::decimal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    pub literal: &'a str,
    pub field: Option<Field<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'a> {
    pub name: &'a str,
    pub conversion: Option<char>,
    /// May contain fields itself.
    pub spec: &'a str,
}

/// Pieces one after the other: an error stands where Python meets it.
pub struct Pieces<'a> {
    rest: &'a str,
}

pub fn pieces(format: &str) -> Pieces<'_> {
    Pieces { rest: format }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Outcome<Piece<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let piece = self.piece();
        if piece.is_err() {
            self.rest = "";
        }
        Some(piece)
    }
}

impl<'a> Pieces<'a> {
    fn piece(&mut self) -> Outcome<Piece<'a>> {
        let text = self.rest;
        let Some(at) = text.find(['{', '}']) else {
            self.rest = "";
            return Ok(Piece { literal: text, field: None });
        };
        let brace = text.as_bytes().get(at).copied();
        let after = text.as_bytes().get(at + 1).copied();
        if after == brace {
            self.rest = text.get(at + 2..).unwrap_or("");
            return Ok(Piece { literal: text.get(..=at).unwrap_or(""), field: None });
        }
        if brace == Some(b'}') {
            return Err(Fault::value_error("Single '}' encountered in format string"));
        }
        if after.is_none() {
            return Err(Fault::value_error("Single '{' encountered in format string"));
        }
        self.rest = text.get(at + 1..).unwrap_or("");
        let field = self.field()?;
        Ok(Piece { literal: text.get(..at).unwrap_or(""), field: Some(field) })
    }

    fn field(&mut self) -> Outcome<Field<'a>> {
        let text = self.rest;
        let mut in_brackets = false;
        let end = text.find(|c| match c {
            ']' if in_brackets => {
                in_brackets = false;
                false
            }
            _ if in_brackets => false,
            '[' => {
                in_brackets = true;
                false
            }
            _ => matches!(c, '{' | '}' | ':' | '!'),
        });
        let end = end.ok_or_else(|| Fault::value_error("expected '}' before end of string"))?;
        let name = text.get(..end).unwrap_or("");
        let mut rest = text.get(end + 1..).unwrap_or("");
        let mut conversion = None;
        match text.as_bytes().get(end) {
            Some(b'{') => return Err(Fault::value_error("unexpected '{' in field name")),
            Some(b'}') => {
                self.rest = rest;
                return Ok(Field { name, conversion, spec: "" });
            }
            Some(b'!') => {
                let mut chars = rest.chars();
                conversion = Some(chars.next().ok_or_else(|| {
                    Fault::value_error("end of string while looking for conversion specifier")
                })?);
                match chars.next() {
                    Some('}') => {
                        self.rest = chars.as_str();
                        return Ok(Field { name, conversion, spec: "" });
                    }
                    Some(':') | None => rest = chars.as_str(),
                    Some(_) => {
                        return Err(Fault::value_error("expected ':' after conversion specifier"))
                    }
                }
            }
            _ => {}
        }
        let mut open = 1_usize;
        let end = rest.find(|c| {
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            open == 0
        });
        let end = end.ok_or_else(|| Fault::value_error("unmatched '{' in format spec"))?;
        self.rest = rest.get(end + 1..).unwrap_or("");
        Ok(Field { name, conversion, spec: rest.get(..end).unwrap_or("") })
    }
}

/// A place in the arguments, or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name<'a> {
    Number(usize),
    Text(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    Attribute(&'a str),
    Item(Name<'a>),
}

fn name(text: &str) -> Outcome<Name<'_>> {
    if text.is_empty() || !text.chars().all(|c| decimal(c).is_some()) {
        return Ok(Name::Text(text));
    }
    let mut number = 0_usize;
    for digit in text.chars().filter_map(decimal) {
        number = number
            .checked_mul(10)
            .and_then(|number| number.checked_add(usize::from(digit)))
            .filter(|&number| i64::try_from(number).is_ok())
            .ok_or_else(|| Fault::value_error("Too many decimal digits in format string"))?;
    }
    Ok(Name::Number(number))
}

/// `a.b[0]` as `a` and the steps from there.
pub fn split(field: &str) -> Outcome<(Name<'_>, Vec<Step<'_>>)> {
    let end = field.find(['.', '[']).unwrap_or(field.len());
    let (first, mut rest) = field.split_at_checked(end).unwrap_or((field, ""));
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            steps.push(Step::Attribute(not_empty(after.get(..end).unwrap_or(""))?));
            rest = after.get(end..).unwrap_or("");
        } else if let Some(after) = rest.strip_prefix('[') {
            let (item, tail) = after
                .split_once(']')
                .ok_or_else(|| Fault::value_error("Missing ']' in format string"))?;
            steps.push(Step::Item(name(not_empty(item)?)?));
            rest = tail;
        } else {
            return Err(Fault::value_error(
                "Only '.' or '[' may follow ']' in format field specifier",
            ));
        }
    }
    Ok((name(first)?, steps))
}

fn not_empty(text: &str) -> Outcome<&str> {
    if text.is_empty() {
        return Err(Fault::value_error("Empty attribute in format string"));
    }
    Ok(text)
}
