//! Pipelines that do nothing but write blanks for spaces, as those of SentencePiece do. For them
//! nothing is written: the model reads a space as a blank.

use crate::definition::{Normalizer, Pattern, PreTokenizer, PrependScheme};
use crate::model::bpe::merge::symbols::BLANK;

/// Before which stretches of text between added tokens a blank stands that is not in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    Never,
    /// Before all.
    Each,
    /// Before all that do not begin with one.
    Missing,
    /// The same, but only before what begins the text.
    MissingFirst,
}

impl Lead {
    /// `None`: the pipeline does something else.
    pub fn of(normalizers: &[Normalizer], pre_tokenizers: &[PreTokenizer]) -> Option<Self> {
        match (normalizers, pre_tokenizers) {
            ([writes], cuts) if writes_blanks(writes) && cut_nothing(cuts) => Some(Self::Never),
            ([Normalizer::Prepend(lead), writes], cuts)
                if is_blank(lead) && writes_blanks(writes) && cut_nothing(cuts) =>
            {
                Some(Self::Each)
            }
            ([], [PreTokenizer::Metaspace { replacement: BLANK, prepend, split: false }]) => {
                Some(match prepend {
                    PrependScheme::Never => Self::Never,
                    PrependScheme::Always => Self::Missing,
                    PrependScheme::First => Self::MissingFirst,
                })
            }
            _ => None,
        }
    }

    /// Whether a blank stands before `stretch`, which begins the text or not.
    pub fn precedes(self, stretch: &str, begins: bool) -> bool {
        match self {
            Self::Never => false,
            Self::Each => true,
            Self::Missing => !stretch.starts_with([' ', BLANK]),
            Self::MissingFirst => begins && !stretch.starts_with([' ', BLANK]),
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().eq([BLANK])
}

fn writes_blanks(step: &Normalizer) -> bool {
    match step {
        Normalizer::Replace { pattern: Pattern::Literal(space), content } => {
            space == " " && is_blank(content)
        }
        _ => false,
    }
}

/// Steps that cut at spaces find none, since all became blanks.
fn cut_nothing(steps: &[PreTokenizer]) -> bool {
    steps.iter().all(|step| match step {
        PreTokenizer::Split { pattern: Pattern::Literal(space), invert: false, .. } => space == " ",
        _ => false,
    })
}
