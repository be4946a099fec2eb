//! Text of a float and back, exactly as Python does it.

use crate::python::fault::{Fault, Outcome};
use crate::python::numbers::integer::is_number_space;
use crate::python::text::classes::decimal;

/// The shortest digits that give the number back.
pub fn repr(value: f64) -> String {
    if !value.is_finite() {
        return special(value).to_owned();
    }
    let text = shortest(value);
    let (digits, exponent) = parts(&text);
    if !(-4..16).contains(&exponent) {
        return exponential(digits, exponent);
    }
    // Of "1.5" one, of "1" none.
    let decimals = digits.trim_start_matches('-').len().saturating_sub(2);
    let after = i32::try_from(decimals).unwrap_or(0) - exponent;
    format!("{value:.*}", usize::try_from(after).unwrap_or(0).max(1))
}

/// As `{:e}`, but of two shortest numbers that are equally near Python takes the even one.
fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    let digits = parts(&text).0.trim_start_matches('-').len();
    let even = format!("{value:.*e}", digits.saturating_sub(2));
    if even.parse() == Ok(value) {
        even
    } else {
        text
    }
}

fn special(value: f64) -> &'static str {
    if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    }
}

/// The mantissa and the exponent of what `{:e}` writes.
fn parts(text: &str) -> (&str, i32) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

/// Python writes a sign and at least two digits.
fn exponential(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// How a float is written: `e`, `f` or `g`, or `r` for the shortest digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Exponent,
    Fixed,
    General,
    Shortest,
}

/// Without a sign for a number that is not negative. `alternate` keeps the point and the zeros.
/// `precision` digits must be few enough to be written out: the caller checks its cap.
pub fn format(value: f64, style: Style, precision: usize, alternate: bool) -> String {
    if !value.is_finite() {
        return special(value).to_owned();
    }
    match style {
        Style::Exponent => {
            let text = format!("{value:.precision$e}");
            let (digits, exponent) = parts(&text);
            exponential(&pointed(digits, alternate), exponent)
        }
        Style::Fixed => pointed(&format!("{value:.precision$}"), alternate),
        Style::General => general(value, precision.max(1), alternate),
        Style::Shortest => repr(value),
    }
}

fn pointed(digits: &str, alternate: bool) -> String {
    let mut text = digits.to_owned();
    if alternate && !text.contains('.') {
        text.push('.');
    }
    text
}

fn general(value: f64, precision: usize, alternate: bool) -> String {
    let last = precision - 1;
    let text = format!("{value:.last$e}");
    let (digits, exponent) = parts(&text);
    let limit = i32::try_from(precision).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit {
        let digits = if alternate { pointed(digits, true) } else { trimmed(digits) };
        return exponential(&digits, exponent);
    }
    let after = usize::try_from(limit.saturating_sub(1).saturating_sub(exponent)).unwrap_or(0);
    let text = format!("{value:.after$}");
    if alternate {
        pointed(&text, true)
    } else {
        trimmed(&text)
    }
}

fn trimmed(digits: &str) -> String {
    if !digits.contains('.') {
        return digits.to_owned();
    }
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `format(x, "")` with a precision but no letter: like `g`, but with a point at the least.
pub fn format_untyped(value: f64, precision: usize, alternate: bool) -> String {
    if !value.is_finite() {
        return special(value).to_owned();
    }
    let precision = precision.max(1);
    let last = precision - 1;
    let text = format!("{value:.last$e}");
    let (digits, exponent) = parts(&text);
    // One digit less than `g` before the exponent is written.
    let limit = i32::try_from(precision).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit.saturating_sub(1).max(if precision == 1 { 0 } else { 1 })
    {
        let digits = if alternate { pointed(digits, true) } else { trimmed(digits) };
        return exponential(&digits, exponent);
    }
    let mut text = general(value, precision, alternate);
    if !text.contains('.') {
        text.push_str(".0");
    } else if text.ends_with('.') {
        text.push('0');
    }
    text
}

/// `float(text)`.
pub fn parse(text: &str) -> Outcome<f64> {
    let failed = || {
        Fault::value_error(format!(
            "could not convert string to float: {}",
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
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    if matches!(unsigned, "inf" | "infinity" | "nan") {
        return plain.parse().map_err(|_| failed());
    }
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | 'e' | '+' | '-');
    if !plain.chars().all(allowed) || !underscores_between_digits(&plain) {
        return Err(failed());
    }
    plain.retain(|c| c != '_');
    plain.parse().map_err(|_| failed())
}

pub(super) fn underscores_between_digits(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    (0..bytes.len())
        .filter(|&at| bytes.get(at) == Some(&b'_'))
        .all(|at| digit(at.checked_sub(1)) && digit(at.checked_add(1)))
}

/// `round(value, places)`: to even on a tie of the exact number.
pub fn round(value: f64, places: i64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let exponent = i64::from(parts(&format!("{value:e}")).1);
    let kept = exponent.saturating_add(1).saturating_add(places);
    if kept > 400 {
        return value;
    }
    match usize::try_from(kept) {
        Ok(0) => {
            // More than half of the first place that is kept, or nothing; on a tie nothing is even.
            let exact = format!("{value:.770e}");
            let digits = parts(&exact).0.trim_start_matches('-');
            if digits > "5." && digits.trim_end_matches('0') != "5." {
                let unit = format!("1e{}", -places).parse::<f64>().unwrap_or(f64::INFINITY);
                unit.copysign(value)
            } else {
                0.0_f64.copysign(value)
            }
        }
        Ok(kept) => {
            let last = kept - 1;
            format!("{value:.last$e}").parse().unwrap_or(value)
        }
        Err(_) => 0.0_f64.copysign(value),
    }
}

/// `format(x, "")`: the shortest digits; with `#` always a point.
pub fn format_shortest(value: f64, alternate: bool) -> String {
    let text = repr(value);
    if !alternate || !value.is_finite() || text.contains('.') {
        return text;
    }
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{digits}.e{exponent}"),
        None => text,
    }
}
