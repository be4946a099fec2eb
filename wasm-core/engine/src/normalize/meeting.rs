//! What the steps of a normalizer do at a border between two characters: see [`crate::cuts`].

use super::{Normalizers, Plain, Step};
use crate::cuts::{Because, Place};
use crate::split::byte_level::CHAR_OF_BYTE;
use crate::unicode::{class_of, is_whitespace, lowercase, BERT_CJK};

impl Normalizers {
    /// Carries the two characters through all steps. Fails where a step does not work on the two
    /// halves of a text apart.
    pub fn meet(&self, place: &mut Place) -> Result<(), Because> {
        self.steps.iter().try_for_each(|step| {
            step.meet(place)?;
            place.touched = true;
            Ok(())
        })
    }
}

const VANISHES: Because = "a character beside the cut vanishes";
const NO_PREFIX: Because = "a prefix, and a step before it that may leave nothing of a text";

impl Step {
    fn meet(&self, place: &mut Place) -> Result<(), Because> {
        let (left, right) = (place.left, place.right);
        match self {
            Self::Form(form) => {
                // An inert character is one before which any text may be cut, and one that only
                // what follows it directly can change.
                let behind = !place.touched && place.behind.is_none_or(|c| form.is_inert(c));
                let right_stays = place.plain || behind || !form.composes();
                match form.is_inert(left) && form.is_inert(right) && right_stays {
                    true => Ok(()),
                    false => Err("a normal form that may join characters at the cut"),
                }
            }
            Self::Lowercase => {
                let (left, right) = (lowercase(left), lowercase(right));
                let last = left.second.unwrap_or(left.first);
                place.becomes(Some(last), Some(right.first)).ok_or(VANISHES)
            }
            Self::Remove(flags) => match class_of(left).is(*flags) || class_of(right).is(*flags) {
                true => Err(VANISHES),
                false => Ok(()),
            },
            Self::ToSpaces(flags) => {
                let map = |c: char| if class_of(c).is(*flags) { ' ' } else { c };
                place.becomes(Some(map(left)), Some(map(right))).ok_or(VANISHES)
            }
            Self::PadChinese => {
                let map = |c: char| if class_of(c).is(BERT_CJK) { ' ' } else { c };
                place.becomes(Some(map(left)), Some(map(right))).ok_or(VANISHES)
            }
            Self::Strip { left: strips_left, right: strips_right } => {
                let at_end = *strips_right && is_whitespace(left);
                let at_start = *strips_left && is_whitespace(right);
                place.may_be_empty |= *strips_left && is_whitespace(left);
                match at_end || at_start {
                    true => Err("white space at the ends of a text is stripped"),
                    false => Ok(()),
                }
            }
            Self::Replace(replacement) => {
                let becomes = replacement
                    .meeting(left, right)
                    .ok_or("a replacement that may reach across the cut")?;
                place.plain &= replacement.keeps_plain();
                place.becomes(becomes.0, becomes.1).ok_or(VANISHES)
            }
            Self::Prepend(_) => {
                if place.may_be_empty {
                    return Err(NO_PREFIX);
                }
                place.prefixed = true;
                place.plain = false;
                Ok(())
            }
            Self::Precompiled(map) => {
                if !place.plain {
                    return Err("a map of character clusters, of which only printable ASCII is \
                                known to begin and end at the cut");
                }
                place.plain = false;
                let image = |c: char| match map.plain(c.encode_utf8(&mut [0; 4])) {
                    Plain::Same => Some((c, c)),
                    Plain::Changed(new) => Some((new.chars().next()?, new.chars().next_back()?)),
                    Plain::Unanchored => None,
                };
                let (left, right) = (image(left), image(right));
                place.becomes(left.map(|of| of.1), right.map(|of| of.0)).ok_or(VANISHES)
            }
            Self::SpellBytes => {
                place.plain = false;
                let spell = |byte: Option<u8>| byte.map(|byte| CHAR_OF_BYTE[usize::from(byte)]);
                let last = left.encode_utf8(&mut [0; 4]).bytes().next_back();
                let first = right.encode_utf8(&mut [0; 4]).bytes().next();
                place.becomes(spell(last), spell(first)).ok_or(VANISHES)
            }
            Self::SentencePiece(walk) => {
                place.plain = false;
                let (space, prefixed) = walk
                    .escapes_only()
                    .ok_or("SentencePiece's rules, which look at what is before them")?;
                if prefixed && place.may_be_empty {
                    return Err(NO_PREFIX);
                }
                place.prefixed |= prefixed;
                let map = |c: char| if c == ' ' { space } else { c };
                place.becomes(Some(map(left)), Some(map(right))).ok_or(VANISHES)
            }
            Self::Llama(llama) => {
                place.plain = false;
                let left = llama.each(left).ok_or("llama.cpp's rules for Unigram models")?;
                let right = llama.each(right).ok_or("llama.cpp's rules for Unigram models")?;
                place.becomes(left, right).ok_or(VANISHES)
            }
        }
    }
}
