//! Files of lines: rank files, RWKV's vocabulary, merges.

use super::{Format, Verdict};
use crate::split::byte_level::byte_of_char;

/// So many lines tell what the others are like.
const ENOUGH: usize = 50;

/// `is_cut`: the last line of `text` may not be whole.
pub fn detect(text: &[u8], is_cut: bool) -> Option<Verdict> {
    if text.starts_with(b"#version") {
        return Some(Verdict::new(Format::Merges, "starts with the line `#version`"));
    }
    let whole = |line: &&[u8]| !is_cut || line.ends_with(b"\n");
    let lines: Vec<&[u8]> = text
        .split_inclusive(|&byte| byte == b'\n')
        .filter(whole)
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .take(ENOUGH)
        .collect();
    // One bad line among many is the reader's to complain about, with its place.
    let mostly = |is_good: fn(&[u8]) -> bool| {
        let good = lines.iter().filter(|line| is_good(line)).count();
        good > 0 && good * 10 >= lines.len() * 9
    };
    if mostly(is_rank_line) {
        return Some(Verdict::new(Format::Tiktoken, "its lines are pairs of base64 and a rank"));
    }
    if mostly(is_rwkv_line) {
        return Some(Verdict::new(
            Format::Rwkv,
            "its lines are an id, a Python literal and a length",
        ));
    }
    // Not all of them have the first line; a space that is spelled is seen nowhere else.
    let spells = lines.iter().any(|line| memchr::memmem::find(line, "Ġ".as_bytes()).is_some());
    if spells && mostly(is_merge_line) {
        return Some(Verdict::new(Format::Merges, "its lines are pairs of tokens"));
    }
    None
}

/// Two words in the byte alphabet.
fn is_merge_line(line: &[u8]) -> bool {
    let is_token =
        |token: &str| !token.is_empty() && token.chars().all(|c| byte_of_char(c).is_some());
    let line = std::str::from_utf8(line).unwrap_or_default();
    line.split_once(' ').is_some_and(|(left, right)| is_token(left) && is_token(right))
}

/// `base64 rank`, or `= rank`, which a published file has.
fn is_rank_line(line: &[u8]) -> bool {
    let mut fields = line.split(|&byte| byte == b' ');
    let (Some(token), Some(rank), None) = (fields.next(), fields.next(), fields.next()) else {
        return false;
    };
    let letters = token.iter().take_while(|&&b| is_base64(b)).count();
    let padding = token.len() - letters;
    let is_padded = token.iter().skip(letters).all(|&b| b == b'=') && padding <= 2;
    let is_token = is_padded && (letters > 0 || padding == 1);
    is_token && !rank.is_empty() && rank.iter().all(u8::is_ascii_digit)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// `1 'literal' 1`, or `1 b'literal' 1`.
fn is_rwkv_line(line: &[u8]) -> bool {
    let id = line.iter().take_while(|b| b.is_ascii_digit()).count();
    let length = line.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let Some(literal) = line.get(id..line.len() - length.min(line.len() - id)) else {
        return false;
    };
    let literal = literal.strip_prefix(b" ").and_then(|rest| rest.strip_suffix(b" "));
    let Some(literal) = literal else { return false };
    let literal = literal.strip_prefix(b"b").unwrap_or(literal);
    match (literal.first(), literal.last()) {
        (Some(open @ (b'\'' | b'"')), Some(close)) => {
            id > 0 && length > 0 && literal.len() > 1 && open == close
        }
        _ => false,
    }
}
