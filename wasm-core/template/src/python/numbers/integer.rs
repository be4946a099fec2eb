//! Whole numbers of any size, as a sign and decimal digits: they are read, printed and written in
//! other bases here; no template calculates with them.

use crate::python::fault::{Fault, Outcome};
use crate::python::text::classes::{decimal, is_space};

/// Python's own bound for numbers as text.
pub const MOST_DIGITS: usize = 4300;

/// A size or a place: nothing below zero, and the largest there is beyond what memory has.
#[must_use]
pub fn at_least_zero(number: i64) -> usize {
    usize::try_from(number.max(0)).unwrap_or(usize::MAX)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integer {
    pub negative: bool,
    /// Without leading zeros; "0" for zero.
    pub digits: String,
}

impl From<i128> for Integer {
    fn from(value: i128) -> Self {
        Self { negative: value < 0, digits: value.unsigned_abs().to_string() }
    }
}

impl From<u128> for Integer {
    fn from(value: u128) -> Self {
        Self { negative: false, digits: value.to_string() }
    }
}

impl std::fmt::Display for Integer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.negative { "-" } else { "" })?;
        f.write_str(&self.digits)
    }
}

impl Integer {
    fn of(negative: bool, digits: &str) -> Self {
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Self { negative: false, digits: "0".to_owned() };
        }
        Self { negative, digits: digits.to_owned() }
    }

    pub fn to_i128(&self) -> Option<i128> {
        self.to_string().parse().ok()
    }

    pub fn to_f64(&self) -> Outcome<f64> {
        match self.to_string().parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => {
                Err(Fault::new(crate::python::Kind::Overflow, "int too large to convert to float"))
            }
        }
    }

    /// The magnitude in a base of at most 36, in small letters.
    pub fn in_base(&self, base: u32) -> String {
        if base == 10 {
            return self.digits.clone();
        }
        if let Ok(value) = self.digits.parse::<u128>() {
            return small_in_base(value, base);
        }
        let mut rest: Vec<u32> = self.digits.chars().filter_map(|c| c.to_digit(10)).collect();
        let mut out = Vec::new();
        while !rest.is_empty() {
            let mut remainder = 0;
            let mut quotient = Vec::with_capacity(rest.len());
            for digit in &rest {
                let value = remainder * 10 + digit;
                if !quotient.is_empty() || value >= base {
                    quotient.push(value / base);
                }
                remainder = value % base;
            }
            out.extend(char::from_digit(remainder, base));
            rest = quotient;
        }
        out.iter().rev().collect()
    }
}

fn small_in_base(mut value: u128, base: u32) -> String {
    let mut out = Vec::new();
    loop {
        let digit = u32::try_from(value % u128::from(base)).unwrap_or(0);
        out.extend(char::from_digit(digit, base));
        value /= u128::from(base);
        if value == 0 {
            break;
        }
    }
    out.iter().rev().collect()
}

/// Around a number the four separators of ASCII are no white space, as they are elsewhere.
pub(super) fn is_number_space(c: char) -> bool {
    is_space(c) && !matches!(c, '\x1c'..='\x1f')
}

/// `int(text, base)`.
pub fn parse(text: &str, base: i64) -> Outcome<Integer> {
    let base = match u32::try_from(base) {
        Ok(base) if base == 0 || (2..=36).contains(&base) => base,
        _ => return Err(Fault::value_error("int() base must be >= 2 and <= 36, or 0")),
    };
    let failed = || {
        Fault::value_error(format!(
            "invalid literal for int() with base {base}: {}",
            crate::python::quoted(text)
        ))
    };
    let mut plain = String::with_capacity(text.len());
    for c in text.trim_matches(is_number_space).chars() {
        match decimal(c) {
            Some(digit) => plain.push(char::from(b'0' + digit)),
            None if c.is_ascii() => plain.push(c.to_ascii_lowercase()),
            None => return Err(failed()),
        }
    }
    let negative = plain.starts_with('-');
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let (base, digits) = prefixed(unsigned, base).ok_or_else(failed)?;
    let mut clean = String::with_capacity(digits.len());
    let mut after_digit = false;
    for c in digits.chars() {
        if c == '_' && after_digit {
            after_digit = false;
        } else if c.is_digit(base) {
            clean.push(c);
            after_digit = true;
        } else {
            return Err(failed());
        }
    }
    if !after_digit {
        return Err(failed());
    }
    if base == 10 {
        if clean.len() > MOST_DIGITS {
            return Err(Fault::value_error(format!(
                "Exceeds the limit ({MOST_DIGITS} digits) for integer string conversion: value \
                 has {} digits; use sys.set_int_max_str_digits() to increase the limit",
                clean.len()
            )));
        }
        return Ok(Integer::of(negative, &clean));
    }
    match u128::from_str_radix(&clean, base) {
        Ok(value) => Ok(Integer::of(negative, &value.to_string())),
        Err(_) => Err(Fault::unsupported("whole numbers beyond 128 bits in another base than 10")),
    }
}

/// The base that a prefix names, and the digits after it; an underscore may follow the prefix.
fn prefixed(text: &str, base: u32) -> Option<(u32, &str)> {
    for (prefix, named) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if base == named || base == 0 {
            if let Some(rest) = text.strip_prefix(prefix) {
                return Some((named, rest.strip_prefix('_').unwrap_or(rest)));
            }
        }
    }
    if base != 0 {
        return Some((base, text));
    }
    // A leading zero without a letter is the old octal, which is refused unless it is zero.
    let old_octal = text.starts_with('0') && text.chars().any(|c| c != '0' && c != '_');
    (!old_octal).then_some((10, text))
}
