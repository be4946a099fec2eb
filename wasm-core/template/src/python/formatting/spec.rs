//! The format specification mini-language: `format(value, spec)`.

use crate::python::fault::{push_repeated, Fault, Kind, Outcome};
use crate::python::formatting::percent::bounded;
use crate::python::numbers::float::{self, Style};
use crate::python::numbers::integer::{at_least_zero, Integer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    no_negative_zero: bool,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    letter: Option<char>,
}

fn take(rest: &mut &str, one_of: &str) -> Option<char> {
    let c = rest.chars().next().filter(|c| one_of.contains(*c))?;
    *rest = rest.get(c.len_utf8()..).unwrap_or("");
    Some(c)
}

fn number(rest: &mut &str) -> Outcome<Option<usize>> {
    let end =
        rest.find(|c| crate::python::text::classes::decimal(c).is_none()).unwrap_or(rest.len());
    let (digits, tail) = rest.split_at_checked(end).unwrap_or(("", rest));
    if digits.is_empty() {
        return Ok(None);
    }
    let plain: String = digits
        .chars()
        .filter_map(crate::python::text::classes::decimal)
        .map(|d| char::from(b'0' + d))
        .collect();
    *rest = tail;
    match plain.parse() {
        Ok(number) => Ok(Some(at_least_zero(number))),
        Err(_) => Err(Fault::value_error("Too many decimal digits in format string")),
    }
}

/// `type_name` is Python's name of what is formatted.
pub fn parse(text: &str, type_name: &str) -> Outcome<Spec> {
    let mut rest = text;
    let mut spec = Spec {
        fill: None,
        align: None,
        sign: None,
        no_negative_zero: false,
        alternate: false,
        width: 0,
        grouping: None,
        precision: None,
        letter: None,
    };
    let mut chars = rest.chars();
    let (first, second) = (chars.next(), chars.next());
    if let (Some(first), Some(second)) = (first, second.filter(|c| "<>=^".contains(*c))) {
        (spec.fill, spec.align) = (Some(first), Some(second));
        rest = rest.get(first.len_utf8() + 1..).unwrap_or("");
    } else {
        spec.align = take(&mut rest, "<>=^");
    }
    spec.sign = take(&mut rest, " +-");
    spec.no_negative_zero = take(&mut rest, "z").is_some();
    spec.alternate = take(&mut rest, "#").is_some();
    if spec.fill.is_none() && take(&mut rest, "0").is_some() {
        spec.fill = Some('0');
        if spec.align.is_none() && type_name != "str" {
            spec.align = Some('=');
        }
    }
    spec.width = number(&mut rest)?.unwrap_or(0);
    spec.grouping = take(&mut rest, ",");
    if take(&mut rest, "_").is_some() {
        if spec.grouping.is_some() {
            return Err(Fault::value_error("Cannot specify both ',' and '_'."));
        }
        spec.grouping = Some('_');
    }
    if spec.grouping == Some('_') && rest.starts_with(',') {
        return Err(Fault::value_error("Cannot specify both ',' and '_'."));
    }
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        spec.precision = number(&mut rest)?;
        if spec.precision.is_none() {
            return Err(Fault::value_error("Format specifier missing precision"));
        }
    }
    let mut left = rest.chars();
    match (left.next(), left.next()) {
        (None, _) => {}
        (Some(letter), None) => spec.letter = Some(letter),
        _ => {
            return Err(Fault::value_error(format!(
                "Invalid format specifier '{text}' for object of type '{type_name}'"
            )))
        }
    }
    if type_name == "str" {
        spec.letter = spec.letter.or(Some('s'));
    }
    if let Some(grouping) = spec.grouping {
        let fits = match spec.letter {
            None | Some('d' | 'e' | 'f' | 'g' | 'E' | 'F' | 'G' | '%') => true,
            Some('b' | 'o' | 'x' | 'X') => grouping == '_',
            _ => false,
        };
        if !fits {
            let letter = spec.letter.unwrap_or(' ');
            return Err(Fault::value_error(format!(
                "Cannot specify '{grouping}' with '{letter}'."
            )));
        }
    }
    Ok(spec)
}

fn unknown(letter: char, type_name: &str) -> Fault {
    let shown = if (' '..'\u{80}').contains(&letter) {
        letter.to_string()
    } else {
        format!("\\x{:x}", letter as u32)
    };
    Fault::value_error(format!("Unknown format code '{shown}' for object of type '{type_name}'"))
}

fn aligned(out: &mut String, text: &str, align: char, spec: &Spec, cap: usize) -> Outcome<()> {
    let missing = spec.width.saturating_sub(text.chars().count());
    let left = match spec.align.unwrap_or(align) {
        '>' | '=' => missing,
        '^' => missing / 2,
        _ => 0,
    };
    let mut buffer = [0; 4];
    let fill = &*spec.fill.unwrap_or(' ').encode_utf8(&mut buffer);
    push_repeated(out, fill, left, cap)?;
    push_repeated(out, text, 1, cap)?;
    push_repeated(out, fill, missing - left, cap)
}

pub fn push_str(out: &mut String, text: &str, spec: &str, cap: usize) -> Outcome<()> {
    let spec = parse(spec, "str")?;
    if let Some(letter) = spec.letter.filter(|&letter| letter != 's') {
        return Err(unknown(letter, "str"));
    }
    if let Some(sign) = spec.sign {
        let what = if sign == ' ' { "Space" } else { "Sign" };
        return Err(Fault::value_error(format!("{what} not allowed in string format specifier")));
    }
    if spec.no_negative_zero {
        return Err(Fault::value_error(
            "Negative zero coercion (z) not allowed in string format specifier",
        ));
    }
    if spec.alternate {
        return Err(Fault::value_error(
            "Alternate form (#) not allowed in string format specifier",
        ));
    }
    if spec.align == Some('=') {
        return Err(Fault::value_error("'=' alignment not allowed in string format specifier"));
    }
    let text = match spec.precision.and_then(|most| text.char_indices().nth(most)) {
        Some((at, _)) => text.get(..at).unwrap_or(""),
        None => text,
    };
    aligned(out, text, '<', &spec, cap)
}

/// The parts of a number, in the order in which they are written.
struct Number<'a> {
    sign: &'a str,
    prefix: &'a str,
    /// The digits that are grouped.
    whole: &'a str,
    rest: &'a str,
}

fn push_number(out: &mut String, number: &Number<'_>, spec: &Spec, cap: usize) -> Outcome<()> {
    let group = match spec.letter {
        Some('b' | 'o' | 'x' | 'X') => 4,
        _ => 3,
    };
    let around = number.sign.len() + number.prefix.len() + number.rest.len();
    let zeros_inside = spec.fill == Some('0') && spec.align == Some('=');
    let room = if zeros_inside { spec.width.saturating_sub(around) } else { 0 };
    if room > cap {
        return Err(Fault::too_long(cap));
    }
    let whole = match spec.grouping {
        // `inf` and `nan` have no digits to group.
        _ if number.whole.is_empty() => String::new(),
        Some(separator) => grouped(number.whole, separator, group, room),
        None => {
            let mut whole = String::new();
            push_repeated(&mut whole, "0", room.saturating_sub(number.whole.len()), cap)?;
            whole + number.whole
        }
    };
    let digits = format!("{whole}{}", number.rest);
    if spec.align == Some('=') {
        let used = number.sign.len() + number.prefix.len() + digits.len();
        let mut buffer = [0; 4];
        let fill = &*spec.fill.unwrap_or(' ').encode_utf8(&mut buffer);
        push_repeated(out, number.sign, 1, cap)?;
        push_repeated(out, number.prefix, 1, cap)?;
        push_repeated(out, fill, spec.width.saturating_sub(used), cap)?;
        return push_repeated(out, &digits, 1, cap);
    }
    aligned(out, &format!("{}{}{digits}", number.sign, number.prefix), '>', spec, cap)
}

/// Separators from the right; zeros in front until `room` is filled (never a separator first).
fn grouped(digits: &str, separator: char, group: usize, room: usize) -> String {
    let mut out = Vec::with_capacity(digits.len() + digits.len() / group);
    let mut digits = digits.chars().rev();
    let mut written = 0_usize;
    loop {
        let next = digits.next();
        if next.is_none() && out.len() >= room {
            break;
        }
        if written > 0 && written.is_multiple_of(group) {
            out.push(separator);
        }
        out.push(next.unwrap_or('0'));
        written += 1;
    }
    out.iter().rev().collect()
}

fn sign_text(negative: bool, spec: &Spec) -> &'static str {
    match (negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

pub fn push_integer(out: &mut String, value: &Integer, spec: &str, cap: usize) -> Outcome<()> {
    let spec = parse(spec, "int")?;
    match spec.letter {
        None | Some('b' | 'c' | 'd' | 'o' | 'x' | 'X') => {}
        Some('n') => return Err(Fault::unsupported("format code 'n', which asks the locale")),
        Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => {
            return push_parsed_float(out, value.to_f64()?, &spec, cap)
        }
        Some(letter) => return Err(unknown(letter, "int")),
    }
    if spec.precision.is_some() {
        return Err(Fault::value_error("Precision not allowed in integer format specifier"));
    }
    if spec.no_negative_zero {
        return Err(Fault::value_error(
            "Negative zero coercion (z) not allowed in integer format specifier",
        ));
    }
    if spec.letter == Some('c') {
        return push_character(out, value, &spec, cap);
    }
    let (base, prefix) = match spec.letter {
        Some('b') => (2, "0b"),
        Some('o') => (8, "0o"),
        Some('x') => (16, "0x"),
        Some('X') => (16, "0X"),
        _ => (10, ""),
    };
    let mut whole = value.in_base(base);
    if spec.letter == Some('X') {
        whole.make_ascii_uppercase();
    }
    let number = Number {
        sign: sign_text(value.negative, &spec),
        prefix: if spec.alternate { prefix } else { "" },
        whole: &whole,
        rest: "",
    };
    push_number(out, &number, &spec, cap)
}

fn push_character(out: &mut String, value: &Integer, spec: &Spec, cap: usize) -> Outcome<()> {
    if spec.sign.is_some() {
        return Err(Fault::value_error("Sign not allowed with integer format specifier 'c'"));
    }
    if spec.alternate {
        return Err(Fault::value_error(
            "Alternate form (#) not allowed with integer format specifier 'c'",
        ));
    }
    let text = character(value)?;
    aligned(out, text.encode_utf8(&mut [0; 4]), '>', spec, cap)
}

/// `chr`; a lone surrogate has no place in UTF-8.
pub fn character(value: &Integer) -> Outcome<char> {
    let code = value.to_i128().and_then(|code| u32::try_from(code).ok());
    match code {
        Some(code) if (0xD800..0xE000).contains(&code) => {
            Err(Fault::unsupported("a lone surrogate"))
        }
        Some(code) => char::from_u32(code).ok_or_else(beyond_unicode),
        None => Err(beyond_unicode()),
    }
}

fn beyond_unicode() -> Fault {
    Fault::new(Kind::Overflow, "%c arg not in range(0x110000)")
}

pub fn push_float(out: &mut String, value: f64, spec: &str, cap: usize) -> Outcome<()> {
    let spec = parse(spec, "float")?;
    push_parsed_float(out, value, &spec, cap)
}

fn push_parsed_float(out: &mut String, value: f64, spec: &Spec, cap: usize) -> Outcome<()> {
    let style = match spec.letter {
        None => Style::Shortest,
        Some('e' | 'E') => Style::Exponent,
        Some('f' | 'F' | '%') => Style::Fixed,
        Some('g' | 'G') => Style::General,
        Some('n') => return Err(Fault::unsupported("format code 'n', which asks the locale")),
        Some(letter) => return Err(unknown(letter, "float")),
    };
    let value = if spec.letter == Some('%') { value * 100.0 } else { value };
    if spec.precision.is_some_and(|precision| precision > i32::MAX as usize) {
        return Err(Fault::value_error("precision too big"));
    }
    let mut text = match (style, spec.precision) {
        (Style::Shortest, None) => float::format_shortest(value, spec.alternate),
        (Style::Shortest, Some(precision)) => {
            float::format_untyped(value, precision.min(1100), spec.alternate)
        }
        (style, precision) => bounded(value, style, precision.unwrap_or(6), spec.alternate, cap)?,
    };
    if matches!(spec.letter, Some('E' | 'F' | 'G')) {
        text.make_ascii_uppercase();
    }
    let unsigned = text.strip_prefix('-').unwrap_or(&text);
    let zero = unsigned.chars().take_while(|c| !"eE".contains(*c)).all(|c| "0.".contains(c));
    let negative = text.starts_with('-') && !(spec.no_negative_zero && zero);
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (whole, rest) = unsigned.split_at_checked(end).unwrap_or((unsigned, ""));
    let rest = if spec.letter == Some('%') { format!("{rest}%") } else { rest.to_owned() };
    let number = Number { sign: sign_text(negative, spec), prefix: "", whole, rest: &rest };
    push_number(out, &number, spec, cap)
}
