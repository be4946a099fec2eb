//! How the files of a reader are mutated, and with which options they are loaded.

use crate::random::Random;
use crate::{json, mutate};
use pywasmtok_engine::formats::Options;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Json,
    Binary,
    Lines,
    Tiktoken,
    /// Two files in one.
    VocabMerges,
}

/// Patterns that a caller of rank files may come with.
const PATTERNS: [&str; 5] =
    [r"\p{L}+|\P{L}", r"\s++$|\S++|\s", "[a-c]{1,3}+|x", "(?:a|b)+c|.", r"(?i:'s)|."];

const ENCODINGS: [&str; 5] = ["gpt2", "cl100k_base", "o200k_base", "llama3", "qwen"];

impl Dialect {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "json" | "tokenizer.json" | "tekken" => Self::Json,
            "binary" | "gguf" | "sentencepiece" => Self::Binary,
            "lines" | "rwkv" => Self::Lines,
            "tiktoken" => Self::Tiktoken,
            "vocab+merges" => Self::VocabMerges,
            _ => return None,
        })
    }

    /// A file made of one of the seeds, and what to load it with.
    pub fn mutant(self, random: &mut Random, seeds: &[Vec<u8>]) -> (Vec<u8>, Options) {
        if self == Self::VocabMerges {
            return vocab_merges(random, seeds);
        }
        let mut file = random.pick(seeds).clone();
        let most = if self == Self::Json { 2 } else { 4 };
        for _ in 0..1 + random.below(most) {
            self.mutate(random, &mut file, seeds);
        }
        let mut options = Options::default();
        match self {
            Self::Tiktoken if random.below(2) == 0 => {
                options.encoding = Some((*random.pick(&ENCODINGS)).to_owned());
            }
            Self::Tiktoken => {
                options.pattern = Some((*random.pick(&PATTERNS)).to_owned());
                let id = mutate::number(random) as u32;
                options.special_tokens = Some([("<s>".to_owned(), id)].into());
            }
            Self::Binary if random.below(4) == 0 => {
                options.gguf_compat = pywasmtok_engine::formats::options::GgufCompat::HuggingFace;
            }
            _ => {}
        }
        (file, options)
    }

    fn mutate(self, random: &mut Random, file: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let blind = random.below(4) == 0;
        match self {
            _ if blind => mutate::bytes(random, file, seeds),
            Self::Json => match serde_json::from_slice(file) {
                Ok(mut value) => {
                    // Reading and writing takes longer than another mutation.
                    for _ in 0..1 + random.below(4) {
                        json::mutate(random, &mut value);
                    }
                    *file = value.to_string().into_bytes();
                }
                Err(_) => mutate::bytes(random, file, seeds),
            },
            Self::Binary if random.below(2) == 0 => mutate::binary_record(random, file),
            Self::Binary => mutate::binary_number(random, file),
            Self::Lines | Self::Tiktoken | Self::VocabMerges => mutate::lines(random, file),
        }
    }
}

fn vocab_merges(random: &mut Random, seeds: &[Vec<u8>]) -> (Vec<u8>, Options) {
    let pairs: Vec<&[Vec<u8>]> = seeds.chunks_exact(2).collect();
    let mut parts: Vec<Vec<u8>> = match pairs.is_empty() {
        true => vec![random.pick(seeds).clone(), Vec::new()],
        false => random.pick(&pairs).to_vec(),
    };
    for (n, part) in parts.iter_mut().enumerate() {
        let dialect = if n == 0 { Dialect::Json } else { Dialect::Lines };
        for _ in 0..random.below(3) {
            dialect.mutate(random, part, seeds);
        }
    }
    let lengths = parts.iter().map(Vec::len).enumerate();
    let mut options = Options {
        parts: lengths.map(|(n, length)| (n.to_string(), length)).collect(),
        ..Options::default()
    };
    match random.below(3) {
        0 => options.encoding = Some((*random.pick(&ENCODINGS)).to_owned()),
        1 => options.pattern = Some((*random.pick(&PATTERNS)).to_owned()),
        _ => {}
    }
    (parts.concat(), options)
}
