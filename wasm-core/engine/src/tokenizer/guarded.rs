//! Text that may not become certain ids.
//!
//! The answer is that of a file without these tokens, wherever untrusted text would have become
//! one: as an added token, or as an entry of the model's vocabulary. The quick way encodes as if
//! nothing were forbidden and looks whether a forbidden id came out; only a stretch where one did
//! goes the step-by-step way, which knows what each byte came from.

use super::trace::Piece;
use super::{FullEncoding, Scratch, Tokenizer, Wanted, Workspace};
use crate::added::guard::{Guard, IdSet, Untrusted};
use crate::added::Segment;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Token;
use crate::text::AlignedText;
use std::borrow::Cow;
use std::ops::Range;

/// What special tokens a text may become, beyond "all" and "none".
#[derive(Debug, Clone, Copy)]
pub enum Special<'a> {
    /// None, and to name one is an error.
    Refuse,
    /// Those with these ids, and no others.
    Allow(&'a [u32]),
    /// All, but not from untrusted bytes. Added tokens with the ids `also` count as special.
    Trust { untrusted: &'a [Range<usize>], also: &'a [u32] },
}

impl Tokenizer {
    /// Appends the ids of a text, or of a pair of texts, to `out`.
    pub fn encode_special_ids(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: Option<&str>,
        (add_special, special): (bool, Special),
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let Some(forbidden) = self.forbidden(special) else {
            return self.encode_unless_special(scratch, first, second, add_special, out);
        };
        let guard = guard(&forbidden, special);
        let Some([prefix, middle, suffix]) = self.frame(second.is_some(), add_special) else {
            let made = self.process_guarded(scratch, first, second, add_special, Some(guard))?;
            out.extend(made.ids);
            return Ok(());
        };
        let workspace = scratch.workspace(self).ok_or_else(|| Error::internal("no workspace"))?;
        out.extend(prefix);
        self.guarded_ids(workspace, first, guard, out)?;
        if let Some(second) = second {
            out.extend(middle);
            self.guarded_ids(workspace, second, guard, out)?;
        }
        out.extend(suffix);
        Ok(())
    }

    /// The same with everything that a caller can ask of an encoding.
    pub fn encode_special_full(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: Option<&str>,
        (add_special, special): (bool, Special),
    ) -> Result<FullEncoding> {
        let Some(forbidden) = self.forbidden(special) else {
            self.require_no_special(scratch, first, second)?;
            return self.encode_full(scratch, first, second, Wanted::new(add_special));
        };
        let guard = guard(&forbidden, special);
        let made = self.process_guarded(scratch, first, second, add_special, Some(guard))?;
        Ok(FullEncoding::new(made, first, second.unwrap_or_default()))
    }

    /// For texts in which the names of special tokens are text.
    pub(super) fn names_are_text(&self) -> Guard<'_> {
        Guard { forbidden: &self.control, untrusted: Untrusted::All, passes_over: true }
    }

    /// `None`: nothing is to be kept out, but to be refused.
    fn forbidden(&self, special: Special) -> Option<Cow<'_, IdSet>> {
        let mut forbidden = Cow::Borrowed(&self.control);
        match special {
            Special::Refuse => return None,
            Special::Allow(ids) => ids.iter().for_each(|&id| forbidden.to_mut().remove(id)),
            Special::Trust { also, .. } => {
                also.iter().for_each(|&id| forbidden.to_mut().insert(id));
            }
        }
        Some(forbidden)
    }

    /// The ids of one text, without what the post-processor adds.
    pub(super) fn guarded_ids(
        &self,
        workspace: &mut Workspace,
        text: &str,
        guard: Guard,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        super::admit(text.len())?;
        let mut segments = std::mem::take(&mut workspace.raw);
        let found = self.find_raw_guarded(text, guard, &mut segments);
        let result = found.and_then(|()| {
            segments.iter().try_for_each(|segment| match segment.id {
                Some(id) => {
                    if segment.start < segment.end {
                        out.push(id);
                    }
                    Ok(())
                }
                None => {
                    self.guarded_stretch(workspace, text, segment.start..segment.end, guard, out)
                }
            })
        });
        workspace.raw = segments;
        result
    }

    /// A stretch between raw added tokens.
    fn guarded_stretch(
        &self,
        workspace: &mut Workspace,
        text: &str,
        range: Range<usize>,
        guard: Guard,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let stretch = text.get(range.clone()).unwrap_or_default();
        let wanted = Wanted { add_special: false, parse_special: !guard.passes_over };
        let before = out.len();
        self.stretch_ids(workspace, stretch, range.start, wanted, out)?;
        let new = out.get(before..).unwrap_or_default();
        if !guard.untrusted.touches(range.clone())
            || !new.iter().any(|&id| guard.forbidden.contains(id))
        {
            return Ok(());
        }
        out.truncate(before);
        let flags = guard.untrusted.flags(range.clone());
        let text = AlignedText::new(stretch, range.start, true).with_untrusted(flags);
        let (mut pieces, mut tokens) = (Vec::new(), Vec::new());
        self.stretch_pieces(text, Some(guard), &mut pieces)?;
        for piece in &pieces {
            tokens.clear();
            self.piece_tokens(workspace, piece, Some(guard), &mut tokens)?;
            out.extend(tokens.iter().map(|token| token.id));
        }
        Ok(())
    }

    /// Cuts the text as it came, with no forbidden token in untrusted bytes.
    pub(super) fn find_raw_guarded(
        &self,
        text: &str,
        guard: Guard,
        out: &mut Vec<Segment>,
    ) -> Result<()> {
        self.added.find_raw(text, !guard.passes_over, out);
        // White space that a token takes along is not its content, but worth a closer look.
        match all_permitted(out, |id, range| guard.permits(id, range)) {
            true => Ok(()),
            false => self.added.find_raw_permitted(text, |id, at| guard.permits(id, at), out),
        }
    }

    /// The same for a stretch of normalised text.
    pub(super) fn find_normalized_guarded(
        &self,
        text: &AlignedText,
        guard: Guard,
        out: &mut Vec<Segment>,
    ) -> Result<()> {
        self.added.find_normalized(text.as_str(), !guard.passes_over, out);
        let permits = |id, range| permits(text, guard, id, range);
        match all_permitted(out, permits) {
            true => Ok(()),
            false => self.added.find_normalized_permitted(text.as_str(), permits, out),
        }
    }

    /// Puts other tokens in the place of those of a piece, the ones from `first` on, if one of them
    /// is a forbidden entry of the model's vocabulary.
    pub(super) fn without_forbidden(
        &self,
        workspace: &mut Workspace,
        text: &AlignedText,
        guard: Guard,
        first: usize,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        let piece = text.as_str();
        let new = out.get(first..).unwrap_or_default();
        let is_forbidden = |token: &Token| guard.forbidden.contains(token.id);
        if !new.iter().any(is_forbidden) || !text.is_untrusted(0..piece.len()) {
            return Ok(());
        }
        let permits = |id, range| permits(text, guard, id, range);
        let mut tokens = Vec::new();
        let model = &mut workspace.model;
        if !self.model.permitted_tokens(model, piece, permits, &mut tokens)? {
            let is_entry = |token: &&Token| is_forbidden(token) && !self.is_unknown(piece, token);
            return match new.iter().find(is_entry) {
                Some(&found) => Err(self.cannot_do_without(found, text)),
                None => Ok(()),
            };
        }
        let stays =
            |token: &&Token| Some(token.id) != self.unk && !permits(token.id, range_of(token));
        if let Some(&found) = tokens.iter().find(stays) {
            return Err(self.cannot_do_without(found, text));
        }
        out.truncate(first);
        out.append(&mut tokens);
        Ok(())
    }

    fn cannot_do_without(&self, token: Token, text: &AlignedText) -> Error {
        let name = self.name(token.id).unwrap_or_default();
        Error::unsupported(
            "special:made_by_model",
            format!(
                "the model itself makes the special token {name:?} of this text, and cannot be \
                 told not to"
            ),
        )
        .at_offset(text.offsets_of(range_of(&token)).0 as u64)
    }

    /// As the token is listed, before any normalisation.
    fn name(&self, id: u32) -> Option<&str> {
        self.added.content(id).or_else(|| self.model.vocab().text(id))
    }

    fn encode_unless_special(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: Option<&str>,
        add_special: bool,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let wanted = Wanted::new(add_special);
        let before = out.len();
        match second {
            None => self.encode_ids(scratch, first, wanted, out)?,
            Some(second) => self.encode_pair_ids(scratch, first, second, wanted, out)?,
        }
        // The post-processor's own are among them, and are told from those of the text by where
        // they stand; only where there are more than it adds is a closer look needed.
        let found = out.get(before..).unwrap_or_default().iter();
        let special = found.filter(|&&id| self.control.contains(id)).count();
        let own = self.frame(second.is_some(), add_special).map(|frame| {
            let ids = frame.iter().flat_map(|part| part.iter());
            ids.filter(|&&id| self.control.contains(id)).count()
        });
        match own {
            Some(own) if own == special => Ok(()),
            _ => self.require_no_special(scratch, first, second),
        }
    }

    /// What post-processing puts before, between and behind, where that is all it does.
    fn frame(&self, is_pair: bool, add_special: bool) -> Option<[&[u32]; 3]> {
        Some(match is_pair {
            true => {
                let frame = self.post.pair_frame(add_special)?;
                [&frame.prefix, &frame.middle, &frame.suffix]
            }
            false => {
                let frame = self.post.frame(add_special)?;
                [&frame.prefix, &[], &frame.suffix]
            }
        })
    }

    /// Refuses texts that become a special token, with the first place where one does.
    fn require_no_special(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: Option<&str>,
    ) -> Result<()> {
        for (number, text) in [first].into_iter().chain(second).enumerate() {
            self.require_no_special_in(scratch, text).map_err(|error| match second {
                None => error,
                Some(_) => error.at_path(format!("texts[{number}]")),
            })?;
        }
        Ok(())
    }

    fn require_no_special_in(&self, scratch: &mut Scratch, text: &str) -> Result<()> {
        let pieces = self.pieces(text, None)?;
        let workspace = scratch.workspace(self).ok_or_else(|| Error::internal("no workspace"))?;
        let mut tokens = Vec::new();
        for piece in &pieces {
            tokens.clear();
            self.piece_tokens(workspace, piece, None, &mut tokens)?;
            let found = tokens.iter().find(|token| self.is_special_in(piece, token));
            if let Some(token) = found {
                return Err(self.special_in_text(piece, token));
            }
        }
        Ok(())
    }

    fn is_special_in(&self, piece: &Piece, token: &Token) -> bool {
        let is_unknown = || piece.id.is_none() && self.is_unknown(piece.text.as_str(), token);
        self.control.contains(token.id) && !is_unknown()
    }

    /// Whether a token of the model stands for unknown text, and not for its own name.
    fn is_unknown(&self, piece: &str, token: &Token) -> bool {
        Some(token.id) == self.unk && piece.get(range_of(token)) != self.name(token.id)
    }

    #[cold]
    fn special_in_text(&self, piece: &Piece, token: &Token) -> Error {
        let name = self.name(token.id).unwrap_or_default();
        let mut range = range_of(token);
        if piece.id.is_some() {
            // Without the white space that the token takes along.
            let content = self.added.text(token.id).unwrap_or_default();
            range.start += piece.text.as_str().find(content).unwrap_or(0);
        }
        let message = format!("the text names the special token {name:?}");
        let mut error = Error::new(ErrorKind::SpecialTokenInText, message)
            .at_offset(piece.text.offsets_of(range).0 as u64);
        error.feature = Some(name.to_owned());
        error
    }
}

fn guard<'a>(forbidden: &'a IdSet, special: Special<'a>) -> Guard<'a> {
    let untrusted = match special {
        Special::Trust { untrusted, .. } => Untrusted::Ranges(untrusted),
        Special::Refuse | Special::Allow(_) => Untrusted::All,
    };
    Guard { forbidden, untrusted, passes_over: false }
}

fn all_permitted(found: &[Segment], permits: impl Fn(u32, Range<usize>) -> bool) -> bool {
    found.iter().all(|segment| match segment.id {
        Some(id) => permits(id, segment.start..segment.end),
        None => true,
    })
}

/// Whether `id` may stand for these bytes of a normalised text: no untrusted byte is in them, nor
/// was one between those that they came from.
fn permits(text: &AlignedText, guard: Guard, id: u32, range: Range<usize>) -> bool {
    if !guard.forbidden.contains(id) {
        return true;
    }
    let (start, end) = text.offsets_of(range.clone());
    !text.is_untrusted(range) && !guard.untrusted.touches(start..end)
}

fn range_of(token: &Token) -> Range<usize> {
    token.start as usize..token.end as usize
}
