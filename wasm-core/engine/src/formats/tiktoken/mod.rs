//! Rank files: lines of base64 and a rank, as tiktoken reads them.
//!
//! Such a file holds tokens and nothing else. How text is cut into pieces, and which special tokens
//! there are, is said by the caller, or known from the fingerprint of a published file, or not at
//! all: then the file is refused, because any guess gives wrong ids for some text.

mod known;
mod lines;
mod pattern;

use crate::definition::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::options::Options;
use crate::formats::ranks;
use crate::split::byte_level::byte_of_char;
use crate::vocab::Vocab;
use known::{Encoding, Run, Specials};

pub use pattern::cut;

pub fn read(bytes: &[u8], options: &Options) -> Result<Definition> {
    let vocab = lines::read(bytes, &options.limits)?;
    let answers = Answers::find(bytes, options)?;
    let merges = ranks::merges(&vocab);
    let made = |text: &str| {
        let id = vocab.id(text);
        merges.binary_search_by_key(&id, |merge| Some(merge.product)).is_ok()
    };
    let cut = pattern::cut(&answers.pattern, &vocab, made)?;
    check_specials(&answers.specials, &vocab)?;
    let mut definition = ranks::definition("tiktoken", vocab, merges, cut);
    definition.added_tokens =
        answers.specials.into_iter().map(|(name, id)| ranks::special(name, id, true)).collect();
    definition.notes = answers.notes;
    Ok(definition)
}

/// What a rank file does not say.
struct Answers {
    pattern: String,
    specials: Vec<(String, u32)>,
    notes: Vec<String>,
}

impl Answers {
    fn find(bytes: &[u8], options: &Options) -> Result<Self> {
        let (base, mut notes) = base(bytes, options)?;
        let pattern = match (&options.pattern, base) {
            (Some(pattern), _) => pattern.clone(),
            (None, Some(base)) => base.pattern.to_owned(),
            (None, None) => return Err(ambiguous(
                "a rank file does not say how to cut text into pieces, and this one is not among \
                 the known ones",
            )),
        };
        let specials = match (&options.special_tokens, base) {
            (Some(specials), _) => specials.iter().map(|(name, &id)| (name.clone(), id)).collect(),
            (None, Some(base)) => special_tokens(base)?,
            (None, None) => {
                notes.push("no special tokens were given".to_owned());
                Vec::new()
            }
        };
        Ok(Self { pattern, specials, notes })
    }
}

/// The special tokens of an encoding, if they are known.
pub fn special_tokens(encoding: &Encoding) -> Result<Vec<(String, u32)>> {
    match encoding.specials {
        Specials::Known(runs) => Ok(runs.iter().flat_map(Run::tokens).collect()),
        Specials::Elsewhere(place) => Err(ambiguous(&format!(
            "the pattern of {} is known, the special tokens of the file are not: {place}",
            encoding.name
        ))),
    }
}

/// The encoding with this name.
pub fn encoding(name: &str) -> Result<&'static Encoding> {
    known::encoding(name).ok_or_else(|| {
        let names: Vec<&str> = known::ENCODINGS.iter().map(|known| known.name).collect();
        Error::new(
            ErrorKind::BadArgument,
            format!("unknown encoding {name:?}; known are {}", names.join(", ")),
        )
    })
}

/// The encoding that the caller names, or that the file is known to be; and what to say about it.
fn base(bytes: &[u8], options: &Options) -> Result<(Option<&'static Encoding>, Vec<String>)> {
    if let Some(name) = &options.encoding {
        let encoding = encoding(name)?;
        if let Some(file) = known::file(bytes) {
            let fits = file.encoding == encoding.name || file.also.contains(&encoding.name);
            if !fits {
                return Err(Error::new(
                    ErrorKind::BadArgument,
                    format!("this file is {}, and not {name}", file.encoding),
                ));
            }
        }
        return Ok((Some(encoding), Vec::new()));
    }
    if options.pattern.is_some() && options.special_tokens.is_some() {
        return Ok((None, Vec::new()));
    }
    let Some(file) = known::file(bytes) else { return Ok((None, Vec::new())) };
    let note = file.note.filter(|_| options.special_tokens.is_none());
    let notes = note.map(str::to_owned).into_iter().collect();
    Ok((known::encoding(file.encoding), notes))
}

fn ambiguous(what: &str) -> Error {
    Error::new(
        ErrorKind::AmbiguousPattern,
        format!(
            "{what}. Pass `encoding` (the name of a known encoding, such as \"cl100k_base\"), or \
             `pattern` and `special_tokens`"
        ),
    )
}

/// A special token must be told apart from every rank, and by its bytes when it is decoded.
fn check_specials(specials: &[(String, u32)], vocab: &Vocab) -> Result<()> {
    for (name, id) in specials {
        let refuse = |what: String| Err(Error::new(ErrorKind::BadArgument, what));
        if name.is_empty() {
            return refuse("a special token is empty".to_owned());
        }
        if vocab.text(*id).is_some() {
            return refuse(format!("the special token {name:?} has the id {id} of a rank"));
        }
        if *id > crate::vocab::MAX_ID {
            return Err(Error::limit(format!(
                "the special token {name:?} has the id {id}; the largest that is served is {}",
                crate::vocab::MAX_ID
            )));
        }
        if !name.is_ascii() && name.chars().all(|c| byte_of_char(c).is_some()) {
            return Err(Error::unsupported(
                "special_tokens:byte_alphabet",
                format!("the special token {name:?} reads like bytes spelled in the byte alphabet"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
