//! The fields of a large JSON object, found by quotes and brackets alone.
//!
//! The caller has to parse every value that it is given: only then is known that it was JSON. The
//! point is not to walk through tens of megabytes, byte by byte, only to see where they end.

use crate::simd::block::{Block, WIDTH};

/// Key (as it is written) and value of each field. `None` where it is not that simple: then the
/// careful parser has to say what is wrong, if anything.
pub fn fields(object: &str) -> Option<Vec<(&str, &str)>> {
    let bytes = object.as_bytes();
    let mut fields = Vec::new();
    let mut at = after_space(bytes, 0);
    if *bytes.get(at)? != b'{' {
        return None;
    }
    at = after_space(bytes, at + 1);
    if *bytes.get(at)? == b'}' {
        return ends_at(bytes, at + 1).then_some(fields);
    }
    loop {
        let end_of_key = end_of_string(bytes, at)?;
        let key = object.get(at + 1..end_of_key - 1)?;
        if key.contains('\\') {
            return None;
        }
        at = after_space(bytes, end_of_key);
        if *bytes.get(at)? != b':' {
            return None;
        }
        at = after_space(bytes, at + 1);
        let end = end_of_value(bytes, at)?;
        fields.push((key, object.get(at..end)?));
        at = after_space(bytes, end);
        match *bytes.get(at)? {
            b',' => at = after_space(bytes, at + 1),
            b'}' => return ends_at(bytes, at + 1).then_some(fields),
            _ => return None,
        }
    }
}

/// The fields as an object again.
pub fn joined<'a>(fields: impl Iterator<Item = &'a (&'a str, &'a str)>) -> String {
    let parts: Vec<String> = fields.map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", parts.join(","))
}

fn after_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    from + space
}

fn ends_at(bytes: &[u8], end: usize) -> bool {
    after_space(bytes, end) == bytes.len()
}

/// Behind the closing quote.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    if *bytes.get(start)? != b'"' {
        return None;
    }
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

fn end_of_value(bytes: &[u8], start: usize) -> Option<usize> {
    match *bytes.get(start)? {
        b'"' => end_of_string(bytes, start),
        b'{' | b'[' => end_of_brackets(bytes, start),
        _ => {
            let rest = bytes.get(start..)?;
            let ends =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            rest.iter().position(ends).filter(|&len| len > 0).map(|len| start + len)
        }
    }
}

/// Behind the bracket that closes the one at `start`. That each closes one of its own kind is left
/// to the parser.
fn end_of_brackets(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let (mut inside, mut escaped) = (0u64, 0u64);
    let mut at = start;
    while at < bytes.len() {
        let rest = bytes.get(at..)?;
        let block = match rest.first_chunk::<WIDTH>() {
            Some(window) => Block::load(window),
            None => {
                let mut padded = [b' '; WIDTH];
                padded.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
                Block::load(&padded)
            }
        };
        let backslashes = block.in_range(0, b'\\', b'\\');
        let skipped;
        (skipped, escaped) = escapes(backslashes, escaped);
        let quotes = block.in_range(0, b'"', b'"') & !skipped;
        let within = up_to_each(quotes) ^ inside;
        // What the last bit says holds for what follows.
        inside = ((within as i64) >> 63) as u64;
        // `[` and `{` differ in one bit, and so do `]` and `}`.
        let opening = block.in_range(0x20, b'{', b'{') & !within;
        let closing = block.in_range(0x20, b'}', b'}') & !within;
        if (closing.count_ones() as usize) < depth {
            depth = depth + opening.count_ones() as usize - closing.count_ones() as usize;
        } else {
            let mut brackets = opening | closing;
            while brackets != 0 {
                let bit = brackets & brackets.wrapping_neg();
                brackets ^= bit;
                depth = if opening & bit != 0 { depth + 1 } else { depth.checked_sub(1)? };
                if depth == 0 {
                    return Some(at + bit.trailing_zeros() as usize + 1);
                }
            }
        }
        at += WIDTH;
    }
    None
}

/// The bytes that a backslash takes their meaning from, and the same (as bit 0) of the next block.
fn escapes(mut backslashes: u64, first: u64) -> (u64, u64) {
    let (mut escaped, mut next) = (first, 0);
    backslashes &= !first;
    while backslashes != 0 {
        let bit = backslashes & backslashes.wrapping_neg();
        let behind = bit << 1;
        escaped |= behind;
        next = bit >> 63;
        backslashes &= !(bit | behind);
    }
    (escaped, next)
}

/// Each bit says whether the number of bits up to it, and with it, is odd.
fn up_to_each(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use serde_json::value::RawValue;
    use serde_json::{Map, Value};

    /// The careful way: serde's.
    fn carefully(text: &str) -> Option<Vec<(String, Value)>> {
        let map: Map<String, Value> = serde_json::from_str(text).ok()?;
        Some(map.into_iter().collect())
    }

    fn check(text: &str) -> bool {
        let Some(found) = fields(text) else { return false };
        let mut values = Vec::new();
        for (key, value) in &found {
            // What is found counts only once it was parsed.
            let Ok(value) = serde_json::from_str::<&RawValue>(value) else { return false };
            let Ok(key) = serde_json::from_str::<String>(&format!("\"{key}\"")) else {
                return false;
            };
            values.push((key, serde_json::from_str::<Value>(value.get()).ok()));
        }
        let expected = carefully(text).expect(text);
        for (key, value) in &expected {
            let last = values.iter().rev().find(|(name, _)| name == key);
            assert_eq!(last.and_then(|(_, value)| value.as_ref()), Some(value), "{text}");
        }
        true
    }

    #[test]
    fn plain_objects_are_taken_apart() {
        assert_eq!(fields("{}"), Some(vec![]));
        assert_eq!(fields(" { } \n"), Some(vec![]));
        assert_eq!(
            fields(" {\"a\" : [1, {\"}\": \"\\\"]\"}] ,\"b\":\"x\\\\\",\"c\":-1e3 }\n"),
            Some(vec![("a", "[1, {\"}\": \"\\\"]\"}]"), ("b", "\"x\\\\\""), ("c", "-1e3")])
        );
        for wrong in ["", "[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1}x", "{\"a\":[1}"]
        {
            assert_eq!(fields(wrong), None, "{wrong}");
        }
        assert_eq!(fields("{\"a\\n\": 1}"), None);
    }

    #[test]
    fn what_is_found_is_what_the_parser_finds() {
        let mut random = Random::new(77);
        let parts = [
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            ",",
            ":",
            " ",
            "\n",
            "a",
            "1",
            "\"k\":",
            "\"v\"",
            "null",
            "\\\"",
            "\\\\",
            "ä",
            "[[1,2],[]]",
            "{\"a\":\"b\"}",
            "                               ",
        ];
        let (mut good, mut texts) = (0, Vec::new());
        for _ in 0..20_000 {
            let mut text = String::from("{");
            for _ in 0..random.below(5) {
                let mut value = String::new();
                for _ in 0..random.below(12) {
                    let part: &&str = random.pick(&parts);
                    value.push_str(part);
                }
                let value = match random.below(3) {
                    0 => value,
                    1 => serde_json::to_string(&value).unwrap(),
                    _ => format!("[{},{{}}]", serde_json::to_string(&value).unwrap()),
                };
                let comma = if text.len() > 1 { "," } else { "" };
                text.push_str(&format!("{comma}\"k{}\":{value}", random.below(3)));
            }
            text.push('}');
            good += usize::from(check(&text));
            texts.push(text);
        }
        assert!(good > 3_000, "{good}");
        // Most that serde takes is taken here, too.
        let missed = texts.iter().filter(|text| fields(text).is_none());
        assert!(missed.filter(|text| carefully(text).is_some()).count() < 100);
    }

    #[test]
    fn strings_may_end_anywhere_in_a_block() {
        for len in 0..200 {
            for backslashes in 0..5 {
                let text = format!(
                    "{{\"a\":[\"{}{}\",\"]\"],\"b\":2}}",
                    "x".repeat(len),
                    "\\\\".repeat(backslashes)
                );
                assert!(check(&text), "{text}");
            }
        }
    }
}
