//! Numbers of jinja2: underscores between digits, four bases, and floats that follow no dot.

use super::token::Kind;

/// The number that begins at `at`, and where it ends.
pub fn at(text: &str, at: usize) -> Option<(Kind<'static>, usize)> {
    let bytes = text.as_bytes();
    if !bytes.get(at)?.is_ascii_digit() {
        return None;
    }
    let after_dot = at > 0 && bytes.get(at - 1) == Some(&b'.');
    if !after_dot {
        if let Some(end) = float_end(bytes, at) {
            let digits = text.get(at..end)?.replace('_', "");
            return Some((Kind::Float(digits.parse().ok()?), end));
        }
    }
    let (radix, digits, end) = integer(bytes, at)?;
    let digits = text.get(digits..end)?.replace('_', "");
    let value = u128::from_str_radix(&digits, radix)
        .ok()
        .filter(|&value| value <= i128::MAX.unsigned_abs());
    Some((Kind::Integer(value), end))
}

/// `(\d+_)*\d+`
fn digits(bytes: &[u8], from: usize) -> Option<usize> {
    let end = run(bytes, from, u8::is_ascii_digit);
    (end > from).then(|| grouped(bytes, end, u8::is_ascii_digit))
}

fn run(bytes: &[u8], from: usize, digit: impl Fn(&u8) -> bool) -> usize {
    from + bytes.get(from..).map_or(0, |rest| rest.iter().take_while(|&byte| digit(byte)).count())
}

/// `(_?\d)*`
fn grouped(bytes: &[u8], from: usize, digit: impl Fn(&u8) -> bool + Copy) -> usize {
    let mut end = run(bytes, from, digit);
    while bytes.get(end) == Some(&b'_') {
        let next = run(bytes, end + 1, digit);
        if next == end + 1 {
            break;
        }
        end = next;
    }
    end
}

fn float_end(bytes: &[u8], at: usize) -> Option<usize> {
    let whole = digits(bytes, at)?;
    let fraction = match bytes.get(whole) {
        Some(b'.') => digits(bytes, whole + 1),
        _ => None,
    };
    let mantissa = fraction.unwrap_or(whole);
    exponent_end(bytes, mantissa).or(fraction)
}

fn exponent_end(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return None;
    }
    let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
    digits(bytes, at + 1 + usize::from(signed))
}

/// Base, first digit, end.
fn integer(bytes: &[u8], at: usize) -> Option<(u32, usize, usize)> {
    let prefixed = |radix: u32| {
        let digit = move |byte: &u8| char::from(*byte).is_digit(radix);
        let end = grouped(bytes, at + 2, digit);
        (end > at + 2).then_some((radix, at + 2, end))
    };
    if bytes.get(at) != Some(&b'0') {
        return Some((10, at, grouped(bytes, at, u8::is_ascii_digit)));
    }
    let based = match bytes.get(at + 1) {
        Some(b'b' | b'B') => prefixed(2),
        Some(b'o' | b'O') => prefixed(8),
        Some(b'x' | b'X') => prefixed(16),
        _ => None,
    };
    Some(based.unwrap_or_else(|| (10, at, grouped(bytes, at, |&byte| byte == b'0'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_jinja2s() {
        let read = |text: &str| at(text, 0).unwrap();
        assert_eq!(read("12abc"), (Kind::Integer(Some(12)), 2));
        assert_eq!(read("1_000_"), (Kind::Integer(Some(1000)), 5));
        assert_eq!(read("0777"), (Kind::Integer(Some(0)), 1));
        assert_eq!(read("0x_fF"), (Kind::Integer(Some(255)), 5));
        assert_eq!(read("0b102"), (Kind::Integer(Some(2)), 4));
        assert_eq!(read("0o"), (Kind::Integer(Some(0)), 1));
        assert_eq!(read("1.e5"), (Kind::Integer(Some(1)), 1));
        assert_eq!(read("1.5e"), (Kind::Float(1.5), 3));
        assert_eq!(read("1e5"), (Kind::Float(1e5), 3));
        assert_eq!(read("1_0.2_5E-1_0"), (Kind::Float(10.25e-10), 12));
        assert_eq!(at("x.1.5", 2), Some((Kind::Integer(Some(1)), 3)));
        assert_eq!(read(&"9".repeat(60)), (Kind::Integer(None), 60));
    }
}
