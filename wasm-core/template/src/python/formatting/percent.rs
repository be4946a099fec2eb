//! `%` formatting: the pieces of a format string, and what each makes of its argument.

use crate::python::fault::{push_repeated, Fault, Kind, Outcome};
use crate::python::numbers::float::{self, Style};
use crate::python::numbers::integer::Integer;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    Field(Field<'a>),
}

/// A number that is written, or that stands in the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Given(usize),
    FromArguments,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'a> {
    pub key: Option<&'a str>,
    pub flags: Flags,
    pub width: Option<Amount>,
    pub precision: Option<Amount>,
    pub letter: char,
    /// In characters, for messages.
    pub at: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    pub left: bool,
    pub plus: bool,
    pub space: bool,
    pub alternate: bool,
    pub zero: bool,
}

/// Cuts a format string; an error stands where Python meets it, after the pieces before it.
pub fn parse(format: &str) -> Vec<Outcome<Piece<'_>>> {
    let mut reader = Reader { format, at: 0 };
    let mut pieces = Vec::new();
    while reader.at < format.len() {
        let rest = reader.rest();
        let text = rest.find('%').unwrap_or(rest.len());
        if text > 0 {
            pieces.push(Ok(Piece::Text(rest.get(..text).unwrap_or(""))));
            reader.at += text;
        }
        if reader.at >= format.len() {
            break;
        }
        reader.at += 1;
        let field = reader.field();
        let failed = field.is_err();
        pieces.push(field.map(Piece::Field));
        if failed {
            break;
        }
    }
    pieces
}

struct Reader<'a> {
    format: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.format.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Outcome<char> {
        let c = self.peek().ok_or_else(|| Fault::value_error("incomplete format"))?;
        self.at += c.len_utf8();
        Ok(c)
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn field(&mut self) -> Outcome<Field<'a>> {
        let key = if self.accept('(') { Some(self.key()?) } else { None };
        let mut flags = Flags::default();
        loop {
            match self.peek() {
                Some('-') => flags.left = true,
                Some('+') => flags.plus = true,
                Some(' ') => flags.space = true,
                Some('#') => flags.alternate = true,
                Some('0') => flags.zero = true,
                _ => break,
            }
            self.at += 1;
        }
        let width = self.amount("width too big")?;
        let precision = if self.accept('.') {
            Some(self.amount("precision too big")?.unwrap_or(Amount::Given(0)))
        } else {
            None
        };
        if matches!(self.peek(), Some('h' | 'l' | 'L')) {
            self.at += 1;
        }
        let letter = self.next()?;
        let before = self.at - letter.len_utf8();
        let at = self.format.get(..before).map_or(0, |text| text.chars().count());
        Ok(Field { key, flags, width, precision, letter, at })
    }

    fn key(&mut self) -> Outcome<&'a str> {
        let start = self.at;
        let mut open = 1_usize;
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Ok(self.format.get(start..self.at - 1).unwrap_or(""));
            }
        }
        Err(Fault::value_error("incomplete format key"))
    }

    fn amount(&mut self, too_big: &str) -> Outcome<Option<Amount>> {
        if self.accept('*') {
            return Ok(Some(Amount::FromArguments));
        }
        let digits =
            self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return Ok(None);
        }
        let number = self.rest().get(..digits).unwrap_or("");
        self.at += digits;
        match number.parse::<i64>().ok().and_then(|number| usize::try_from(number).ok()) {
            Some(number) => Ok(Some(Amount::Given(number))),
            None => Err(Fault::value_error(too_big)),
        }
    }
}

/// What is written of one argument, with the sizes that the arguments gave.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    pub flags: Flags,
    pub width: usize,
    pub precision: Option<usize>,
}

/// `%s`, `%r`, `%a`, `%c`: cut to the precision, padded with spaces.
pub fn push_text(out: &mut String, text: &str, layout: Layout, cap: usize) -> Outcome<()> {
    let text = match layout.precision {
        Some(most) => match text.char_indices().nth(most) {
            Some((at, _)) => text.get(..at).unwrap_or(""),
            None => text,
        },
        None => text,
    };
    padded(out, "", text, false, layout, cap)
}

/// `sign` and prefix stay in front of zeros.
fn padded(
    out: &mut String,
    sign: &str,
    text: &str,
    zeros: bool,
    layout: Layout,
    cap: usize,
) -> Outcome<()> {
    let length = sign.chars().count() + text.chars().count();
    let missing = layout.width.saturating_sub(length);
    let (left, zero, right) = match (layout.flags.left, zeros) {
        (true, _) => (0, 0, missing),
        (false, true) => (0, missing, 0),
        (false, false) => (missing, 0, 0),
    };
    push_repeated(out, " ", left, cap)?;
    push_repeated(out, sign, 1, cap)?;
    push_repeated(out, "0", zero, cap)?;
    push_repeated(out, text, 1, cap)?;
    push_repeated(out, " ", right, cap)
}

fn sign_of(negative: bool, flags: Flags) -> &'static str {
    match (negative, flags.plus, flags.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}

/// `%d`, `%i`, `%u`, `%x`, `%X`, `%o`.
pub fn push_integer(
    out: &mut String,
    value: &Integer,
    letter: char,
    layout: Layout,
    cap: usize,
) -> Outcome<()> {
    let base = match letter {
        'x' | 'X' => 16,
        'o' => 8,
        _ => 10,
    };
    let mut digits = String::new();
    let plain = value.in_base(base);
    let wanted = layout.precision.unwrap_or(0);
    if wanted > i32::MAX as usize - 3 {
        return Err(Fault::new(Kind::Overflow, "precision too large"));
    }
    push_repeated(&mut digits, "0", wanted.saturating_sub(plain.len()), cap)?;
    digits.push_str(&plain);
    let mut sign = sign_of(value.negative, layout.flags).to_owned();
    if layout.flags.alternate {
        sign.push_str(match letter {
            'x' => "0x",
            'X' => "0X",
            'o' => "0o",
            _ => "",
        });
    }
    if letter == 'X' {
        digits.make_ascii_uppercase();
    }
    padded(out, &sign, &digits, layout.flags.zero, layout, cap)
}

/// `%e`, `%f`, `%g` and their capitals.
pub fn push_float(
    out: &mut String,
    value: f64,
    letter: char,
    layout: Layout,
    cap: usize,
) -> Outcome<()> {
    let precision = layout.precision.unwrap_or(6);
    if precision > cap {
        return Err(Fault::too_long(cap));
    }
    let style = match letter.to_ascii_lowercase() {
        'e' => Style::Exponent,
        'f' => Style::Fixed,
        _ => Style::General,
    };
    let mut text = bounded(value, style, precision, layout.flags.alternate, cap)?;
    if letter.is_ascii_uppercase() {
        text.make_ascii_uppercase();
    }
    let negative = text.starts_with('-');
    let digits = text.strip_prefix('-').unwrap_or(&text);
    padded(out, sign_of(negative, layout.flags), digits, layout.flags.zero, layout, cap)
}

/// The formatter of the standard library takes 65,535 digits; no double has that many but zeros.
pub(super) fn bounded(
    value: f64,
    style: Style,
    precision: usize,
    alternate: bool,
    cap: usize,
) -> Outcome<String> {
    const EXACT: usize = 1100;
    if precision <= EXACT {
        return Ok(float::format(value, style, precision, alternate));
    }
    if style == Style::General && !alternate || !value.is_finite() {
        return Ok(float::format(value, style, EXACT, alternate));
    }
    let text = float::format(value, style, EXACT, alternate);
    let (digits, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    let mut out = digits.to_owned();
    push_repeated(&mut out, "0", precision - EXACT, cap)?;
    push_repeated(&mut out, exponent, 1, cap)?;
    Ok(out)
}
