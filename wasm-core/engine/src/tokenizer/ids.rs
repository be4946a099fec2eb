//! The fast way: ids and nothing else.

use super::blanks::Lead;
use super::{admit, Route, Scratch, Tokenizer, Wanted, Workspace};
use crate::added::Segment;
use crate::error::{Error, Result};
use crate::model::bpe::{Bpe, BpeScratch};
use crate::split::scan::PieceScan;
use crate::text::AlignedText;

impl Tokenizer {
    /// Appends the ids of `text` to `out`.
    pub fn encode_ids(
        &self,
        scratch: &mut Scratch,
        text: &str,
        wanted: Wanted,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let Some(frame) = self.post.frame(wanted.add_special) else {
            out.extend(self.encode_full(scratch, text, None, wanted)?.ids);
            return Ok(());
        };
        append(out, &frame.prefix);
        self.text_ids(scratch, text, wanted, out)?;
        append(out, &frame.suffix);
        Ok(())
    }

    /// Appends the ids of a pair of texts to `out`.
    pub fn encode_pair_ids(
        &self,
        scratch: &mut Scratch,
        first: &str,
        second: &str,
        wanted: Wanted,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let Some(frame) = self.post.pair_frame(wanted.add_special) else {
            out.extend(self.encode_full(scratch, first, Some(second), wanted)?.ids);
            return Ok(());
        };
        append(out, &frame.prefix);
        self.text_ids(scratch, first, wanted, out)?;
        append(out, &frame.middle);
        self.text_ids(scratch, second, wanted, out)?;
        append(out, &frame.suffix);
        Ok(())
    }

    /// Appends the ids of all texts; `bounds` gets where each begins, and the end of the last.
    pub fn encode_batch_ids(
        &self,
        scratch: &mut Scratch,
        texts: &[&str],
        wanted: Wanted,
        out: &mut Vec<u32>,
        bounds: &mut Vec<u32>,
    ) -> Result<()> {
        let bound = |out: &[u32]| {
            u32::try_from(out.len()).map_err(|_| Error::limit("a batch of more than 2^32 ids"))
        };
        bounds.push(bound(out)?);
        if self.post.frame(wanted.add_special).is_some() {
            for text in texts {
                self.encode_ids(scratch, text, wanted, out)?;
                bounds.push(bound(out)?);
            }
            return Ok(());
        }
        let batch = self.process_batch(scratch, texts, wanted)?;
        for encoding in batch {
            out.extend(encoding.ids);
            bounds.push(bound(out)?);
        }
        Ok(())
    }

    /// The ids of one text, without what the post-processor adds.
    pub(super) fn text_ids(
        &self,
        scratch: &mut Scratch,
        text: &str,
        wanted: Wanted,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        admit(text.len())?;
        let Some(workspace) = scratch.workspace(self) else {
            return Err(Error::internal("no workspace"));
        };
        if !wanted.parse_special {
            return self.guarded_ids(workspace, text, self.names_are_text(), out);
        }
        if !self.added.matches_raw() {
            return self.stretch_ids(workspace, text, 0, wanted, out);
        }
        let mut segments = std::mem::take(&mut workspace.raw);
        self.added.find_raw(text, true, &mut segments);
        if let Route::Blanks(lead) = self.route {
            let result = self.stretches_ids(workspace, text, &segments, lead, out);
            workspace.raw = segments;
            return result;
        }
        let result = segments.iter().try_for_each(|segment| match segment.id {
            Some(id) => {
                // A match may be empty after overlaps; the reference drops empty pieces.
                if segment.start < segment.end {
                    out.push(id);
                }
                Ok(())
            }
            None => {
                let stretch = text.get(segment.start..segment.end).unwrap_or_default();
                self.stretch_ids(workspace, stretch, segment.start, wanted, out)
            }
        });
        workspace.raw = segments;
        result
    }

    /// All stretches and the added tokens between them, for pipelines that only write blanks: where
    /// each line break is a token, stretches are too short to be looked up one by one.
    fn stretches_ids(
        &self,
        workspace: &mut Workspace,
        text: &str,
        segments: &[Segment],
        lead: Lead,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let continues = workspace.continues;
        let Some((bpe, scratch)) = self.model.as_bpe(&mut workspace.model) else {
            return Err(Error::internal("the scratch belongs to another model"));
        };
        bpe.begin_stretches(scratch);
        for segment in segments.iter().filter(|segment| segment.start < segment.end) {
            let (range, begins) = (segment.start..segment.end, segment.start == 0);
            match segment.id {
                Some(id) => bpe.queue_token(scratch, text, id, out),
                None => {
                    let stretch = text.get(range.clone()).unwrap_or_default();
                    let leads =
                        !(continues && begins) && lead.precedes(stretch, begins && !continues);
                    bpe.queue_stretch(scratch, text, range, leads, out);
                }
            }
        }
        bpe.settle_stretches(scratch, text, out);
        Ok(())
    }

    /// A stretch without raw added tokens, which begins at `origin` of the text.
    pub(super) fn stretch_ids(
        &self,
        workspace: &mut Workspace,
        stretch: &str,
        origin: usize,
        wanted: Wanted,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if stretch.is_empty() {
            return Ok(());
        }
        let begins = origin == 0;
        // Only what begins a text has an origin of 0.
        let origin = origin + usize::from(workspace.continues);
        if let Route::Steps { track: true } = self.route {
            return self.tracked_ids(workspace, stretch, origin, out);
        }
        if let Route::Blanks(lead) = self.route {
            let leads = match workspace.continues && begins {
                true => false,
                false => lead.precedes(stretch, origin == 0),
            };
            return self.model.spaced_ids(&mut workspace.model, stretch, leads, out);
        }
        let normalized = match workspace.continues && begins {
            true => self.normalizers.continue_plain(stretch)?,
            false => self.normalizers.apply_plain(stretch)?,
        };
        admit(normalized.len())?;
        if !self.added.matches_normalized() {
            return self.piece_ids(workspace, &normalized, origin, out);
        }
        let mut segments = std::mem::take(&mut workspace.normalized);
        self.added.find_normalized(&normalized, wanted.parse_special, &mut segments);
        let result = segments.iter().try_for_each(|segment| match segment.id {
            Some(id) => {
                if segment.start < segment.end {
                    out.push(id);
                }
                Ok(())
            }
            None => {
                let piece = normalized.get(segment.start..segment.end).unwrap_or_default();
                self.piece_ids(workspace, piece, origin, out)
            }
        });
        workspace.normalized = segments;
        result
    }

    /// Normalised text between added tokens.
    fn piece_ids(
        &self,
        workspace: &mut Workspace,
        piece: &str,
        origin: usize,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        // The normalizer may leave nothing of a stretch; no model is given an empty piece.
        if piece.is_empty() {
            return Ok(());
        }
        match &self.route {
            Route::Scanner(scanner) if self.model.spells(piece.as_bytes()) => {
                if let Some((bpe, scratch)) = self.model.as_bpe(&mut workspace.model) {
                    scanner.visit(ScanPieces { bpe, scratch, text: piece.as_bytes(), out });
                }
            }
            Route::Ranges(plan) if self.model.spells(piece.as_bytes()) => {
                workspace.ranges.clear();
                plan.split_into(piece, &mut workspace.ranges)?;
                let Workspace { model, ranges, .. } = workspace;
                self.model.range_ids(model, piece.as_bytes(), ranges, out)?;
            }
            _ => {
                let text = AlignedText::new(piece, origin, false);
                for part in self.pre_tokenizers.apply(vec![text])? {
                    self.model.ids(&mut workspace.model, part.as_str(), out)?;
                }
            }
        }
        Ok(())
    }

    /// The step-by-step way with origins, for the few pipelines that ask for them.
    fn tracked_ids(
        &self,
        workspace: &mut Workspace,
        stretch: &str,
        origin: usize,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let text = AlignedText::new(stretch, origin, true);
        for piece in self.normalized_pieces(text, None)? {
            match piece.id {
                Some(id) => out.push(id),
                None => {
                    for part in self.pre_tokenizers.apply(vec![piece.text])? {
                        self.model.ids(&mut workspace.model, part.as_str(), out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a post-processor adds is mostly nothing, and to copy nothing is a call of the host, too.
#[inline(always)]
fn append(out: &mut Vec<u32>, ids: &[u32]) {
    for &id in ids {
        out.push(id);
    }
}

/// The hot loop, once for each pattern: the scanner is known when it is compiled.
struct ScanPieces<'a> {
    bpe: &'a Bpe,
    scratch: &'a mut BpeScratch,
    text: &'a [u8],
    out: &'a mut Vec<u32>,
}

impl crate::split::scan::ScanVisitor for ScanPieces<'_> {
    type Output = ();

    fn visit<S: PieceScan>(self, scan: &S) {
        self.bpe.encode_pieces(self.scratch, scan, self.text, self.out);
    }
}
