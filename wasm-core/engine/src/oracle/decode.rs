//! Decoding as the reference describes it: each decoder turns the whole list of tokens into
//! another list, and the last list is joined.

use crate::decode::CompileRegex;
use crate::definition::{Decoder, Pattern, PrependScheme, SentencePieceDecoder};
use crate::error::{Error, Result};

pub fn decode(
    chain: &Option<Vec<Decoder>>,
    tokens: &[&str],
    compile_regex: &CompileRegex<'_>,
) -> Result<String> {
    let Some(chain) = chain else {
        return Ok(tokens.join(" "));
    };
    let mut list: Vec<String> = tokens.iter().map(|token| token.to_string()).collect();
    for decoder in chain {
        list = step(decoder, list, compile_regex)?;
    }
    Ok(list.concat())
}

fn step(
    decoder: &Decoder,
    list: Vec<String>,
    compile_regex: &CompileRegex<'_>,
) -> Result<Vec<String>> {
    Ok(match decoder {
        Decoder::ByteLevel => {
            let bytes: Vec<u8> = list.iter().flat_map(|token| byte_level(token)).collect();
            vec![String::from_utf8_lossy(&bytes).into_owned()]
        }
        Decoder::ByteFallback => byte_fallback(&list),
        // It goes by ids, which are gone here.
        Decoder::TokenBytes(_) => return Err(Error::internal("a table of bytes stands alone")),
        Decoder::Fuse => vec![list.concat()],
        &Decoder::Strip { content, start, stop } => {
            list.iter().map(|token| strip(token, content, start, stop)).collect()
        }
        Decoder::Replace { pattern, content } => list
            .iter()
            .map(|token| replace(token, pattern, content, compile_regex))
            .collect::<Result<_>>()?,
        &Decoder::Metaspace { replacement, prepend } => {
            let each = |(index, token): (usize, &String)| {
                let first = index == 0 && prepend != PrependScheme::Never;
                token.replace(replacement, if first { "" } else { " " })
            };
            list.iter().enumerate().map(each).collect()
        }
        Decoder::Bpe { suffix } => {
            let each = |(index, token): (usize, &String)| {
                token.replace(suffix.as_str(), if index + 1 == list.len() { "" } else { " " })
            };
            list.iter().enumerate().map(each).collect()
        }
        Decoder::WordPiece { prefix, cleanup } => list
            .iter()
            .enumerate()
            .map(|(index, token)| word_piece(index, token, prefix, *cleanup))
            .collect(),
        Decoder::Ctc { pad_token, word_delimiter_token, cleanup } => {
            let mut kept = list;
            kept.dedup();
            for token in &mut kept {
                *token = token.replace(pad_token.as_str(), "");
                if *cleanup {
                    *token = cleaned(token).replace(word_delimiter_token.as_str(), " ");
                }
            }
            kept.retain(|token| !token.is_empty());
            kept
        }
        Decoder::SentencePiece(definition) => vec![pieces(&list, definition)?],
    })
}

fn byte_level(token: &str) -> Vec<u8> {
    let printable = |byte: &u8| !matches!(*byte, 0..=0x20 | 0x7F..=0xA0 | 0xAD);
    let byte_of = |c: char| {
        if let Some(byte) = u8::try_from(c).ok().filter(printable) {
            return Some(byte);
        }
        let number = (c as usize).checked_sub(0x100)?;
        (0..=255).filter(|byte| !printable(byte)).nth(number)
    };
    let bytes: Option<Vec<u8>> = token.chars().map(byte_of).collect();
    bytes.unwrap_or_else(|| token.as_bytes().to_vec())
}

fn byte_fallback(list: &[String]) -> Vec<String> {
    let byte_of = |token: &String| {
        let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
        let digits = if digits.len() == 2 { digits } else { return None };
        u8::from_str_radix(digits, 16).ok()
    };
    let mut out = Vec::new();
    for run in list.chunk_by(|a, b| byte_of(a).is_some() && byte_of(b).is_some()) {
        match run.iter().map(byte_of).collect::<Option<Vec<u8>>>().map(String::from_utf8) {
            Some(Ok(text)) => out.push(text),
            Some(Err(_)) => out.extend(run.iter().map(|_| "\u{FFFD}".to_owned())),
            None => out.extend(run.iter().cloned()),
        }
    }
    out
}

fn strip(token: &str, content: char, start: usize, stop: usize) -> String {
    let chars: Vec<char> = token.chars().collect();
    let same = |c: &&char| **c == content;
    let leading = chars.iter().take_while(same).count().min(start);
    let trailing = chars.iter().rev().take_while(same).count().min(stop);
    chars.get(leading..chars.len() - trailing).unwrap_or_default().iter().collect()
}

fn replace(
    token: &str,
    pattern: &Pattern,
    content: &str,
    compile_regex: &CompileRegex<'_>,
) -> Result<String> {
    if token.is_empty() {
        return Ok(String::new());
    }
    match pattern {
        Pattern::Literal(literal) => Ok(token.replace(literal.as_str(), content)),
        Pattern::Regex(regex) => {
            let mut text = token.to_owned();
            for found in compile_regex(regex)?.find_all(token)?.into_iter().rev() {
                text.replace_range(found, content);
            }
            Ok(text)
        }
    }
}

/// Piece by piece over what was decoded so far, as SentencePiece does it.
fn pieces(list: &[String], decoder: &SentencePieceDecoder) -> Result<String> {
    let byte_of = |token: &str| {
        (0..=255u8).find(|byte| decoder.byte_fallback && token == format!("<0x{byte:02X}>"))
    };
    let (mut text, mut seen_first, mut at_start) = (String::new(), false, true);
    let is_run = |a: &String, b: &String| byte_of(a).is_some() && byte_of(b).is_some();
    for run in list.chunk_by(is_run) {
        let bytes: Vec<u8> = run.iter().filter_map(|token| byte_of(token)).collect();
        if !bytes.is_empty() {
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let whole = (1..=4).find_map(|n| std::str::from_utf8(rest.get(..n)?).ok());
                text.push_str(whole.unwrap_or("\u{FFFD}"));
                rest = rest.get(whole.map_or(1, str::len)..).unwrap_or_default();
            }
            continue;
        }
        for token in run {
            if seen_first || !text.is_empty() {
                at_start = false;
            }
            seen_first = false;
            if decoder.control.contains(token) {
                continue;
            }
            if *token == decoder.unk {
                text.push_str(&decoder.unk_surface);
                continue;
            }
            let mut rest = token.as_str();
            if at_start && decoder.strip_dummy_prefix {
                if let Some(stripped) = rest.strip_prefix('\u{2581}') {
                    (rest, seen_first) = (stripped, !decoder.strip_each);
                }
            }
            text.push_str(&rest.replace('\u{2581}', " "));
        }
    }
    match &decoder.denormalizer {
        Some(definition) => crate::normalize::SentencePiece::new(definition)?.normalize(&text),
        None => Ok(text),
    }
}

fn word_piece(index: usize, token: &str, prefix: &str, cleanup: bool) -> String {
    let text = match token.strip_prefix(prefix) {
        _ if index == 0 => token.to_owned(),
        Some(rest) => rest.to_owned(),
        None => format!(" {token}"),
    };
    if cleanup {
        cleaned(&text)
    } else {
        text
    }
}

fn cleaned(text: &str) -> String {
    text.replace(" .", ".")
        .replace(" ?", "?")
        .replace(" !", "!")
        .replace(" ,", ",")
        .replace(" ' ", "'")
        .replace(" n't", "n't")
        .replace(" 'm", "'m")
        .replace(" do not", " don't")
        .replace(" 's", "'s")
        .replace(" 've", "'ve")
        .replace(" 're", "'re")
}
