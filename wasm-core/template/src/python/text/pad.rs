//! What fills a text up to a width.

use crate::python::fault::{push_repeated, Fault, Outcome};
use crate::python::numbers::integer::at_least_zero;

/// How many characters are missing.
fn missing(text: &str, width: i64) -> usize {
    at_least_zero(width).saturating_sub(text.chars().count())
}

fn filled(text: &str, fill: &str, left: usize, right: usize, cap: usize) -> Outcome<String> {
    let mut out = String::new();
    push_repeated(&mut out, fill, left, cap)?;
    push_repeated(&mut out, text, 1, cap)?;
    push_repeated(&mut out, fill, right, cap)?;
    Ok(out)
}

/// Python takes one character, no more and no less.
pub fn check_fill(fill: &str) -> Outcome<()> {
    if fill.chars().count() == 1 {
        return Ok(());
    }
    Err(Fault::type_error("The fill character must be exactly one character long"))
}

pub fn center(text: &str, width: i64, fill: &str, cap: usize) -> Outcome<String> {
    check_fill(fill)?;
    let missing = missing(text, width);
    // The odd one goes to the left if the width is odd, too.
    let left = missing / 2 + usize::from(missing % 2 == 1 && width % 2 == 1);
    filled(text, fill, left, missing - left, cap)
}

pub fn ljust(text: &str, width: i64, fill: &str, cap: usize) -> Outcome<String> {
    check_fill(fill)?;
    filled(text, fill, 0, missing(text, width), cap)
}

pub fn rjust(text: &str, width: i64, fill: &str, cap: usize) -> Outcome<String> {
    check_fill(fill)?;
    filled(text, fill, missing(text, width), 0, cap)
}

pub fn zfill(text: &str, width: i64, cap: usize) -> Outcome<String> {
    let missing = missing(text, width);
    let mut out = String::new();
    let mut rest = text;
    if let Some(sign) = text.chars().next().filter(|sign| "+-".contains(*sign)) {
        out.push(sign);
        rest = text.get(1..).unwrap_or("");
    }
    push_repeated(&mut out, "0", missing, cap)?;
    push_repeated(&mut out, rest, 1, cap)?;
    Ok(out)
}

pub fn expandtabs(text: &str, size: i64, cap: usize) -> Outcome<String> {
    let size = at_least_zero(size);
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        if c == '\t' {
            if let Some(used) = usize::checked_rem(column, size) {
                push_repeated(&mut out, " ", size - used, cap)?;
                column += size - used;
            }
            continue;
        }
        column = if c == '\n' || c == '\r' { 0 } else { column + 1 };
        if out.len() + c.len_utf8() > cap {
            return Err(Fault::too_long(cap));
        }
        out.push(c);
    }
    Ok(out)
}
