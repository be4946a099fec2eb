//! Named cases carry values of `tokenizers` 0.23.3, `decoders.Sequence([...]).decode([...])`; the
//! random ones compare with the oracle.

mod stream;

use super::*;
use crate::definition::{Blob, Pattern, SentencePieceDecoder, SentencePieceNormalizer};
use crate::error::Error;
use crate::oracle;
use crate::text::FindMatches;
use std::ops::Range;

/// One or more spaces, as a stand-in for a compiled regex.
#[derive(Debug)]
struct Spaces;

impl FindMatches for Spaces {
    fn find_all(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for (at, _) in text.match_indices(' ') {
            match found.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => found.push(at..at + 1),
            }
        }
        Ok(found)
    }
}

pub fn compile(regex: &str) -> Result<Box<dyn FindMatches>> {
    match regex {
        " +" => Ok(Box::new(Spaces)),
        _ => Err(Error::invalid("no such regex here")),
    }
}

fn decode(chain: Vec<Decoder>, tokens: &[&str]) -> String {
    decode_option(Some(chain), tokens)
}

fn decode_option(chain: Option<Vec<Decoder>>, tokens: &[&str]) -> String {
    let decoders = Decoders::new(&chain, &compile).unwrap();
    decoders.decode_tokens(tokens.iter().copied()).unwrap()
}

fn replace(from: &str, to: &str) -> Decoder {
    Decoder::Replace { pattern: Pattern::Literal(from.into()), content: to.into() }
}

fn strip(content: char, start: usize, stop: usize) -> Decoder {
    Decoder::Strip { content, start, stop }
}

fn llama() -> Vec<Decoder> {
    vec![replace("▁", " "), Decoder::ByteFallback, Decoder::Fuse, strip(' ', 1, 0)]
}

fn metaspace() -> Decoder {
    Decoder::Metaspace { replacement: '▁', prepend: PrependScheme::Always }
}

#[test]
fn no_decoder_joins_with_spaces_and_an_empty_chain_with_nothing() {
    assert_eq!(decode_option(None, &["x", "y", "", "z"]), "x y  z");
    assert_eq!(decode(vec![], &["x", "y"]), "xy");
    assert_eq!(decode_option(None, &[]), "");
}

#[test]
fn byte_level_replaces_each_maximal_invalid_part() {
    let byte_level = |tokens: &[&str]| decode(vec![Decoder::ByteLevel], tokens);
    assert_eq!(byte_level(&["ä", "½"]), "�");
    assert_eq!(byte_level(&["ä½", "ł", "ÿ"]), "你�");
    assert_eq!(byte_level(&["ÿ", "ä½ł"]), "�你");
    assert_eq!(byte_level(&["café"]), "caf�");
    assert_eq!(byte_level(&["Ġx", "a b", "<｜U｜>"]), " xa b<｜U｜>");
}

#[test]
fn a_byte_run_is_text_only_as_a_whole() {
    let fallback = |tokens: &[&str]| decode(vec![Decoder::ByteFallback], tokens);
    assert_eq!(fallback(&["<0xE4>", "<0xBD>", "<0xA0>"]), "你");
    assert_eq!(fallback(&["<0xE4>", "<0xBD>", "<0xA0>", "<0xFF>"]), "����");
    assert_eq!(fallback(&["<0xE4>", "x", "<0xBD>"]), "�x�");
    assert_eq!(fallback(&["<0x+F>", "<0x-1>"]), "\u{f}<0x-1>");
}

#[test]
fn llama_keeps_a_mark_that_is_spelled_in_bytes() {
    assert_eq!(decode(llama(), &["<0xE2>", "<0x96>", "<0x81>", "▁a"]), "▁ a");
    assert_eq!(decode(llama(), &["▁Hello", "▁hi"]), "Hello hi");
    assert_eq!(decode(llama(), &["<0x20>", "x"]), "x");
    assert_eq!(decode(llama(), &[]), "");
    let chain = vec![Decoder::ByteFallback, metaspace()];
    assert_eq!(decode(chain, &["a", "<0xE2>", "<0x96>", "<0x81>"]), "a ");
}

#[test]
fn metaspace_drops_every_mark_of_the_first_token() {
    assert_eq!(decode(vec![metaspace()], &["a▁b", "▁c"]), "ab c");
    assert_eq!(decode(vec![metaspace()], &["▁▁▁", "▁c"]), " c");
    let never = Decoder::Metaspace { replacement: '▁', prepend: PrependScheme::Never };
    assert_eq!(decode(vec![never], &["▁a", "▁c"]), " a c");
}

#[test]
fn word_piece_cleans_each_token_alone() {
    let decoder =
        |prefix: &str, cleanup| vec![Decoder::WordPiece { prefix: prefix.into(), cleanup }];
    assert_eq!(decode(decoder("##", true), &["don", "'", "t", "##x", "."]), "don ' tx.");
    assert_eq!(decode(decoder("##", false), &["##a", "##b", "."]), "##ab .");
    assert_eq!(decode(decoder("", true), &["a", "b"]), "ab");
}

#[test]
fn the_last_bpe_token_has_no_space() {
    let decoder = |suffix: &str| vec![Decoder::Bpe { suffix: suffix.into() }];
    assert_eq!(decode(decoder("</w>"), &["b</w>c</w>"]), "bc");
    assert_eq!(decode(decoder("</w>"), &["b</w>c</w>", "d"]), "b c d");
    assert_eq!(decode(decoder(""), &["abc", "d"]), " a b c d");
    assert_eq!(decode(decoder("</w>"), &[]), "");
}

#[test]
fn replacing_an_empty_pattern() {
    assert_eq!(decode(vec![replace("", "X")], &["abc", "", "é"]), "XaXbXcXXéX");
}

#[test]
fn replacing_by_regex() {
    let spaces = |content: &str| Decoder::Replace {
        pattern: Pattern::Regex(" +".into()),
        content: content.into(),
    };
    assert_eq!(decode(vec![spaces("_")], &["a  b c", " ", ""]), "a_b_c_");
    assert_eq!(decode(vec![Decoder::Fuse, spaces("_")], &["a ", " b"]), "a_b");
    let bad = Decoder::Replace { pattern: Pattern::Regex("(".into()), content: String::new() };
    assert!(Decoders::new(&Some(vec![bad]), &compile).is_err());
}

#[test]
fn a_chain_that_grows_without_bound_is_a_limit() {
    let chain = Some(vec![replace("a", "aaaaaaaaaaaaaaaa"); 16]);
    let decoders = Decoders::new(&chain, &compile).unwrap();
    let error = decoders.decode_tokens(["a"]).unwrap_err();
    assert_eq!(error.kind, crate::error::ErrorKind::LimitExceeded);
}

#[test]
fn a_step_that_sees_all_of_a_joined_token_holds_it() {
    let held = |chain| Decoders::new(&Some(chain), &compile).unwrap().held_by();
    let spaces = Decoder::Replace { pattern: Pattern::Regex(" +".into()), content: "".into() };
    assert_eq!(held(llama()), None);
    assert_eq!(held(vec![spaces.clone(), Decoder::Fuse]), None);
    assert_eq!(held(vec![Decoder::Fuse, spaces]), Some("Replace"));
    assert_eq!(held(vec![Decoder::ByteLevel, Decoder::ByteLevel]), Some("ByteLevel"));
}

/// Deterministic numbers for random tests.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

#[test]
fn ctc_tells_repeated_tokens_from_doubled_letters() {
    let ctc = |cleanup| {
        vec![Decoder::Ctc { pad_token: "<p>".into(), word_delimiter_token: "|".into(), cleanup }]
    };
    let tokens = ["<p>", "h", "h", "|", "|", "don", "'", "t", "<p>", "t", " n't"];
    assert_eq!(decode(ctc(true), &tokens), "h don'ttn't");
    assert_eq!(decode(ctc(false), &["h|", "h|", "i"]), "h|i");
}

pub const TOKENS: [&str; 36] = [
    "",
    " ",
    "  ",
    "a",
    "▁",
    "▁a",
    "a▁b",
    "▁▁",
    "<0xE4>",
    "<0xBD>",
    "<0xA0>",
    "<0xFF>",
    "<0x20>",
    "<0x+F>",
    "<0xe2>",
    "<0x96>",
    "<0x81>",
    "<0x0▁>",
    "é",
    "ä½ł",
    "Ġx",
    "你",
    "##b",
    "##",
    " .",
    " do not",
    " n't",
    "'",
    "'s",
    "b</w>",
    "</w>c</w>",
    "_",
    "__a__",
    "�",
    "\n",
    "<|x|>",
];

pub fn any_decoder(random: &mut Random) -> Decoder {
    match random.below(10) {
        0 => Decoder::ByteLevel,
        1 => Decoder::ByteFallback,
        2 => Decoder::Fuse,
        3 => strip(random.pick(&[' ', '_', 'a', '▁']), random.below(3), random.below(3)),
        4 => {
            replace(random.pick(&["▁", "a", "", "<0", "</w>"]), random.pick(&[" ", "", "aa", "<0"]))
        }
        5 => Decoder::Metaspace {
            replacement: random.pick(&['▁', 'a', '_']),
            prepend: random.pick(&[
                PrependScheme::Always,
                PrependScheme::Never,
                PrependScheme::First,
            ]),
        },
        6 => Decoder::Bpe { suffix: random.pick(&["</w>", "a", ""]).to_string() },
        7 => Decoder::WordPiece {
            prefix: random.pick(&["##", "", "▁"]).to_string(),
            cleanup: random.below(2) == 0,
        },
        8 => Decoder::Ctc {
            pad_token: random.pick(&["a", "_", "", "<0"]).to_string(),
            word_delimiter_token: random.pick(&["▁", " ", ""]).to_string(),
            cleanup: random.below(2) == 0,
        },
        _ => Decoder::Replace {
            pattern: Pattern::Regex(" +".into()),
            content: random.pick(&["", "_", "a "]).to_string(),
        },
    }
}

fn compare(random: &mut Random, chain: Option<Vec<Decoder>>) {
    let decoders = Decoders::new(&chain, &compile).unwrap();
    for _ in 0..8 {
        let length = random.below(12);
        let tokens: Vec<&str> = (0..length).map(|_| random.pick(&TOKENS)).collect();
        assert_eq!(
            decoders.decode_tokens(tokens.iter().copied()).unwrap(),
            oracle::decode::decode(&chain, &tokens, &compile).unwrap(),
            "{chain:?} {tokens:?}"
        );
    }
}

#[test]
fn random_chains_equal_the_oracle() {
    let mut random = Random(0x5EED);
    for _ in 0..4000 {
        let length = random.below(5);
        let chain = (0..length).map(|_| any_decoder(&mut random)).collect();
        compare(&mut random, Some(chain));
    }
}

#[test]
fn pieces_equal_the_oracle() {
    let mut random = Random(0xB17E);
    for _ in 0..2000 {
        let mut flag = || random.below(2) == 0;
        let denormalizer = SentencePieceNormalizer {
            name: String::new(),
            add_dummy_prefix: flag(),
            remove_extra_whitespaces: flag(),
            escape_whitespaces: flag(),
            treat_whitespace_as_suffix: false,
            charsmap: Blob::default(),
            user_defined: Vec::new(),
        };
        let decoder = SentencePieceDecoder {
            control: vec!["a".into(), "<|x|>".into()],
            unk: "é".into(),
            unk_surface: if flag() { " ⁇ ".into() } else { String::new() },
            byte_fallback: flag(),
            strip_dummy_prefix: flag(),
            strip_each: flag(),
            denormalizer: flag().then_some(denormalizer),
        };
        compare(&mut random, Some(vec![Decoder::SentencePiece(Box::new(decoder))]));
    }
}

#[test]
fn the_one_pass_route_equals_the_oracle() {
    let mut random = Random(0xFACE);
    for _ in 0..2000 {
        let mut chain = llama();
        match random.below(4) {
            0 => chain.truncate(3),
            1 => chain[3] = strip(random.pick(&[' ', 'a']), random.below(3), random.below(3)),
            2 => {
                chain[0] = replace(
                    random.pick(&["▁", "", "a", "0"]),
                    random.pick(&[" ", "", "x", "A", "▁"]),
                );
            }
            _ => {}
        }
        compare(&mut random, Some(chain));
    }
}
