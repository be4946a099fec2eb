//! The way of parts: text of a vocabulary of characters, cut where nothing joins
//! ([`super::spaced`]). Each part is looked up in the cache and merged only if it is not there, several
//! together.

use super::byte_text::padded;
use super::misses::Missed;
use super::{Bpe, BpeScratch};
use crate::model::bpe::cache::batch::{Batch, VIEW};
use crate::model::bpe::cache::key::Key;
use crate::model::bpe::cache::pieces::PieceCache;
use crate::model::bpe::long::backtrack::PieceMerger;
use crate::model::bpe::merge::merger::{merge_symbols, SHORT};
use crate::model::bpe::merge::symbols::Symbol;
use crate::model::bpe::merge::symbols::BLANK;
use crate::model::bpe::spaced::joins::Joins;
use crate::simd::lane16::Wide;
use std::ops::Range;

impl Bpe {
    /// Whether texts may be cut into parts.
    pub fn has_parts(&self) -> bool {
        self.joins.is_some()
    }

    #[inline(always)]
    pub(super) fn encode_parts(
        &self,
        joins: &Joins,
        scratch: &mut BpeScratch,
        text: &str,
        out: &mut Vec<u32>,
    ) {
        scratch.batch.clear();
        joins.parts(text, |start, end| self.queue_part::<false>(scratch, text, start, end, out));
        self.settle_parts::<false>(scratch, text, out);
    }

    /// The ids of a text in which spaces stand for blanks. `leads`: as if one more stood before it.
    pub fn spaced_ids(
        &self,
        scratch: &mut BpeScratch,
        text: &str,
        leads: bool,
        out: &mut Vec<u32>,
    ) {
        self.begin_stretches(scratch);
        self.queue_stretch(scratch, text, 0..text.len(), leads, out);
        self.settle_stretches(scratch, text, out);
    }

    /// To be called before any stretch is queued.
    pub fn begin_stretches(&self, scratch: &mut BpeScratch) {
        scratch.batch.clear();
    }

    /// Queues a stretch of such a text: lines are short where a file has line breaks for tokens, and
    /// a batch of one line is not worth looking up together. To be followed by
    /// [`Self::settle_stretches`].
    pub fn queue_stretch(
        &self,
        scratch: &mut BpeScratch,
        text: &str,
        range: Range<usize>,
        leads: bool,
        out: &mut Vec<u32>,
    ) {
        let Some(joins) = &self.joins else { return };
        let mut start = range.start;
        if leads {
            // Written out, since the text has not got the blank that its first part begins with.
            let stretch = text.get(range.clone()).unwrap_or_default();
            let first = stretch.get(..joins.first_spaced_part(stretch)).unwrap_or_default();
            start += first.len();
            let first: String = [BLANK].into_iter().chain(first.chars()).collect();
            self.settle_stretches(scratch, text, out);
            self.queue_spaced(joins, scratch, &first, 0..first.len(), out);
            self.settle_stretches(scratch, &first, out);
        }
        self.queue_spaced(joins, scratch, text, start..range.end, out);
    }

    /// Queues a token that stands between two stretches.
    pub fn queue_token(&self, scratch: &mut BpeScratch, text: &str, id: u32, out: &mut Vec<u32>) {
        scratch.batch.push_token(id);
        if scratch.batch.is_full() {
            self.settle_stretches(scratch, text, out);
        }
    }

    /// Appends the ids of all that was queued.
    pub fn settle_stretches(&self, scratch: &mut BpeScratch, text: &str, out: &mut Vec<u32>) {
        self.settle_parts::<true>(scratch, text, out);
    }

    #[inline(always)]
    fn queue_spaced(
        &self,
        joins: &Joins,
        scratch: &mut BpeScratch,
        text: &str,
        range: Range<usize>,
        out: &mut Vec<u32>,
    ) {
        let (bytes, mut start) = (text.as_bytes(), range.start);
        while start < range.end {
            let rest = bytes.get(start..).unwrap_or_default();
            let length = range.end - start;
            let end = match rest.first_chunk() {
                Some(view) => queue_window(joins, &mut scratch.batch, view, start, length),
                None => queue_window(joins, &mut scratch.batch, &padded(rest), start, length),
            };
            if scratch.batch.is_full() {
                self.settle_parts::<true>(scratch, text, out);
            }
            start = match end > start {
                true => end,
                false => joins.spaced_parts(bytes, start..range.end, |start, end| {
                    self.queue_part::<true>(scratch, text, start, end, out);
                }),
            };
        }
    }

    #[inline(always)]
    fn queue_part<const SPACED: bool>(
        &self,
        scratch: &mut BpeScratch,
        text: &str,
        start: usize,
        end: usize,
        out: &mut Vec<u32>,
    ) {
        scratch.batch.push(Key::new(text.as_bytes(), start, end - start), start, end);
        if scratch.batch.is_full() {
            self.settle_parts::<SPACED>(scratch, text, out);
        }
    }

    #[inline(never)]
    fn settle_parts<const SPACED: bool>(
        &self,
        scratch: &mut BpeScratch,
        text: &str,
        out: &mut Vec<u32>,
    ) {
        let BpeScratch { merger, symbols, cache, batch, missed, segments, .. } = scratch;
        batch.look_up(cache, text.as_bytes());
        let mut copied = 0;
        let ascii = self.ascii.as_ref().filter(|_| SPACED == self.spaced);
        for misses in batch.misses().chunks(Missed::ROOM) {
            if let Some(ascii) = ascii {
                let working = (&mut *cache, &mut **segments, &mut *merger);
                missed.prepare(self, ascii, working, batch, text.as_bytes(), misses);
            }
            for (n, miss) in misses.iter().enumerate() {
                batch.append_ids(copied, miss.filled(), out);
                copied = miss.filled();
                let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
                if let Some(id) = key.token() {
                    out.push(id);
                    cache.insert_answer(key, Wide::load_lanes(&[id, 0, 0, 1]));
                    continue;
                }
                let part = text.get(start..end).unwrap_or_default();
                if ascii.is_some() && missed.take(n, cache, segments, key, part.as_bytes(), out) {
                    continue;
                }
                let working = (&mut *merger, &mut *symbols, &mut *cache);
                self.encode_missed_part::<SPACED>(working, key, part, out);
            }
        }
        batch.append_ids(copied, batch.filled(), out);
        batch.clear();
    }

    /// A part that the first table does not know, or that is too long for it.
    #[inline(never)]
    fn encode_missed_part<const SPACED: bool>(
        &self,
        (merger, symbols, cache): (&mut PieceMerger, &mut Vec<Symbol>, &mut PieceCache),
        key: Key,
        part: &str,
        out: &mut Vec<u32>,
    ) {
        if cache.recall(key, part.as_bytes(), out) {
            return;
        }
        let before = out.len();
        // Of a part with its blanks written, a space is none.
        let is_learned = SPACED == self.spaced || !(SPACED || part.contains(' '));
        match self.whole(key, part.as_bytes()).filter(|_| is_learned) {
            Some(id) => out.push(id),
            None if part.len() > SHORT && is_learned && self.long_part(merger, part, out) => {}
            None => {
                self.units.symbols(&self.vocab, part, SPACED, symbols);
                merge_symbols(&self.pairs, &mut merger.merger, symbols, out);
            }
        }
        cache.remember(key, part.as_bytes(), out.get(before..).unwrap_or_default());
    }
}

/// Queues the parts in the window at the start of `view`, which is at `base` of the text, `length`
/// bytes before the end of the stretch; answers where they end.
#[inline(always)]
fn queue_window(
    joins: &Joins,
    batch: &mut Batch,
    view: &[u8; VIEW],
    base: usize,
    length: usize,
) -> usize {
    match joins.cuts(view, length) {
        0 => base,
        cuts => batch.push_window(view, cuts, base),
    }
}

#[cfg(test)]
mod tests {
    use crate::definition::{Bpe as Definition, Merge};
    use crate::model::bpe::long::backtrack::PieceMerger;
    use crate::model::bpe::{Bpe, Reading};
    use crate::oracle::random::Random;
    use crate::vocab::Vocab;

    const ATOMS: [&str; 14] =
        ["▁", "a", "b", "Z", "1", ".", "\n", "é", "你", "🌶", "\0", "z", "\u{2582}", "-"];

    /// Characters of all kinds and merges over them; blanks begin tokens, seldom end them.
    fn definition(random: &mut Random) -> Definition {
        let mut vocab = Vocab::new();
        let mut texts: Vec<String> = vec!["<unk>".to_owned()];
        texts.extend(ATOMS[..11].iter().map(|text| (*text).to_owned()));
        texts.extend((0..=255u8).map(|b| format!("<0x{b:02X}>")));
        for (id, text) in (0..).zip(&texts) {
            vocab.insert(text, id).unwrap();
        }
        let mut known: Vec<u32> = (1..12).collect();
        let mut merges = Vec::new();
        let blank_ends = random.below(3) == 0;
        for _ in 0..random.below(80) {
            let (left, right) = (*random.pick(&known), *random.pick(&known));
            let (first, second) = (vocab.text(left).unwrap(), vocab.text(right).unwrap());
            let text = format!("{first}{second}");
            let blank_inside = second.starts_with('▁') && !first.ends_with('▁');
            if vocab.id(&text).is_none() && (blank_ends || !blank_inside) {
                let product = vocab.id_bound();
                vocab.insert(&text, product).unwrap();
                known.push(product);
                merges.push(Merge { left, right, product });
            }
        }
        Definition {
            vocab,
            merges,
            unk: Some(0),
            fuse_unk: true,
            byte_fallback: true,
            ignore_merges: false,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
        }
    }

    /// Windows, what is not ASCII, and the cache, against one merge of the text with its blanks
    /// written.
    #[test]
    fn spaces_are_read_as_blanks() {
        let mut random = Random::new(23);
        let mut parts = 0;
        for round in 0..300 {
            let bpe = Bpe::new(definition(&mut random), Reading::Spaced);
            let joins = bpe.joins.as_ref().unwrap();
            let mut scratch = bpe.scratch();
            for _ in 0..40 {
                let length = random.below(if round % 10 == 0 { 900 } else { 150 });
                let kinds = 1 + random.below(ATOMS.len() - 1);
                let rare = 1 + random.below(20);
                let text: String = (0..length)
                    .map(|_| match (random.below(4), random.below(rare)) {
                        (0, _) => " ",
                        (_, 0) => *random.pick(&ATOMS),
                        _ => ATOMS[random.below(kinds)],
                    })
                    .collect();
                for leads in [false, true] {
                    let mut written = if leads { "▁".to_owned() } else { String::new() };
                    written.push_str(&text.replace(' ', "▁"));
                    let mut tokens = Vec::new();
                    bpe.tokens(&mut scratch, &written, &mut tokens);
                    let mut ids = Vec::new();
                    bpe.spaced_ids(&mut scratch, &text, leads, &mut ids);
                    let expected: Vec<u32> = tokens.iter().map(|token| token.id).collect();
                    assert_eq!(ids, expected, "{text:?} {leads}");
                }
                joins.parts(&text.replace(' ', "▁"), |_, _| parts += 1);
            }
        }
        assert!(parts > 200_000, "{parts}");
    }

    /// Few characters and many merges, so that parts are long, against merging.
    #[test]
    fn long_parts_are_merged() {
        let mut random = Random::new(31);
        let mut long = 0;
        for round in 0..240 {
            let reading = [Reading::Spaced, Reading::Characters][round % 2];
            let bpe = Bpe::new(definition(&mut random), reading);
            let (mut scratch, mut merger) = (bpe.scratch(), PieceMerger::default());
            for _ in 0..10 {
                let kinds: Vec<&str> =
                    (0..1 + random.below(3)).map(|_| *random.pick(&ATOMS)).collect();
                let length = 64 + random.below(1500);
                let text: String = (0..length).map(|_| *random.pick(&kinds)).collect();
                let mut tokens = Vec::new();
                bpe.tokens(&mut scratch, &text, &mut tokens);
                let expected: Vec<u32> = tokens.iter().map(|token| token.id).collect();
                let mut ids = vec![7];
                if bpe.long_part(&mut merger, &text, &mut ids) {
                    assert_eq!(ids[1..], expected, "{text:?}");
                    long += 1;
                }
                ids.clear();
                bpe.ids(&mut scratch, &text, &mut ids);
                assert_eq!(ids, expected, "{text:?}");
            }
        }
        assert!(long > 1500, "{long}");
    }

    /// Stretches and the tokens between them in one queue, against one stretch after the other.
    #[test]
    fn stretches_are_encoded_together() {
        const TEXTS: [&str; 10] = ["a", "b", " ", " ", "Z", "z", "é", "你", ".", "\n"];
        let mut random = Random::new(29);
        let mut tokens = 0;
        for _ in 0..60 {
            let bpe = Bpe::new(definition(&mut random), Reading::Spaced);
            let (mut together, mut alone) = (bpe.scratch(), bpe.scratch());
            for _ in 0..20 {
                let (mut text, mut ends) = (String::new(), Vec::new());
                for _ in 0..random.below(60) {
                    let kinds = 1 + random.below(TEXTS.len());
                    (0..random.below(60)).for_each(|_| text.push_str(TEXTS[random.below(kinds)]));
                    ends.push(text.len());
                }
                let (mut ids, mut expected, mut start) = (Vec::new(), Vec::new(), 0);
                bpe.begin_stretches(&mut together);
                for end in ends {
                    let (leads, token) = (random.below(9) == 0, random.below(5) as u32);
                    bpe.queue_stretch(&mut together, &text, start..end, leads, &mut ids);
                    bpe.spaced_ids(&mut alone, &text[start..end], leads, &mut expected);
                    if token < 4 {
                        bpe.queue_token(&mut together, &text, token, &mut ids);
                        expected.push(token);
                        tokens += 1;
                    }
                    start = end;
                }
                bpe.settle_stretches(&mut together, &text, &mut ids);
                assert_eq!(ids, expected, "{text:?}");
            }
        }
        assert!(tokens > 10_000, "{tokens}");
    }
}
