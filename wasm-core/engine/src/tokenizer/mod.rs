//! A tokenizer: a definition turned into tables, and the two ways through them.
//!
//! `ids` is the fast way: nothing but ids. `trace` is the way of the reference, which also knows
//! where each id came from; it serves calls with offsets, and it is the oracle of the
//! fast one. Both give the same ids for every text.

mod blanks;
mod cutting;
mod decoding;
pub mod fingerprint;
mod fit;
mod guarded;
mod ids;
mod info;
mod policy;
pub mod stop;
pub mod stream;
mod trace;

#[cfg(test)]
mod tests;

use crate::added::guard::IdSet;
use crate::added::AddedTokens;
use crate::cuts::Search;
use crate::decode::table::TokenTable;
use crate::decode::Decoders;
use crate::definition::{Definition, PreTokenizer, PrependScheme};
use crate::error::{Error, Result};
use crate::formats;
use crate::formats::Options;
use crate::model::bpe::Reading;
use crate::model::{Model, ModelScratch};
use crate::normalize::Normalizers;
use crate::post::Post;
use crate::split::pattern::Regex;
use crate::split::{PreTokenizers, RangePlan, Scanner};
use crate::text::{FindMatches, MAX_TEXT};
use blanks::Lead;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use decoding::stands_in;
pub use decoding::{Decoding, UnknownIds};
pub use fit::{Kept, Outcome, Room};
pub use guarded::Special;
pub use policy::Policy;
pub use trace::FullEncoding;

/// What a caller may ask of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Let the post-processor add its tokens.
    pub add_special: bool,
    /// Find special tokens in the text. Otherwise their names are text like any other.
    pub parse_special: bool,
}

impl Wanted {
    pub fn new(add_special: bool) -> Self {
        Self { add_special, parse_special: true }
    }
}

/// Immutable once built; may be shared by any number of threads, each with its own [`Scratch`].
#[derive(Debug)]
pub struct Tokenizer {
    /// Tells scratches of different tokenizers apart.
    serial: u32,
    added: AddedTokens,
    /// What untrusted text may not become; see [`crate::definition::control`].
    control: IdSet,
    /// What stands for text that the model does not know; no attack, even where it is special.
    unk: Option<u32>,
    normalizers: Normalizers,
    pre_tokenizers: PreTokenizers,
    route: Route,
    model: Model,
    post: Post,
    search: Search,
    decoders: Decoders,
    /// What the tokens become, where the decoders allow to know that beforehand.
    table: Option<TokenTable>,
    /// See [`Tokenizer::decoding_identity`].
    decoding_identity: u64,
    /// Each id below it has a token.
    known_below: u32,
    summary: info::Summary,
}

/// How text becomes ids when offsets are not asked for.
#[derive(Debug)]
enum Route {
    /// One known pattern, then bytes.
    Scanner(Scanner),
    /// Several steps that only cut, then bytes.
    Ranges(RangePlan),
    /// No step but one that writes blanks for spaces, which the model reads as such.
    Blanks(Lead),
    /// Step by step, as the reference does. `track`: a step asks where its piece began.
    Steps { track: bool },
}

impl Tokenizer {
    /// Reads a file of any served format.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::load_with(bytes, &Options::default())
    }

    pub fn load_with(bytes: &[u8], options: &Options) -> Result<Self> {
        Self::build(formats::read_with_config(bytes, options)?)
    }

    pub fn build(definition: Definition) -> Result<Self> {
        static SERIAL: AtomicU32 = AtomicU32::new(1);
        let mut summary = info::Summary::new(&definition);
        let normalizers = Normalizers::new(&definition.normalizer, &compile)?;
        let pre_tokenizers = PreTokenizers::new(&definition.pre_tokenizer)?;
        let post = Post::new(&definition)?;
        let decoders = Decoders::new(&definition.decoder, &compile)?;
        let decoder_chain = match &decoders.token_bytes {
            Some(table) => format!("TokenBytes {}", table.identity()),
            None => format!("{:?}", definition.decoder),
        };
        // Where something may stand before the first character, the next steps need alignments.
        let unanchored = normalizers.may_unanchor();
        let plan = match unanchored {
            true => None,
            false => RangePlan::compile(&definition.pre_tokenizer),
        };
        let unk = definition.model.unk();
        let Definition {
            added_tokens,
            ids_as_stated,
            longest_first,
            normalizer,
            pre_tokenizer,
            model,
            roles,
            chat_templates,
            control,
            ..
        } = definition;
        let lead = Lead::of(&normalizer, &pre_tokenizer);
        let spells = |step: &PreTokenizer| matches!(step, PreTokenizer::ByteLevel { .. });
        let reading = match (&plan, lead) {
            (Some(_), _) => Reading::Bytes,
            (None, None) if pre_tokenizer.iter().any(spells) => Reading::Bytes,
            (None, Some(_)) => Reading::Spaced,
            (None, None) => Reading::Characters,
        };
        let model = Model::new(model, reading)?;
        let normalize = |text: &str| normalizers.apply_plain(text).map(Cow::into_owned);
        let (vocab, first_free) = (model.vocab(), model.size());
        let added = AddedTokens::new(&added_tokens, ids_as_stated, vocab, first_free, normalize)?;
        summary.note_other_ids(&added);
        let control = control.ids(&roles, &chat_templates, vocab, &added);
        let added = if longest_first { added.longest_first()? } else { added };
        let route = match plan {
            Some(plan) if model.serves_bytes() => match plan.single_scanner() {
                // Scanners and byte-pair encoding are one loop.
                Some(scanner) if model.is_bpe() => Route::Scanner(scanner),
                _ => Route::Ranges(plan),
            },
            _ => match lead {
                Some(lead) if model.reads_blanks() && !added.matches_normalized() => {
                    Route::Blanks(lead)
                }
                _ => Route::Steps {
                    track: unanchored || asks_for_origin(&normalizers, &pre_tokenizer, &added),
                },
            },
        };
        let mut tokenizer = Self {
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            added,
            control,
            unk,
            normalizers,
            pre_tokenizers,
            route,
            model,
            post,
            search: Search::default(),
            decoders,
            table: None,
            decoding_identity: 0,
            known_below: 0,
            summary,
        };
        tokenizer.prepare_decoding(&decoder_chain);
        Ok(tokenizer)
    }

    /// The text of the token, as the file has it. For an added token, what its normalisation left.
    pub fn id_to_token(&self, id: u32) -> Option<&str> {
        self.added.text(id).or_else(|| self.model.vocab().text(id))
    }

    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        self.added.id(token).or_else(|| self.model.vocab().id(token))
    }

    /// Every token with its id: the model's, then the added ones that the model does not have.
    pub fn vocab(&self, with_added: bool) -> impl Iterator<Item = (&str, u32)> {
        let model = self.model.vocab().iter().filter(move |(text, id)| {
            // An added token of the same text may have been given another id: the later one counts.
            !with_added || self.added.id(text).is_none_or(|added| added == *id)
        });
        let added = self
            .added
            .contents()
            .filter(move |(text, id)| with_added && self.model.vocab().id(text) != Some(*id));
        model.chain(added)
    }

    /// How many [`Tokenizer::vocab`] lists with the added tokens: a token of both the model and the
    /// file is there once, whichever id it has.
    pub fn vocab_len(&self) -> usize {
        let model = self.model.vocab();
        model.len() + self.added.contents().filter(|(text, _)| model.id(text).is_none()).count()
    }
}

/// Whether a step reads where its piece began in the text, after something before it may have
/// changed that: a normalizer, a cut at an added token, or a cut by an earlier step. Ids without
/// offsets need the slow bookkeeping of origins only then.
fn asks_for_origin(normalizers: &Normalizers, steps: &[PreTokenizer], added: &AddedTokens) -> bool {
    steps.iter().enumerate().any(|(n, step)| {
        matches!(step, PreTokenizer::Metaspace { prepend: PrependScheme::First, .. })
            && (n > 0 || added.matches_normalized() || normalizers.may_move_start())
    })
}

/// Refuses what offsets of 32 bits cannot speak of: a text of `length` bytes, or what a normalizer
/// made of one.
fn admit(length: usize) -> Result<()> {
    if length > MAX_TEXT {
        return Err(Error::limit(format!(
            "a text of {length} bytes passes the bound of {MAX_TEXT}: cut it into pieces"
        )));
    }
    Ok(())
}

pub(crate) fn compile(pattern: &str) -> Result<Box<dyn FindMatches>> {
    Ok(Box::new(Regex::compile(pattern)?))
}

/// Caches and buffers of one caller. Serves any number of tokenizers, remembers the last few.
#[derive(Debug, Default)]
pub struct Scratch {
    entries: Vec<(u32, Workspace)>,
}

/// What encoding with one tokenizer writes to.
#[derive(Debug)]
struct Workspace {
    model: ModelScratch,
    raw: Vec<crate::added::Segment>,
    normalized: Vec<crate::added::Segment>,
    ranges: Vec<(u32, u32)>,
    /// The text continues another one.
    continues: bool,
}

impl Scratch {
    /// A workspace is a few megabytes; a caller that changes between more tokenizers pays for it.
    const REMEMBERED: usize = 4;

    pub fn new() -> Self {
        Self::default()
    }

    fn workspace(&mut self, tokenizer: &Tokenizer) -> Option<&mut Workspace> {
        let known = self.entries.iter().position(|(serial, _)| *serial == tokenizer.serial);
        match known {
            Some(0) => {}
            Some(at) => self.entries.swap(0, at),
            None => {
                self.entries.truncate(Self::REMEMBERED - 1);
                let workspace = Workspace {
                    model: tokenizer.model.scratch(),
                    raw: Vec::new(),
                    normalized: Vec::new(),
                    ranges: Vec::new(),
                    continues: false,
                };
                self.entries.insert(0, (tokenizer.serial, workspace));
            }
        }
        self.entries.first_mut().map(|(_, workspace)| workspace)
    }
}
