//! A vocab.json and a merges.txt, which are one tokenizer in two files.
//!
//! They hold a byte-pair model and nothing else. It is read as `ByteLevelBPETokenizer` of
//! HuggingFace's library reads the two: a byte-level model with GPT-2's pattern, no normalizer and
//! no added tokens. A caller who knows better names the `encoding`, or passes the `pattern` (in
//! the words of a tokenizer.json) and the `special_tokens`.

use crate::definition::{
    Bpe, Decoder, Definition, Merge, Model, Pattern, PreTokenizer, SplitBehavior,
};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::detect::{detect, Format};
use crate::formats::limits::Limits;
use crate::formats::options::Options;
use crate::formats::{ranks, tiktoken, tokenizer_json};
use crate::vocab::Vocab;
use std::collections::HashSet;

/// A part: its name and its bytes.
type Part<'a> = (&'a str, &'a [u8]);

pub fn read(parts: &[Part], options: &Options) -> Result<Definition> {
    let (vocab_part, merges_part) = tell_apart(parts)?;
    let in_part = |name: &str| {
        let name = name.to_owned();
        move |mut error: Error| {
            error.message = format!("{name}: {}", error.message);
            error
        }
    };
    let vocab = vocab(vocab_part.1, options).map_err(in_part(vocab_part.0))?;
    let merges = merges(merges_part.1, &vocab, &options.limits).map_err(in_part(merges_part.0))?;
    let known = options.encoding.as_deref().map(tiktoken::encoding).transpose()?;
    let pre_tokenizer = match (&options.pattern, known) {
        (Some(pattern), _) => vec![split(pattern.clone()), byte_level(false)],
        (None, Some(known)) => {
            let made: HashSet<u32> = merges.iter().map(|merge| merge.product).collect();
            let made = |text: &str| vocab.id(text).is_some_and(|id| made.contains(&id));
            let cut = tiktoken::cut(known.pattern, &vocab, made)?;
            vec![cut.step(), byte_level(false)]
        }
        (None, None) => vec![byte_level(true)],
    };
    let specials: Vec<(String, u32)> = match (&options.special_tokens, known) {
        (Some(specials), _) => specials.iter().map(|(name, &id)| (name.clone(), id)).collect(),
        (None, Some(known)) => tiktoken::special_tokens(known)?,
        (None, None) => Vec::new(),
    };
    for (name, id) in &specials {
        let differs = vocab.text(*id).is_some_and(|text| text != name)
            || vocab.id(name).is_some_and(|other| other != *id);
        if differs || name.is_empty() {
            return Err(Error::new(
                ErrorKind::BadArgument,
                format!("the special token {name:?} with the id {id} contradicts the vocabulary"),
            ));
        }
    }
    let notes = match options.pattern.is_none() && known.is_none() {
        true => vec!["no pattern was given: GPT-2's is used, as HuggingFace's library does".into()],
        false => Vec::new(),
    };
    let model = Model::Bpe(Bpe {
        vocab,
        merges,
        unk: None,
        fuse_unk: false,
        byte_fallback: false,
        // The encodings that have a name look whole pieces up first.
        ignore_merges: known.is_some(),
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    });
    Ok(Definition {
        added_tokens: specials
            .into_iter()
            .map(|(name, id)| ranks::special(name, id, true))
            .collect(),
        ids_as_stated: true,
        pre_tokenizer,
        decoder: Some(vec![Decoder::ByteLevel]),
        notes,
        ..Definition::new("vocab+merges", model)
    })
}

fn byte_level(use_regex: bool) -> PreTokenizer {
    PreTokenizer::ByteLevel { add_prefix_space: false, use_regex }
}

fn split(pattern: String) -> PreTokenizer {
    PreTokenizer::Split {
        pattern: Pattern::Regex(pattern),
        behavior: SplitBehavior::Isolated,
        invert: false,
    }
}

/// Which of the two is the vocabulary shows in what they hold; a merges.txt without its first line
/// looks like nothing in particular.
fn tell_apart<'p, 'a>(parts: &'p [Part<'a>]) -> Result<(&'p Part<'a>, &'p Part<'a>)> {
    let is_vocab = |part: &Part| {
        detect(part.1).is_ok_and(|verdict| verdict.format == Format::VocabJson)
            || part.1.trim_ascii_start().starts_with(b"{")
    };
    match parts {
        [one, other] if is_vocab(one) && !is_vocab(other) => Ok((one, other)),
        [one, other] if is_vocab(other) && !is_vocab(one) => Ok((other, one)),
        _ => Err(Error::new(
            ErrorKind::BadArgument,
            "several parts are read as one tokenizer only if they are a vocab.json and a \
             merges.txt",
        )),
    }
}

fn vocab(bytes: &[u8], options: &Options) -> Result<Vocab> {
    let text = utf8(bytes)?;
    let vocab = tokenizer_json::read_vocab(text, 0)?;
    Limits::check(vocab.len() as u64, options.limits.items, "tokens")?;
    match vocab.is_empty() {
        true => Err(Error::invalid("the vocabulary is empty")),
        false => Ok(vocab),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid("the file is not UTF-8").at_offset(error.valid_up_to() as u64)
    })
}

/// Two tokens a line, in the order of their ranks; `#version` lines are comments.
fn merges(bytes: &[u8], vocab: &Vocab, limits: &Limits) -> Result<Vec<Merge>> {
    let mut merges = Vec::new();
    let (mut at, mut joined) = (0, String::new());
    for (number, line) in (1u64..).zip(utf8(bytes)?.split_inclusive('\n')) {
        let content = line.trim_end_matches(['\r', '\n']);
        if !content.is_empty() && !content.starts_with("#version") {
            Limits::check(merges.len() as u64 + 1, limits.items, "merges")?;
            let merge = merge(content, vocab, &mut joined).map_err(|mut error| {
                error.message = format!("line {number}: {}", error.message);
                error.at_offset(at as u64)
            })?;
            merges.push(merge);
        }
        at += line.len();
    }
    Ok(merges)
}

fn merge(line: &str, vocab: &Vocab, joined: &mut String) -> Result<Merge> {
    let Some((left, right)) = line.split_once(' ').filter(|(_, right)| !right.contains(' ')) else {
        return Err(Error::invalid("a merge is two tokens with one space between them"));
    };
    joined.clear();
    joined.push_str(left);
    joined.push_str(right);
    let id = |token: &str| {
        vocab.id(token).ok_or_else(|| {
            let token: String = token.chars().take(40).collect();
            Error::invalid(format!("the merge names {token:?}, which is not in the vocabulary"))
        })
    };
    Ok(Merge { left: id(left)?, right: id(right)?, product: id(joined)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::{Scratch, Tokenizer, Wanted};

    fn vocab_json() -> String {
        let bytes = crate::split::byte_level::CHAR_OF_BYTE.iter().map(char::to_string);
        let tokens = bytes.chain(["ab", "Ġab", "abc"].map(str::to_owned));
        let map: serde_json::Map<String, serde_json::Value> =
            tokens.zip(0..).map(|(token, id)| (token, id.into())).collect();
        serde_json::Value::Object(map).to_string()
    }

    fn load(merges: &str, mut options: Options, merges_first: bool) -> Result<Tokenizer> {
        let vocab = vocab_json();
        let mut parts = [("vocab.json", vocab.as_str()), ("merges.txt", merges)];
        if merges_first {
            parts.reverse();
        }
        options.parts = parts.iter().map(|(n, text)| ((*n).to_owned(), text.len())).collect();
        let whole: String = parts.iter().map(|part| part.1).collect();
        Tokenizer::load_with(whole.as_bytes(), &options)
    }

    fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        tokenizer.encode_ids(&mut Scratch::new(), text, Wanted::new(true), &mut ids).unwrap();
        ids
    }

    const MERGES: &str = "#version: 0.2\na b\r\nĠ ab\n";

    #[test]
    fn two_parts_are_one_tokenizer() {
        for merges_first in [false, true] {
            let tokenizer = load(MERGES, Options::default(), merges_first).unwrap();
            // No merge leads to "abc".
            assert_eq!(ids(&tokenizer, "ab ab abc"), [256, 257, 257, 99]);
        }
        let options = Options {
            encoding: Some("cl100k_base".into()),
            special_tokens: Some([("<s>".to_owned(), 500)].into()),
            ..Options::default()
        };
        let tokenizer = load(MERGES, options, false).unwrap();
        assert_eq!(ids(&tokenizer, "abc<s>"), [258, 500]);
        let options = Options { pattern: Some(r"\w".into()), ..Options::default() };
        assert_eq!(ids(&load(MERGES, options, false).unwrap(), "ab"), [97, 98]);
    }

    #[test]
    fn complaints_name_part_and_line() {
        let cases = [
            ("a b\na b c\n", "merges.txt: line 2: a merge is two tokens"),
            ("a b\nab xyz\n", "merges.txt: line 2: the merge names \"xyz\""),
            ("#version\nb a\n", "merges.txt: line 2: the merge names \"ba\""),
        ];
        for (merges, message) in cases {
            let error = load(merges, Options::default(), false).unwrap_err();
            assert!(error.message.starts_with(message), "{error}");
            assert_eq!(error.kind, ErrorKind::InvalidFile);
        }
        let specials = Some([("<s>".to_owned(), 256)].into());
        let options = Options { special_tokens: specials, ..Options::default() };
        assert_eq!(load(MERGES, options, false).unwrap_err().kind, ErrorKind::BadArgument);
        let error = load("{}", Options::default(), false).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadArgument);
    }

    #[test]
    fn one_half_says_what_is_missing() {
        let error = Tokenizer::load(vocab_json().as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotATokenizer);
        assert!(error.message.contains("merges.txt"), "{error}");
        let error = Tokenizer::load(MERGES.as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotATokenizer);
        assert!(error.message.contains("vocab.json"), "{error}");
    }
}
