//! Mutations that know nothing of a format, and some that know a little: numbers and lines.

use crate::random::Random;

/// Numbers at which code that counts goes wrong.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    7,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    1 << 32,
    i64::MAX as u64,
    u64::MAX,
];

pub fn number(random: &mut Random) -> u64 {
    let base = *random.pick(&NUMBERS);
    match random.below(4) {
        0 => base.wrapping_sub(1),
        1 => random.below(1 << 12) as u64,
        _ => base,
    }
}

/// A random range within `length` bytes, at most `most` long.
fn stretch(random: &mut Random, length: usize, most: usize) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    let end = (start + random.below(most + 1)).min(length);
    start..end
}

/// Changes bytes without asking what they mean.
pub fn bytes(random: &mut Random, file: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let length = file.len();
    if length == 0 {
        let seed: &Vec<u8> = random.pick(seeds);
        file.extend_from_slice(seed);
        return;
    }
    let at = random.below(length);
    match random.below(9) {
        0 => set(file, at, |byte| byte ^ 1 << (at % 8)),
        1 => {
            let byte = *random.pick(&[0, 0xFF, 0x80, 0x7F, b' ', b'\n', b'"', b'0', b'-']);
            set(file, at, |_| byte);
        }
        2 => {
            let range = stretch(random, length, 16);
            file.drain(range);
        }
        3 => {
            let range = stretch(random, length, 64);
            let copy = file.get(range).unwrap_or_default().to_vec();
            file.splice(at..at, copy);
        }
        4 => file.truncate(at),
        5 => {
            let other = random.pick(seeds);
            let range = stretch(random, other.len(), 256);
            let part = other.get(range).unwrap_or_default().to_vec();
            file.splice(at..at, part);
        }
        6 => file.insert(at, random.below(256) as u8),
        7 => {
            let (from, to) = (stretch(random, length, 32), random.below(length));
            let part: Vec<u8> = file.drain(from).collect();
            let to = to.min(file.len());
            file.splice(to..to, part);
        }
        _ => set(file, at, |byte| byte.wrapping_add(1)),
    }
}

fn set(file: &mut [u8], at: usize, change: impl FnOnce(u8) -> u8) {
    if let Some(byte) = file.get_mut(at) {
        *byte = change(*byte);
    }
}

/// Overwrites a place with a number as binary formats have them: little-endian or a varint.
pub fn binary_number(random: &mut Random, file: &mut Vec<u8>) {
    let at = random.below(file.len() + 1);
    let value = number(random);
    let written = match random.below(4) {
        0 => value.to_le_bytes()[..4].to_vec(),
        1 => value.to_le_bytes().to_vec(),
        2 => varint(value),
        _ => f32::from_bits(value as u32).to_le_bytes().to_vec(),
    };
    let end = match random.below(3) {
        0 => at,
        _ => (at + written.len()).min(file.len()),
    };
    file.splice(at..end, written);
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A length of a nested record is made longer or shorter together with what it counts.
pub fn binary_record(random: &mut Random, file: &mut Vec<u8>) {
    // A tag, a small length, and so many bytes: records of strings look like this in every format.
    let candidates: Vec<usize> = (0..file.len().saturating_sub(2))
        .filter(|&at| {
            file.get(at + 1)
                .is_some_and(|&n| n > 0 && n < 0x40 && at + 2 + usize::from(n) <= file.len())
        })
        .collect();
    if candidates.is_empty() {
        return;
    }
    let at = *random.pick(&candidates);
    let length = usize::from(file.get(at + 1).copied().unwrap_or_default());
    let record: Vec<u8> = file.get(at..at + 2 + length).unwrap_or_default().to_vec();
    match random.below(3) {
        0 => {
            file.drain(at..at + record.len());
        }
        1 => {
            file.splice(at..at, record);
        }
        _ => {
            let keep = random.below(length);
            file.drain(at + 2 + keep..at + 2 + length);
            set(file, at + 1, |_| keep as u8);
        }
    }
}

/// Lines are dropped, doubled, swapped; a field of one is taken from another, or is a number.
pub fn lines(random: &mut Random, file: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = file.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(6) {
        0 => {
            lines.remove(one);
        }
        1 => {
            let copy = lines.get(other).cloned().unwrap_or_default();
            lines.insert(one, copy);
        }
        2 => lines.swap(one, other),
        3 => {
            let donor = lines.get(other).cloned().unwrap_or_default();
            if let Some(line) = lines.get_mut(one) {
                let mut fields: Vec<Vec<u8>> =
                    line.split(|&b| b == b' ').map(<[u8]>::to_vec).collect();
                let theirs: Vec<&[u8]> = donor.split(|&b| b == b' ').collect();
                let at = random.below(fields.len());
                if let (Some(field), Some(theirs)) = (fields.get_mut(at), theirs.get(at)) {
                    *field = theirs.to_vec();
                }
                *line = fields.join(&b' ');
            }
        }
        4 => {
            let value = number(random).to_string().into_bytes();
            if let Some(line) = lines.get_mut(one) {
                let start = match random.below(2) {
                    0 => 0,
                    _ => line.iter().rposition(|&b| b == b' ').map_or(0, |at| at + 1),
                };
                line.splice(start.., value);
            }
        }
        _ => {
            if let Some(line) = lines.get_mut(one) {
                line.push(b'\r');
            }
        }
    }
    *file = lines.join(&b'\n');
}
