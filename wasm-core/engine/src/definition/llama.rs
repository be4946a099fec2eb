//! The parts of a [`Definition`](crate::definition::Definition) that only llama.cpp has: what a
//! GGUF file means where no step of HuggingFace's library does the same.

use crate::definition::{Bpe, Merge};
use crate::vocab::Vocab;

/// What llama.cpp does to a text before it is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LlamaNormalizer {
    /// Of model `bert`: controls vanish, accents (that is: all of a decomposition but its first
    /// character) and case where asked for, all white space becomes a space.
    Bert { strip_accents: bool, lowercase: bool },
    /// One character for one.
    Lowercase,
    /// Of model `t5`.
    Unigram(UnigramNormalizer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnigramNormalizer {
    /// `precompiled_charsmap`, as the file has it.
    pub charsmap: Option<Vec<u8>>,
    /// Text that begins like one of these is left alone as far as it is alike, also where it does
    /// not go on to the end of the token.
    pub user_defined: Vec<String>,
    pub add_space_prefix: bool,
    pub merge_spaces: bool,
}

/// Cuts that are no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlamaSplit {
    /// Of model `bert`: words without the white space, punctuation and Chinese characters alone.
    BertWords,
    /// Numbers in threes from the right. The first group of a run takes along all the text that
    /// stands before it.
    NumbersInThrees,
    /// ASCII digits in threes from the right; a run of a multiple of three is cut off in front.
    DigitsInThrees,
}

/// Models that llama.cpp computes in its own way.
#[derive(Debug)]
pub enum LlamaModel {
    /// Pairs merge by the score of what they make: all splits of a token have one rank.
    Scored {
        bpe: Bpe,
        ranks: Vec<u32>,
    },
    /// The same, or listed merges, decided by text and not by id: for files where the two differ.
    Texts(TextMerges),
    /// The longest token first, over a word with `▁` in front; a word with a gap is unknown.
    WordPiece {
        vocab: Vocab,
        unk: u32,
    },
    Unigram(LlamaUnigram),
    /// The longest token first, over bytes. The texts of the vocabulary are escaped.
    Longest {
        vocab: Vocab,
        bytes: Vec<(Vec<u8>, u32)>,
    },
}

impl LlamaModel {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scored { .. } => "SPM",
            Self::Texts(texts) => match texts.ranking {
                Ranking::Scores(_) => "SPM",
                Ranking::Merges(_) => "BPE",
            },
            Self::WordPiece { .. } => "WPM",
            Self::Unigram(_) => "UGM",
            Self::Longest { .. } => "RWKV",
        }
    }

    pub fn vocab(&self) -> &Vocab {
        match self {
            Self::Scored { bpe, .. } => &bpe.vocab,
            Self::Texts(texts) => &texts.vocab,
            Self::WordPiece { vocab, .. } | Self::Longest { vocab, .. } => vocab,
            Self::Unigram(unigram) => &unigram.vocab,
        }
    }

    pub fn unk(&self) -> Option<u32> {
        match self {
            Self::WordPiece { unk, .. } => Some(*unk),
            Self::Unigram(unigram) => Some(unigram.unk),
            Self::Scored { .. } | Self::Texts(_) | Self::Longest { .. } => None,
        }
    }
}

/// Byte-pair merging over texts.
#[derive(Debug)]
pub struct TextMerges {
    pub vocab: Vocab,
    pub ranking: Ranking,
    pub unknown: Unknown,
    pub whole: Whole,
    /// The same by id, in the order of the scores: where ids say as much as texts, else empty.
    pub merges: Vec<Merge>,
}

impl TextMerges {
    /// The same as a list with a class for each merge, of which the leftmost comes first.
    pub fn by_id(self) -> (Bpe, Vec<u32>) {
        let class = |merge: &Merge| match &self.ranking {
            Ranking::Scores(ranks) => ranks.get(merge.product as usize).copied(),
            Ranking::Merges(_) => None,
        };
        let classes = self.merges.iter().map(|merge| class(merge).unwrap_or_default()).collect();
        (scored(self.vocab, self.merges), classes)
    }
}

/// What merges by score over characters and spells others in bytes.
pub fn scored(vocab: Vocab, merges: Vec<Merge>) -> Bpe {
    Bpe {
        vocab,
        merges,
        unk: None,
        fuse_unk: false,
        byte_fallback: true,
        ignore_merges: false,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    }
}

/// Which pair merges first.
#[derive(Debug)]
pub enum Ranking {
    /// By id of what a pair makes; only tokens are made.
    Scores(Vec<u32>),
    /// `left right`, as the file lists them. What they make need not be a token.
    Merges(Vocab),
}

/// What becomes of a symbol that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// `<0xHH>` for each byte, else the byte itself as a token; one of them has to be there.
    EveryByte,
    /// `<0xHH>` for those bytes that have one.
    SomeBytes,
    /// The ASCII characters that are tokens; the rest vanishes.
    Ascii,
}

/// TokenBytes that are looked up before they are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    None,
    All,
    /// Runs of line feeds.
    LineFeeds,
}

/// The most probable sequence of tokens, summed up in f64 over scores in f32.
#[derive(Debug)]
pub struct LlamaUnigram {
    pub vocab: Vocab,
    /// The tokens that text may yield, with their scores.
    pub pieces: Vec<(u32, f32)>,
    pub unk: u32,
    pub unk_score: f32,
}

/// What each id decodes to, and what is done to the whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenBytes {
    bytes: Vec<u8>,
    /// Where each id's bytes end.
    ends: Vec<u32>,
    /// Remove one space from the front of the first token.
    pub strip_space: bool,
    /// Remove the spaces before some punctuation.
    pub clean_spaces: bool,
}

impl TokenBytes {
    pub fn new(strip_space: bool, clean_spaces: bool) -> Self {
        Self { strip_space, clean_spaces, ..Self::default() }
    }

    /// Tells tables apart.
    pub fn identity(&self) -> u64 {
        let ends: Vec<u8> = self.ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        let flags = u64::from(self.strip_space) << 1 | u64::from(self.clean_spaces);
        crate::vocab::hash(&self.bytes) ^ crate::vocab::hash(&ends).rotate_left(7) ^ flags
    }

    /// The bytes of the next id.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    /// The bytes of each id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|id| self.get(id as u32).unwrap_or_default())
    }

    pub fn get(&self, id: u32) -> Option<&[u8]> {
        let id = id as usize;
        let end = *self.ends.get(id)?;
        let start = id.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.bytes.get(start.unwrap_or(0) as usize..end as usize)
    }
}
