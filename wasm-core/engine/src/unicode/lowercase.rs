//! Lowercase of single characters, without context (a final sigma is a sigma).

use super::tables::LOWERCASE_RUNS;

/// The characters that one becomes: itself, another, or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lowercase {
    pub first: char,
    pub second: Option<char>,
}

#[inline]
pub fn lowercase(c: char) -> Lowercase {
    if c.is_ascii() {
        return Lowercase { first: c.to_ascii_lowercase(), second: None };
    }
    // The only character that becomes two.
    if c == 'İ' {
        return Lowercase { first: 'i', second: Some('\u{307}') };
    }
    Lowercase { first: simple(c), second: None }
}

fn simple(c: char) -> char {
    let code = c as u32;
    let at = LOWERCASE_RUNS.partition_point(|run| run.1 < code);
    match LOWERCASE_RUNS.get(at) {
        Some(&(first, _, step, delta)) if code >= first && (code - first).is_multiple_of(step) => {
            code.checked_add_signed(delta).and_then(char::from_u32).unwrap_or(c)
        }
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowers_without_context() {
        let lower = |c| lowercase(c).first;
        assert_eq!("AÉΣЖǄꙀ𐐀z字ß".chars().map(lower).collect::<String>(), "aéσжǆꙁ𐐨z字ß");
        assert_eq!(lowercase('İ'), Lowercase { first: 'i', second: Some('\u{307}') });
    }

    #[test]
    fn alternating_runs_touch_every_second_only() {
        assert_eq!(lowercase('Ā').first, 'ā');
        assert_eq!(lowercase('ā').first, 'ā');
    }
}
