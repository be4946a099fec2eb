//! The way of parts: text of a vocabulary of characters, cut where nothing joins (see
//! [`super::joins`]), each part looked up in the cache and merged only if it is not there.

use super::joins::{Joins, BLANK};
use super::key::Key;
use super::merge::{fits_short, Merger, Short};
use super::pairs::PairTable;
use super::units::Symbol;
use super::{Bpe, BpeScratch};

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
        let Some(joins) = &self.joins else { return };
        let mut rest = text;
        if leads {
            // Written out, since the text has not got the blank that its first part begins with.
            let (first, behind) = text.split_at(joins.first_spaced_part(text));
            let first: String = [BLANK].into_iter().chain(first.chars()).collect();
            rest = behind;
            scratch.batch.clear();
            joins.spaced_parts(&first, |start, end| {
                self.queue_part::<true>(scratch, &first, start, end, out);
            });
            self.settle_parts::<true>(scratch, &first, out);
        }
        scratch.batch.clear();
        joins.spaced_parts(rest, |start, end| {
            self.queue_part::<true>(scratch, rest, start, end, out);
        });
        self.settle_parts::<true>(scratch, rest, out);
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
        let BpeScratch { merger, symbols, cache, batch, .. } = scratch;
        batch.look_up(cache);
        let mut copied = 0;
        for miss in batch.misses() {
            batch.append_ids(copied, miss.filled(), out);
            copied = miss.filled();
            let (key, (start, end)) = (batch.key(miss.at()), batch.span(miss.at()));
            let part = text.get(start..end).unwrap_or_default();
            if cache.recall(key, part.as_bytes(), out) {
                continue;
            }
            let before = out.len();
            match SPACED && part.contains(' ') {
                true => self.units.symbols(&self.vocab, &with_blanks(part), symbols),
                false => self.units.symbols(&self.vocab, part, symbols),
            }
            self.merge_part(merger, symbols, out);
            cache.remember(key, part.as_bytes(), out.get(before..).unwrap_or_default());
        }
        batch.append_ids(copied, batch.filled(), out);
        batch.clear();
    }

    #[inline(always)]
    fn merge_part(&self, merger: &mut Merger, symbols: &[Symbol], out: &mut Vec<u32>) {
        match symbols.len() {
            0..16 if fits_short(&self.pairs) => merge_short::<16>(&self.pairs, symbols, out),
            16..32 if fits_short(&self.pairs) => merge_short::<32>(&self.pairs, symbols, out),
            _ => {
                merger.ids.clear();
                merger.ids.extend(symbols.iter().map(|symbol| symbol.id));
                merger.run(&self.pairs);
                out.extend_from_slice(&merger.ids);
            }
        }
    }
}

/// Symbols of a part that is as short as most of them.
#[inline(always)]
fn merge_short<const LANES: usize>(pairs: &PairTable, symbols: &[Symbol], out: &mut Vec<u32>) {
    let ids = symbols.iter().map(|symbol| symbol.id);
    let mut short = Short::<LANES>::new(ids, |left, right, _| pairs.rank(left, right));
    short.merge(pairs);
    short.for_each(|id, _| out.push(id));
}

/// What the normalizer would have made of it.
fn with_blanks(part: &str) -> String {
    part.chars().map(|c| if c == ' ' { BLANK } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use crate::definition::{Bpe as Definition, Merge};
    use crate::model::bpe::Bpe;
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
            let bpe = Bpe::new(definition(&mut random), false);
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
                joins.spaced_parts(&text, |_, _| parts += 1);
            }
        }
        assert!(parts > 200_000, "{parts}");
    }
}
