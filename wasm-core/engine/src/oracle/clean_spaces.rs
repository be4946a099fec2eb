//! llama.cpp's clean-up of spaces, over a whole text.

pub fn cleaned(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes = without_before(bytes, |byte, _| matches!(byte, b'?' | b'!' | b'.' | b','));
    bytes = without_single_quotes(bytes);
    without_before(bytes, |byte, rest| {
        byte == b'\'' && matches!(rest, [b's' | b'm', ..] | [b'r' | b'v', b'e', ..])
    })
}

/// Removes each space that stands before a byte of which `closes(byte, what follows)`.
fn without_before(bytes: Vec<u8>, closes: impl Fn(u8, &[u8]) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if before == Some(&b' ') && closes(byte, bytes.get(at + 1..).unwrap_or_default()) {
            out.pop();
        }
        out.push(byte);
    }
    out
}

/// Removes the spaces on both sides of a quote that stands between two.
fn without_single_quotes(bytes: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut before = None;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\'' && before == Some(b' ') && bytes.get(at + 1) == Some(&b' ') {
            out.pop();
            out.push(byte);
            // The space behind is gone for what comes next, too.
            before = None;
            at += 2;
            continue;
        }
        out.push(byte);
        before = Some(byte);
        at += 1;
    }
    out
}
