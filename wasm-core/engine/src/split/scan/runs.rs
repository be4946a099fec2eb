//! Runs of one kind of ASCII byte, eight bytes at a time.
//!
//! A machine word and not a vector register: most words of a text are shorter than either, and
//! in WebAssembly sixteen bytes at a time were measured to be no faster.

const WIDTH: usize = 8;
const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of each byte answers for that byte.
const HIGH: u64 = 0x80 * ONES;

/// How many of the eight bytes at `at` are ASCII and, after `| fold`, in `first..=last`, up to the
/// first that is not; `None`: there are no eight bytes.
#[inline(always)]
fn leading(text: &[u8], at: usize, fold: u8, first: u8, last: u8) -> Option<usize> {
    let word = u64::from_le_bytes(*text.get(at..)?.first_chunk()?);
    let folded = (word | (u64::from(fold) * ONES)) & !HIGH;
    let from_first = folded + u64::from(0x80 - first) * ONES;
    let behind_last = folded + u64::from(0x7F - last) * ONES;
    let outside = (!from_first | behind_last | word) & HIGH;
    Some(outside.trailing_zeros() as usize / 8)
}

#[inline(always)]
fn run_end(text: &[u8], mut at: usize, fold: u8, first: u8, last: u8) -> usize {
    while let Some(run) = leading(text, at, fold, first, last) {
        at += run;
        if run < WIDTH {
            return at;
        }
    }
    while text.get(at).is_some_and(|byte| (first..=last).contains(&(byte | fold))) {
        at += 1;
    }
    at
}

/// The end of the run of ASCII letters that `at` may stand in.
#[inline(always)]
pub fn ascii_letters(text: &[u8], at: usize) -> usize {
    run_end(text, at, 0x20, b'a', b'z')
}

#[inline(always)]
pub fn ascii_lowercase(text: &[u8], at: usize) -> usize {
    run_end(text, at, 0, b'a', b'z')
}

#[inline(always)]
pub fn spaces(text: &[u8], at: usize) -> usize {
    run_end(text, at, 0, b' ', b' ')
}

#[inline(always)]
pub fn line_feeds(text: &[u8], at: usize) -> usize {
    run_end(text, at, 0, b'\n', b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place of a run, against the obvious loop.
    #[test]
    fn runs_end_where_a_byte_by_byte_loop_ends_them() {
        let obvious = |text: &[u8], at: usize, is: fn(&u8) -> bool| {
            at + text.iter().skip(at).take_while(|byte| is(byte)).count()
        };
        for length in 0..40 {
            for place in 0..length {
                for byte in 0..=255 {
                    let mut text = vec![b'q'; length];
                    text[place] = byte;
                    for at in [0, place / 2, place] {
                        let is: fn(&u8) -> bool = u8::is_ascii_alphabetic;
                        assert_eq!(ascii_letters(&text, at), obvious(&text, at, is));
                        let is: fn(&u8) -> bool = u8::is_ascii_lowercase;
                        assert_eq!(ascii_lowercase(&text, at), obvious(&text, at, is));
                    }
                    text.iter_mut().filter(|byte| **byte == b'q').for_each(|byte| *byte = b' ');
                    assert_eq!(spaces(&text, 0), obvious(&text, 0, |byte| *byte == b' '));
                    text.iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b'\n');
                    assert_eq!(line_feeds(&text, 0), obvious(&text, 0, |byte| *byte == b'\n'));
                }
            }
        }
    }
}
