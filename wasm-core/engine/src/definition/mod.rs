//! The neutral description of a tokenizer: what every file format becomes, and all that the rest
//! of the engine knows about a file.
//!
//! Sequences are flattened: a nested `Sequence` in a file is the concatenation of its steps, and
//! an empty list is "do nothing". A reader that meets something which has no place here answers
//! [`Error::unsupported`](crate::error::Error::unsupported) with the place in the file.

pub mod control;
pub mod llama;

use std::fmt;

use crate::definition::control::Control;
use crate::definition::llama::{LlamaModel, LlamaNormalizer, LlamaSplit, TokenBytes};
use crate::vocab::Vocab;

#[derive(Debug)]
pub struct Definition {
    /// `tokenizer.json`, `gguf`, ...: for people and logs.
    pub format: &'static str,
    pub added_tokens: Vec<AddedToken>,
    /// Whether added tokens have the ids that the file states. Otherwise the effective id is that
    /// of the vocabulary where the content is a model token, else one behind everything known, in
    /// the order of the file: the habit of HuggingFace's library.
    pub ids_as_stated: bool,
    /// Whether the longest token is cut out of the whole text first, then the next longest: the
    /// habit of llama.cpp. Otherwise the leftmost one is, and of those the longest.
    pub longest_first: bool,
    pub normalizer: Vec<Normalizer>,
    pub pre_tokenizer: Vec<PreTokenizer>,
    pub model: Model,
    /// `None`: the file has no post-processor, which is not the same as an empty sequence of them.
    pub post_processor: Option<Vec<PostProcessor>>,
    /// `None`: the tokens are joined with one space (the reference's habit).
    pub decoder: Option<Vec<Decoder>>,
    pub truncation: Option<Truncation>,
    pub padding: Option<Padding>,
    /// The parts that the file itself gives tokens to play: `("bos", 1)`. A reader names only what
    /// its file says; what the model and the steps above say is found there.
    pub roles: Vec<(&'static str, u32)>,
    /// Tokens that end a text, as those with the role `eos` do.
    pub ends: Vec<u32>,
    /// Name and source of each chat template in the file; `default` is the unnamed one.
    pub chat_templates: Vec<(String, String)>,
    /// What the reader assumed, in sentences for the person that loads the file.
    pub notes: Vec<String>,
    /// What stands beside the file and says which tokens untrusted text may not become.
    pub control: Control,
}

impl Definition {
    /// A definition of nothing but a model and a format; a reader fills in what its file has.
    pub fn new(format: &'static str, model: Model) -> Self {
        Self {
            format,
            added_tokens: Vec::new(),
            ids_as_stated: false,
            longest_first: false,
            normalizer: Vec::new(),
            pre_tokenizer: Vec::new(),
            model,
            post_processor: None,
            decoder: None,
            truncation: None,
            padding: None,
            roles: Vec::new(),
            ends: Vec::new(),
            chat_templates: Vec::new(),
            notes: Vec::new(),
            control: Control::default(),
        }
    }
}

/// A token found in the text before anything else looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    /// The id that the file states; see [`Definition::ids_as_stated`].
    pub id: u32,
    pub content: String,
    pub single_word: bool,
    pub lstrip: bool,
    pub rstrip: bool,
    pub normalized: bool,
    pub special: bool,
    /// False: text never yields it. It is known by its id and its name, it is skipped when decoding
    /// if it is special, and that is all.
    pub in_text: bool,
}

/// What a replacement or a split looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    Literal(String),
    /// In Oniguruma's Ruby syntax, as the reference compiles it.
    Regex(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Normalizer {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    Lowercase,
    StripAccents,
    Strip {
        left: bool,
        right: bool,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Prepend(String),
    Bert {
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: Option<bool>,
        lowercase: bool,
    },
    /// SentencePiece's map of characters, looked up as HuggingFace does: cluster by cluster, then
    /// character by character. SentencePiece itself takes the longest match from where it stands.
    Precompiled {
        charsmap: Blob,
    },
    /// A fixed list of control characters and spaces, older than the maps.
    Nmt,
    /// Spells the bytes in their alphabet before anything is cut.
    ByteLevel,
    /// All that SentencePiece does to a text before its model sees it, which is one walk and not a
    /// chain of steps: what is removed depends on what was put there just before.
    SentencePiece(Box<SentencePieceNormalizer>),
    Llama(LlamaNormalizer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentencePieceNormalizer {
    /// As the file calls its rules: `nmt_nfkc`, `identity`.
    pub name: String,
    pub add_dummy_prefix: bool,
    pub remove_extra_whitespaces: bool,
    pub escape_whitespaces: bool,
    /// The dummy prefix is a suffix.
    pub treat_whitespace_as_suffix: bool,
    /// `precompiled_charsmap`; empty: no rules.
    pub charsmap: Blob,
    /// Left alone wherever they stand.
    pub user_defined: Vec<String>,
}

/// Bytes that are left out of logs.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Blob(pub Vec<u8>);

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// What becomes of a delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitBehavior {
    Removed,
    Isolated,
    MergedWithPrevious,
    MergedWithNext,
    Contiguous,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrependScheme {
    Always,
    Never,
    First,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreTokenizer {
    ByteLevel {
        add_prefix_space: bool,
        use_regex: bool,
    },
    Split {
        pattern: Pattern,
        behavior: SplitBehavior,
        invert: bool,
    },
    Metaspace {
        replacement: char,
        prepend: PrependScheme,
        split: bool,
    },
    Digits {
        individual: bool,
    },
    Punctuation {
        behavior: SplitBehavior,
    },
    Whitespace,
    WhitespaceSplit,
    CharDelimiterSplit {
        delimiter: char,
    },
    Bert,
    /// Cuts where the script changes. Characters of no script, and spaces, go with what is before
    /// them; at the start of a piece they are dropped.
    UnicodeScripts,
    /// Pieces of so many characters.
    FixedLength {
        length: usize,
    },
    Llama(LlamaSplit),
}

#[derive(Debug)]
pub enum Model {
    Bpe(Bpe),
    WordLevel(WordLevel),
    WordPiece(WordPiece),
    Unigram(Unigram),
    SentencePiece(SentencePiece),
    Greedy(Greedy),
    Llama(LlamaModel),
}

impl Model {
    /// As tokenizer.json names it, where that has it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bpe(_) => "BPE",
            Self::WordLevel(_) => "WordLevel",
            Self::WordPiece(_) => "WordPiece",
            Self::Unigram(_) => "Unigram",
            Self::SentencePiece(model) => match model.algorithm {
                PieceAlgorithm::Unigram => "SentencePiece Unigram",
                PieceAlgorithm::Bpe => "SentencePiece BPE",
                PieceAlgorithm::Word => "SentencePiece Word",
                PieceAlgorithm::Char => "SentencePiece Char",
            },
            // tokenizer.json has no such model.
            Self::Greedy(_) => "Greedy",
            Self::Llama(model) => model.name(),
        }
    }

    /// How many tokens the model says it has: what comes behind it is numbered from here on.
    pub fn size(&self) -> usize {
        match self {
            Self::Unigram(unigram) => unigram.scores.len(),
            model => model.vocab().len(),
        }
    }

    /// The token for what the model does not know.
    pub fn unk(&self) -> Option<u32> {
        match self {
            Self::Bpe(model) => model.unk,
            Self::WordLevel(model) => model.vocab.id(&model.unk_token),
            Self::WordPiece(model) => model.vocab.id(&model.unk_token),
            Self::Unigram(model) => model.unk,
            Self::SentencePiece(model) => Some(model.unk),
            Self::Greedy(_) => None,
            Self::Llama(model) => model.unk(),
        }
    }

    pub fn vocab(&self) -> &Vocab {
        match self {
            Self::Bpe(model) => &model.vocab,
            Self::WordLevel(model) => &model.vocab,
            Self::WordPiece(model) => &model.vocab,
            Self::Unigram(model) => &model.vocab,
            Self::SentencePiece(model) => &model.vocab,
            Self::Greedy(model) => &model.vocab,
            Self::Llama(model) => model.vocab(),
        }
    }
}

/// A piece is a token, or unknown.
#[derive(Debug)]
pub struct WordLevel {
    pub vocab: Vocab,
    pub unk_token: String,
}

/// The longest token first, then the longest that continues it.
#[derive(Debug)]
pub struct WordPiece {
    pub vocab: Vocab,
    pub unk_token: String,
    pub continuing_subword_prefix: String,
    /// Longer words, in characters, are unknown as a whole.
    pub max_input_chars_per_word: usize,
}

/// The most probable sequence of pieces, as HuggingFace computes it.
#[derive(Debug)]
pub struct Unigram {
    pub vocab: Vocab,
    /// By place in the file, which is the id.
    pub scores: Vec<f64>,
    pub unk: Option<u32>,
    pub byte_fallback: bool,
}

/// One of SentencePiece's own models. They differ from those above in what orders the merges, in
/// how scores are added up, and in what becomes of text that no piece covers.
#[derive(Debug)]
pub struct SentencePiece {
    pub algorithm: PieceAlgorithm,
    pub vocab: Vocab,
    /// By id, as the kinds are.
    pub scores: Vec<f32>,
    pub kinds: Vec<PieceKind>,
    pub unk: u32,
    /// What no piece covers is spelled in pieces of one byte, all of which exist.
    pub byte_fallback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceAlgorithm {
    Unigram,
    Bpe,
    Word,
    Char,
}

/// What a piece of SentencePiece is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    Normal,
    Unknown,
    /// Never found in text, and silent when decoded.
    Control,
    /// Always a piece of its own where the text has it.
    UserDefined,
    /// Takes part in merges but is no result.
    Unused,
    Byte,
}

/// The longest token that the rest of the text begins with, again and again. Tokens are spelled in
/// the byte alphabet, and every byte that text may hold is one.
#[derive(Debug)]
pub struct Greedy {
    pub vocab: Vocab,
}

/// Byte-pair encoding by listed merges.
#[derive(Debug)]
pub struct Bpe {
    pub vocab: Vocab,
    /// In rank order.
    pub merges: Vec<Merge>,
    pub unk: Option<u32>,
    pub fuse_unk: bool,
    pub byte_fallback: bool,
    pub ignore_merges: bool,
    pub continuing_subword_prefix: Option<String>,
    pub end_of_word_suffix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    pub left: u32,
    pub right: u32,
    pub product: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostProcessor {
    ByteLevel {
        add_prefix_space: bool,
        trim_offsets: bool,
    },
    Roberta {
        sep: (String, u32),
        cls: (String, u32),
        trim_offsets: bool,
        add_prefix_space: bool,
    },
    Bert {
        sep: (String, u32),
        cls: (String, u32),
    },
    Template {
        single: Vec<TemplatePiece>,
        pair: Vec<TemplatePiece>,
        special_tokens: Vec<TemplateToken>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePiece {
    /// `$A` or `$B`.
    Sequence { second: bool, type_id: u32 },
    /// An index into `special_tokens`.
    Special { token: usize, type_id: u32 },
}

/// What one special piece of a template stands for: usually one id, possibly several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateToken {
    pub name: String,
    pub ids: Vec<u32>,
    pub tokens: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoder {
    ByteLevel,
    ByteFallback,
    Fuse,
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Metaspace {
        replacement: char,
        prepend: PrependScheme,
    },
    Bpe {
        suffix: String,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    /// For speech: repeated tokens count once, and what fills the gaps between them is left out.
    Ctc {
        pad_token: String,
        word_delimiter_token: String,
        cleanup: bool,
    },
    /// SentencePiece's own decoding, which is again one walk.
    SentencePiece(Box<SentencePieceDecoder>),
    /// The bytes of each id, whatever its text; stands alone.
    TokenBytes(Box<TokenBytes>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentencePieceDecoder {
    /// Pieces that say nothing.
    pub control: Vec<String>,
    pub unk: String,
    /// What the unknown piece is written as.
    pub unk_surface: String,
    /// Pieces such as `<0xE4>` are bytes.
    pub byte_fallback: bool,
    /// The first piece that begins with a space loses it.
    pub strip_dummy_prefix: bool,
    /// So does each after it, as long as nothing was written.
    pub strip_each: bool,
    /// Rewrites the whole text at the end.
    pub denormalizer: Option<SentencePieceNormalizer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationStrategy {
    LongestFirst,
    OnlyFirst,
    OnlySecond,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    pub max_length: usize,
    pub strategy: TruncationStrategy,
    pub stride: usize,
    pub direction: Side,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    /// `None`: as long as the longest of the batch.
    pub length: Option<usize>,
    pub direction: Side,
    pub pad_to_multiple_of: Option<usize>,
    pub pad_id: u32,
    pub pad_type_id: u32,
    pub pad_token: String,
}
