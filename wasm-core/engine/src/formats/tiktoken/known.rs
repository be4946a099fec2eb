//! What the world knows about rank files and they do not say: patterns and special tokens.
//!
//! Sources: the tables of tiktoken 0.14, Meta's `tokenizer.py` of Llama 3 and 4, Qwen's and
//! Moonshot's, read in their own repositories.

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const KIMI: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A pattern and the special tokens that go with it.
#[derive(Debug)]
pub struct Encoding {
    pub name: &'static str,
    pub pattern: &'static str,
    pub specials: Specials,
}

#[derive(Debug)]
pub enum Specials {
    Known(&'static [Run]),
    /// Files of one and the same ranks come with different ones; says which.
    Elsewhere(&'static str),
}

/// Special tokens with consecutive ids.
#[derive(Debug)]
pub enum Run {
    Names(u32, &'static [&'static str]),
    /// `<|...N|>`: what stands before the number, the first number, and how many there are.
    Numbered(u32, &'static str, u32, u32),
}

impl Run {
    /// Names and ids.
    pub fn tokens(&self) -> Vec<(String, u32)> {
        match *self {
            Self::Names(first, names) => {
                names.iter().map(|name| (*name).to_owned()).zip(first..).collect()
            }
            Self::Numbered(first, stem, number, count) => {
                (number..number + count).map(|n| format!("<|{stem}{n}|>")).zip(first..).collect()
            }
        }
    }
}

use Run::{Names, Numbered};
use Specials::{Elsewhere, Known};

pub const ENCODINGS: &[Encoding] = &[
    Encoding { name: "gpt2", pattern: GPT2, specials: Known(&[Names(50256, &["<|endoftext|>"])]) },
    Encoding {
        name: "r50k_base",
        pattern: GPT2,
        specials: Known(&[Names(50256, &["<|endoftext|>"])]),
    },
    Encoding {
        name: "p50k_base",
        pattern: GPT2,
        specials: Known(&[Names(50256, &["<|endoftext|>"])]),
    },
    Encoding {
        name: "p50k_edit",
        pattern: GPT2,
        specials: Known(&[
            Names(50256, &["<|endoftext|>"]),
            Names(50281, &["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]),
        ]),
    },
    Encoding {
        name: "cl100k_base",
        pattern: CL100K,
        specials: Known(&[
            Names(100257, &["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]),
            Names(100276, &["<|endofprompt|>"]),
        ]),
    },
    Encoding {
        name: "o200k_base",
        pattern: O200K,
        specials: Known(&[Names(199999, &["<|endoftext|>"]), Names(200018, &["<|endofprompt|>"])]),
    },
    Encoding {
        name: "o200k_harmony",
        pattern: O200K,
        specials: Known(&[
            Names(199998, &["<|startoftext|>", "<|endoftext|>"]),
            Numbered(200000, "reserved_", 200000, 2),
            Names(200002, &["<|return|>", "<|constrain|>"]),
            Numbered(200004, "reserved_", 200004, 1),
            Names(200005, &["<|channel|>", "<|start|>", "<|end|>", "<|message|>"]),
            Numbered(200009, "reserved_", 200009, 3),
            Names(200012, &["<|call|>"]),
            Numbered(200013, "reserved_", 200013, 1075),
            // The second name of its id. The library decodes it to one or the other, by chance.
            Names(200018, &["<|endofprompt|>"]),
        ]),
    },
    Encoding {
        name: "llama3",
        pattern: LLAMA3,
        specials: Known(&[
            Names(128000, &["<|begin_of_text|>", "<|end_of_text|>"]),
            Numbered(128002, "reserved_special_token_", 0, 2),
            Names(
                128004,
                &[
                    "<|finetune_right_pad_id|>",
                    "<|step_id|>",
                    "<|start_header_id|>",
                    "<|end_header_id|>",
                    "<|eom_id|>",
                    "<|eot_id|>",
                    "<|python_tag|>",
                    "<|image|>",
                ],
            ),
            Numbered(128012, "reserved_special_token_", 2, 244),
        ]),
    },
    Encoding {
        name: "llama4",
        pattern: O200K,
        specials: Known(&[
            Names(
                200000,
                &[
                    "<|begin_of_text|>",
                    "<|end_of_text|>",
                    "<|fim_prefix|>",
                    "<|fim_middle|>",
                    "<|fim_suffix|>",
                    "<|header_start|>",
                    "<|header_end|>",
                    "<|eom|>",
                    "<|eot|>",
                    "<|step|>",
                ],
            ),
            Numbered(200010, "text_post_train_reserved_special_token_", 0, 6),
            Names(200016, &["<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"]),
            Numbered(200019, "text_post_train_reserved_special_token_", 8, 61),
            Names(200080, &["<|image_start|>", "<|image_end|>"]),
            Numbered(200082, "vision_reserved_special_token_", 0, 2),
            Names(200084, &["<|tile_x_separator|>", "<|tile_y_separator|>"]),
            Numbered(200086, "vision_reserved_special_token_", 2, 4),
            Names(200090, &["<|image|>"]),
            Numbered(200091, "vision_reserved_special_token_", 6, 1),
            Names(200092, &["<|patch|>"]),
            Numbered(200093, "vision_reserved_special_token_", 7, 1041),
            Numbered(201134, "reasoning_reserved_special_token_", 0, 8),
            Names(201142, &["<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"]),
            Numbered(201144, "reserved_special_token_", 0, 904),
        ]),
    },
    Encoding {
        name: "qwen",
        pattern: QWEN,
        specials: Known(&[
            Names(151643, &["<|endoftext|>", "<|im_start|>", "<|im_end|>"]),
            Numbered(151646, "extra_", 0, 205),
        ]),
    },
    Encoding {
        name: "kimi",
        pattern: KIMI,
        specials: Elsewhere(
            "they stand in \"added_tokens_decoder\" of the tokenizer_config.json beside it",
        ),
    },
    Encoding {
        name: "whisper",
        pattern: GPT2,
        specials: Elsewhere("they depend on the number of languages of the model"),
    },
];

pub fn encoding(name: &str) -> Option<&'static Encoding> {
    ENCODINGS.iter().find(|encoding| encoding.name == name)
}

/// A rank file that is known by the SHA-256 of its bytes.
#[derive(Debug)]
pub struct File {
    pub sha256: &'static str,
    /// What it is read as unless the caller says otherwise.
    pub encoding: &'static str,
    /// Other encodings that use it, with other special tokens.
    pub also: &'static [&'static str],
    /// What a user that did not choose it should know.
    pub note: Option<&'static str>,
}

pub const FILES: &[File] = &[
    File {
        sha256: "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        encoding: "r50k_base",
        also: &["gpt2"],
        note: Some(
            "these ranks are r50k_base, gpt2 and Whisper's English ones; read as r50k_base. For \
             Whisper, pass `special_tokens`",
        ),
    },
    File {
        sha256: "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        encoding: "p50k_base",
        also: &["p50k_edit"],
        note: Some(
            "these ranks are p50k_base and p50k_edit; read as p50k_base. For the other one's \
             special tokens, pass `encoding=\"p50k_edit\"`",
        ),
    },
    File {
        sha256: "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        encoding: "cl100k_base",
        also: &[],
        note: None,
    },
    File {
        sha256: "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        encoding: "o200k_base",
        also: &["o200k_harmony"],
        note: Some(
            "these ranks are o200k_base and o200k_harmony; read as o200k_base. For the other \
             one's special tokens, pass `encoding=\"o200k_harmony\"`",
        ),
    },
    File {
        sha256: "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
        encoding: "llama3",
        also: &[],
        note: Some(
            "Llama 3.0, 3.1 and 3.2 share these ranks and name some reserved special tokens \
             otherwise; read with the names of Meta's own code. For others, pass `special_tokens`",
        ),
    },
    File {
        sha256: "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
        encoding: "llama4",
        also: &[],
        note: None,
    },
    File {
        sha256: "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
        encoding: "kimi",
        also: &[],
        note: None,
    },
    File {
        sha256: "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
        encoding: "qwen",
        also: &[],
        note: Some(
            "Qwen's own code normalizes text to NFC before it is tokenized; the ranks alone do not",
        ),
    },
    File {
        sha256: "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126",
        encoding: "whisper",
        also: &[],
        note: None,
    },
];

/// The file with these bytes.
pub fn file(bytes: &[u8]) -> Option<&'static File> {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    let is_digest = |hex: &str| {
        let pairs = hex.as_bytes().chunks_exact(2);
        pairs.zip(digest.iter()).all(|(pair, byte)| {
            let text = std::str::from_utf8(pair).unwrap_or_default();
            u8::from_str_radix(text, 16) == Ok(*byte)
        })
    };
    FILES.iter().find(|file| is_digest(file.sha256))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn tokens(name: &str) -> Vec<(String, u32)> {
        match &encoding(name).unwrap().specials {
            Known(runs) => runs.iter().flat_map(Run::tokens).collect(),
            Elsewhere(_) => Vec::new(),
        }
    }

    #[test]
    fn every_file_names_an_encoding_that_is_there() {
        for file in FILES {
            assert_eq!(file.sha256.len(), 64);
            for name in [file.encoding].iter().chain(file.also) {
                assert!(encoding(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn counts_of_special_tokens() {
        let counts = [
            ("gpt2", 1),
            ("p50k_edit", 4),
            ("cl100k_base", 5),
            ("o200k_base", 2),
            ("o200k_harmony", 1091),
            ("llama3", 256),
            ("llama4", 2048),
            ("qwen", 208),
        ];
        for (name, count) in counts {
            let tokens = tokens(name);
            let names: HashSet<_> = tokens.iter().map(|token| &token.0).collect();
            assert_eq!((tokens.len(), names.len()), (count, count), "{name}");
        }
        let ids: Vec<u32> = tokens("llama4").iter().map(|token| token.1).collect();
        assert_eq!(ids, (200000..202048).collect::<Vec<_>>());
    }

    #[test]
    fn digests_are_compared_as_bytes() {
        assert!(file(b"IQ== 0\n").is_none());
    }
}
