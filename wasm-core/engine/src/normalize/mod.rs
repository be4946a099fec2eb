//! The normalizer: what is done to the text before it is cut into pieces.
//!
//! Each step exists twice. `plain` works on strings alone and is quick to see that nothing
//! changes; `aligned` does what the reference does, edit by edit, and keeps the alignments.

pub mod charsmap;
mod forms;
mod llama;
mod meeting;
mod plain;
mod precompiled;
mod replace;
mod sentence_piece;

use std::borrow::Cow;

use crate::definition;
use crate::error::{Error, Result};
use crate::split::byte_level::spell_bytes;
use crate::text::{AlignedText, FindMatches};
use crate::unicode::{
    class_of, is_whitespace, lowercase, ACCENT, BERT_ACCENT, BERT_CJK, BERT_CONTROL, NMT_CONTROL,
    NMT_SPACE, SPACE,
};
use forms::Form;
use precompiled::Precompiled;
use replace::Replacement;
pub use sentence_piece::SentencePiece;

/// Compiles a pattern in Oniguruma's syntax.
pub type CompileRegex<'a> = &'a dyn Fn(&str) -> Result<Box<dyn FindMatches>>;

/// The steps of a normalizer, ready to run.
#[derive(Debug, Default)]
pub struct Normalizers {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Form(Form),
    Lowercase,
    /// Removes the characters of these sets.
    Remove(u32),
    /// Turns the characters of these sets into spaces.
    ToSpaces(u32),
    /// Puts a space on either side of Chinese characters.
    PadChinese,
    Strip {
        left: bool,
        right: bool,
    },
    Replace(Replacement),
    Prepend(String),
    Precompiled(Box<Precompiled>),
    /// Puts the alphabet of bytes in the place of the bytes.
    SpellBytes,
    SentencePiece(Box<SentencePiece>),
    Llama(llama::Llama),
}

/// What a step did to a string.
#[derive(Debug, PartialEq, Eq)]
enum Plain {
    Same,
    Changed(String),
    /// Something came to stand before the first character, so that what the next steps do
    /// depends on alignments (see [`crate::text`]).
    Unanchored,
}

impl Normalizers {
    pub fn new(steps: &[definition::Normalizer], compile: CompileRegex<'_>) -> Result<Self> {
        let mut normalizers = Self::default();
        for step in steps {
            normalizers.add(step, compile)?;
        }
        Ok(normalizers)
    }

    /// Whether the normalizer leaves every text alone.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether [`Plain::Unanchored`] may happen: what a pre-tokenizer prepends afterwards then also
    /// depends on alignments.
    pub fn may_unanchor(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Prepend(content) => content.is_empty(),
            Step::Replace(replacement) => replacement.may_stand_first(),
            _ => false,
        })
    }

    /// Whether the first character of the result may come from a later one of the text: what stood
    /// before it was removed, or replaced as a part of a longer match.
    pub fn may_move_start(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Remove(_) | Step::SentencePiece(_) | Step::Llama(_) => true,
            Step::Strip { left, .. } => *left,
            Step::Replace(replacement) => !replacement.keeps_start(),
            // Each of these writes something for the first character, and aligns it there.
            Step::Form(_)
            | Step::Lowercase
            | Step::ToSpaces(_)
            | Step::PadChinese
            | Step::Prepend(_)
            | Step::Precompiled(_)
            | Step::SpellBytes => false,
        })
    }

    pub fn apply(&self, text: &mut AlignedText) -> Result<()> {
        self.steps.iter().try_for_each(|step| step.apply(text))
    }

    /// Whether something is put in front of a text.
    pub fn has_prefix(&self) -> bool {
        self.steps.iter().any(Step::is_prefix)
    }

    /// The normalized text without alignments; borrowed if nothing changes.
    pub fn apply_plain<'a>(&self, text: &'a str) -> Result<Cow<'a, str>> {
        let mut current = Cow::Borrowed(text);
        for step in &self.steps {
            match step.plain(&current)? {
                Plain::Same => {}
                Plain::Changed(new) => current = Cow::Owned(new),
                Plain::Unanchored => {
                    let mut whole = AlignedText::new(text, 0, false);
                    self.apply(&mut whole)?;
                    return Ok(match whole.into_string() {
                        same if same == text => Cow::Borrowed(text),
                        new => Cow::Owned(new),
                    });
                }
            }
        }
        Ok(current)
    }

    /// The same for a text that continues another one: nothing is put in front of it. Serves texts
    /// that begin at a cut; see [`crate::cuts`].
    pub fn continue_plain<'a>(&self, text: &'a str) -> Result<Cow<'a, str>> {
        let mut current = Cow::Borrowed(text);
        for step in &self.steps {
            match step.continued(&current)? {
                Plain::Same => {}
                Plain::Changed(new) => current = Cow::Owned(new),
                Plain::Unanchored => {
                    return Err(Error::internal("no text is cut before this step"))
                }
            }
        }
        Ok(current)
    }

    fn add(&mut self, step: &definition::Normalizer, compile: CompileRegex<'_>) -> Result<()> {
        use definition::Normalizer;
        let steps = &mut self.steps;
        match step {
            Normalizer::Nfc => steps.push(Step::Form(Form::Nfc)),
            Normalizer::Nfd => steps.push(Step::Form(Form::Nfd)),
            Normalizer::Nfkc => steps.push(Step::Form(Form::Nfkc)),
            Normalizer::Nfkd => steps.push(Step::Form(Form::Nfkd)),
            Normalizer::Lowercase => steps.push(Step::Lowercase),
            Normalizer::StripAccents => steps.push(Step::Remove(ACCENT)),
            &Normalizer::Strip { left, right } => steps.push(Step::Strip { left, right }),
            Normalizer::Replace { pattern, content } => {
                steps.push(Step::Replace(Replacement::new(pattern, content, compile)?));
            }
            Normalizer::Prepend(content) => steps.push(Step::Prepend(content.clone())),
            Normalizer::Precompiled { charsmap } => {
                let made = Precompiled::new(&charsmap.0).map_err(|error| {
                    // What it counts are bytes of the map, and the file has the map in base64.
                    Error { offset: None, ..error }.at_path("$.normalizer")
                })?;
                steps.push(Step::Precompiled(Box::new(made)));
            }
            Normalizer::Nmt => {
                steps.extend([Step::Remove(NMT_CONTROL), Step::ToSpaces(NMT_SPACE)]);
            }
            Normalizer::ByteLevel => steps.push(Step::SpellBytes),
            Normalizer::SentencePiece(definition) => {
                steps.push(Step::SentencePiece(Box::new(SentencePiece::new(definition)?)));
            }
            Normalizer::Llama(llama) => steps.push(Step::Llama(llama::Llama::new(llama)?)),
            &Normalizer::Bert { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
                if clean_text {
                    steps.extend([Step::Remove(BERT_CONTROL), Step::ToSpaces(SPACE)]);
                }
                if handle_chinese_chars {
                    steps.push(Step::PadChinese);
                }
                if strip_accents.unwrap_or(lowercase) {
                    steps.extend([Step::Form(Form::Nfd), Step::Remove(BERT_ACCENT)]);
                }
                if lowercase {
                    steps.push(Step::Lowercase);
                }
            }
        }
        Ok(())
    }
}

impl Step {
    fn plain(&self, text: &str) -> Result<Plain> {
        Ok(match self {
            Self::Form(form) => form.plain(text),
            Self::Lowercase => plain::lowercase(text),
            Self::Remove(flags) => plain::remove(text, *flags),
            Self::ToSpaces(flags) => plain::to_spaces(text, *flags),
            Self::PadChinese => plain::pad_chinese(text),
            &Self::Strip { left, right } => plain::strip(text, left, right),
            Self::Replace(replacement) => return replacement.plain(text),
            Self::Prepend(content) => plain::prepend(text, content),
            Self::Precompiled(map) => map.plain(text),
            Self::SpellBytes => plain::spell_bytes(text),
            Self::SentencePiece(walk) => return walk.plain(text),
            Self::Llama(llama) => llama.plain(text),
        })
    }

    fn is_prefix(&self) -> bool {
        match self {
            Self::Prepend(content) => !content.is_empty(),
            Self::SentencePiece(walk) => walk.escapes_only().is_some_and(|(_, prefixed)| prefixed),
            _ => false,
        }
    }

    fn continued(&self, text: &str) -> Result<Plain> {
        match self {
            Self::Prepend(_) => Ok(Plain::Same),
            Self::SentencePiece(walk) => Ok(walk.continued(text)),
            _ => self.plain(text),
        }
    }

    fn apply(&self, text: &mut AlignedText) -> Result<()> {
        if !text.is_tracked() {
            match self.plain(text.as_str())? {
                Plain::Same => return Ok(()),
                Plain::Changed(new) => {
                    text.set_untracked(new);
                    return Ok(());
                }
                Plain::Unanchored => {}
            }
        }
        self.aligned(text)
    }

    fn aligned(&self, text: &mut AlignedText) -> Result<()> {
        match self {
            Self::Form(form) => form.aligned(text),
            Self::Lowercase => text.rewrite(|c, editor| {
                let lower = lowercase(c);
                editor.push(lower.first, 0)?;
                lower.second.map_or(Ok(()), |second| editor.push(second, 1))
            }),
            Self::Remove(flags) => text.filter(|c| !class_of(c).is(*flags)),
            Self::ToSpaces(flags) => text.map(|c| if class_of(c).is(*flags) { ' ' } else { c }),
            Self::PadChinese => text.rewrite(|c, editor| {
                if !class_of(c).is(BERT_CJK) {
                    return editor.push(c, 0);
                }
                editor.push(' ', 0)?;
                editor.push(c, 1)?;
                editor.push(' ', 1)
            }),
            &Self::Strip { left, right } => text.strip(left, right, is_whitespace),
            Self::Replace(replacement) => replacement.aligned(text),
            Self::Llama(llama) => llama.aligned(text),
            Self::Prepend(content) => {
                text.prepend(content);
                Ok(())
            }
            Self::Precompiled(map) => map.aligned(text),
            Self::SpellBytes => spell_bytes(text),
            Self::SentencePiece(walk) => walk.aligned(text),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod untrusted_tests;
