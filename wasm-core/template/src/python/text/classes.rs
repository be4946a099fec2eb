//! What kind of character, and the `is…` methods of `str`.

use crate::python::text::tables as t;

fn flags(c: char) -> u16 {
    let run = t::STARTS.partition_point(|&start| start <= c as u32);
    run.checked_sub(1).and_then(|run| t::FLAGS.get(run)).copied().unwrap_or(0)
}

fn is(c: char, wanted: u16) -> bool {
    flags(c) & wanted != 0
}

pub fn is_space(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, '\t'..='\r' | '\x1c'..='\x1f' | ' ');
    }
    is(c, t::SPACE)
}

pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    is(c, t::PRINTABLE)
}

pub fn is_upper(c: char) -> bool {
    is(c, t::UPPER)
}

pub fn is_lower(c: char) -> bool {
    is(c, t::LOWER)
}

pub fn is_cased(c: char) -> bool {
    is(c, t::CASED)
}

pub fn is_case_ignorable(c: char) -> bool {
    is(c, t::CASE_IGNORABLE)
}

pub fn is_alphanumeric(c: char) -> bool {
    is(c, t::ALPHA | t::DECIMAL | t::DIGIT | t::NUMERIC)
}

/// `\w` of a regular expression.
pub fn is_word(c: char) -> bool {
    c == '_' || is_alphanumeric(c)
}

/// `[^\d\W]` of a regular expression.
pub fn is_word_no_digit(c: char) -> bool {
    is_word(c) && !is(c, t::DECIMAL)
}

/// 0 to 9 for the decimal digits of every script.
pub fn decimal(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.to_digit(10).and_then(|digit| u8::try_from(digit).ok());
    }
    let after = t::ZEROS.partition_point(|&zero| zero <= c as u32);
    let zero = after.checked_sub(1).and_then(|run| t::ZEROS.get(run))?;
    u8::try_from((c as u32).checked_sub(*zero)?).ok().filter(|&digit| digit < 10)
}

fn all(text: &str, wanted: u16) -> bool {
    !text.is_empty() && text.chars().all(|c| is(c, wanted))
}

pub fn isalpha(text: &str) -> bool {
    all(text, t::ALPHA)
}

pub fn isalnum(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_alphanumeric)
}

pub fn isdecimal(text: &str) -> bool {
    all(text, t::DECIMAL)
}

pub fn isdigit(text: &str) -> bool {
    all(text, t::DIGIT)
}

pub fn isnumeric(text: &str) -> bool {
    all(text, t::NUMERIC)
}

pub fn isspace(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_space)
}

pub fn isprintable(text: &str) -> bool {
    text.chars().all(is_printable)
}

pub fn isidentifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| is(c, t::IDENTIFIER_START)) && chars.all(|c| is(c, t::IDENTIFIER))
}

/// At least one cased character, and none but lower ones.
pub fn islower(text: &str) -> bool {
    !text.chars().any(|c| is(c, t::UPPER | t::TITLE)) && text.chars().any(is_lower)
}

pub fn isupper(text: &str) -> bool {
    !text.chars().any(|c| is(c, t::LOWER | t::TITLE)) && text.chars().any(is_upper)
}

pub fn istitle(text: &str) -> bool {
    let (mut after_cased, mut found) = (false, false);
    for c in text.chars() {
        if is(c, t::UPPER | t::TITLE) {
            if after_cased {
                return false;
            }
            (after_cased, found) = (true, true);
        } else if is_lower(c) {
            if !after_cased {
                return false;
            }
            found = true;
        } else {
            after_cased = false;
        }
    }
    found
}
