//! String literals: Python's `unicode_escape`, as jinja2 applies it.

/// Why a literal has no value here.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// Python refuses it, too.
    Malformed(&'static str),
    /// Valid in Python.
    Unsupported(&'static str),
}

/// The value of a literal's inside.
///
/// jinja2 writes every character beyond ASCII as an escape before it reads the escapes, so a
/// backslash before such a character escapes the backslash of that escape.
pub fn unescape(inside: &str) -> Result<String, Refused> {
    if !inside.contains('\\') {
        return Ok(inside.to_owned());
    }
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escaped) = rest.next() else {
            return Err(Refused::Malformed("\\ at end of string"));
        };
        match escaped {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(escaped),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            '0'..='7' => out.push(octal(escaped, &mut rest)),
            'x' => out.push(hexadecimal(&mut rest, 2, "truncated \\xXX escape")?),
            'u' => out.push(hexadecimal(&mut rest, 4, "truncated \\uXXXX escape")?),
            'U' => out.push(hexadecimal(&mut rest, 8, "truncated \\UXXXXXXXX escape")?),
            'N' => return Err(Refused::Unsupported("the escape \\N{}")),
            _ if escaped.is_ascii() => {
                out.push('\\');
                out.push(escaped);
            }
            _ => out.push_str(&backslashed(escaped)),
        }
    }
    Ok(out)
}

/// What is left of a character beyond ASCII when its own backslash was taken.
fn backslashed(c: char) -> String {
    let code = u32::from(c);
    match code {
        0..=0xff => format!("\\x{code:02x}"),
        0x100..=0xffff => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    }
}

fn octal(first: char, rest: &mut std::str::Chars<'_>) -> char {
    let mut code = first.to_digit(8).unwrap_or(0);
    for _ in 0..2 {
        let Some(digit) = rest.clone().next().and_then(|c| c.to_digit(8)) else { break };
        code = code * 8 + digit;
        rest.next();
    }
    char::from_u32(code).unwrap_or_default()
}

fn hexadecimal(
    rest: &mut std::str::Chars<'_>,
    digits: usize,
    short: &'static str,
) -> Result<char, Refused> {
    let mut code: u32 = 0;
    for _ in 0..digits {
        let digit = rest.next().and_then(|c| c.to_digit(16)).ok_or(Refused::Malformed(short))?;
        code = code.wrapping_mul(16).wrapping_add(digit);
    }
    match char::from_u32(code) {
        Some(c) => Ok(c),
        None if code <= 0x10_ffff => Err(Refused::Unsupported("the escape of a lone surrogate")),
        None => Err(Refused::Malformed("illegal Unicode character")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_pythons() {
        let value = |inside: &str| unescape(inside).unwrap();
        assert_eq!(
            value(r"\a\b\f\n\r\t\v\\\'\x41\u00e9\U0001F600"),
            "\x07\x08\x0c\n\r\t\x0b\\'Aé😀"
        );
        assert_eq!(value(r"\101\08\777\1234"), "A\0".to_owned() + "8\u{1ff}S4");
        assert_eq!(value("a\\\nb"), "ab");
        assert_eq!(value(r"\/\q"), r"\/\q");
        assert_eq!(value("\\é\\世\\😀"), r"\xe9\u4e16\U0001f600");
        assert_eq!(unescape(r"\x4"), Err(Refused::Malformed("truncated \\xXX escape")));
        assert_eq!(unescape(r"\U00110000"), Err(Refused::Malformed("illegal Unicode character")));
        assert!(matches!(unescape(r"\N{DASH}"), Err(Refused::Unsupported(_))));
        assert!(matches!(unescape(r"\ud83d\ude00"), Err(Refused::Unsupported(_))));
    }
}
