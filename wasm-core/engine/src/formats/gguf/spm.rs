//! `tokenizer.ggml.model` = `llama`: pairs merge by the score of what they make.

use super::pieces::{self, Spelling};
use super::tokens::Tokens;
use super::{finish, special, template, File};
use crate::definition::llama::{scored, LlamaModel, Ranking, TextMerges, Unknown, Whole};
use crate::definition::{Decoder, Definition, Merge, Model, Normalizer, Pattern};
use crate::error::Result;
use crate::vocab::Vocab;
use std::collections::{HashMap, HashSet};

/// Finding all splits of all tokens hashes each token about as often as it is long; a file that
/// makes more of that than any real one is merged by text.
const MOST_HASHED: u64 = 1 << 28;

pub fn read(mut file: File) -> Result<Definition> {
    let parts = file.parts(&[("bos", 1), ("eos", 2), ("unk", 0)])?;
    let prefix = file.flag("add_space_prefix", true)?;
    let bos = special::adds(file.metadata, "bos", true, &parts)?;
    let eos = special::adds(file.metadata, "eos", false, &parts)?;
    let space = || Pattern::Literal(" ".to_owned());
    let mut normalizer = Vec::new();
    if prefix {
        normalizer.push(Normalizer::Prepend("▁".to_owned()));
    }
    normalizer.push(Normalizer::Replace { pattern: space(), content: "▁".to_owned() });
    let decoder = match file.hf {
        true => hf_decoder(prefix),
        false => pieces::decoder(&file.tokens, Spelling::Escaped, prefix, false),
    };
    let post_processor = template(&file.tokens, bos, eos);
    let shared = file.shared(&parts)?;
    let definition = Definition {
        normalizer,
        post_processor,
        decoder: Some(decoder),
        ..Definition::new("gguf", model(file.tokens, file.hf)?)
    };
    Ok(finish(definition, shared))
}

fn hf_decoder(prefix: bool) -> Vec<Decoder> {
    let pattern = Pattern::Literal("▁".to_owned());
    let replace = Decoder::Replace { pattern, content: " ".to_owned() };
    let strip = Decoder::Strip { content: ' ', start: 1, stop: 0 };
    let mut chain = vec![replace, Decoder::ByteFallback, Decoder::Fuse];
    chain.extend(prefix.then_some(strip));
    chain
}

fn model(tokens: Tokens, hf: bool) -> Result<Model> {
    let ranks = ranks(&tokens);
    let merges = by_ids(&tokens, &ranks).unwrap_or_default();
    if merges.is_empty() || ties_can_be_seen(&merges, &tokens.vocab) {
        return Ok(Model::Llama(LlamaModel::Texts(TextMerges {
            vocab: tokens.vocab,
            ranking: Ranking::Scores(ranks),
            unknown: Unknown::EveryByte,
            whole: Whole::None,
            merges: merges.into_iter().map(|(_, merge)| merge).collect(),
        })));
    }
    let ranks = by_product(&merges);
    let bpe = scored(tokens.vocab, merges.into_iter().map(|(_, merge)| merge).collect());
    Ok(match hf {
        true => Model::Bpe(bpe),
        false => Model::Llama(LlamaModel::Scored { bpe, ranks }),
    })
}

/// By id, the place of the score among all scores, the highest first; equal scores share it.
fn ranks(tokens: &Tokens) -> Vec<u32> {
    let mut order: Vec<u32> = (0..tokens.count).collect();
    let score = |id: u32| tokens.score(id);
    order.sort_by(|&a, &b| score(b).partial_cmp(&score(a)).unwrap_or(std::cmp::Ordering::Equal));
    let mut ranks = vec![0; order.len()];
    let mut rank = 0;
    let mut previous = None;
    for id in order {
        if previous.is_some_and(|previous| score(previous) != score(id)) {
            rank += 1;
        }
        previous = Some(id);
        if let Some(place) = ranks.get_mut(id as usize) {
            *place = rank;
        }
    }
    ranks
}

/// All merges with their ranks, in the order of these, if every symbol has an id.
fn by_ids(tokens: &Tokens, ranks: &[u32]) -> Option<Vec<(u32, Merge)>> {
    let vocab = &tokens.vocab;
    let mut bytes = HashSet::new();
    for byte in 0..=255u8 {
        bytes.insert(vocab.id(&format!("<0x{byte:02X}>"))?);
    }
    let mut merges: Vec<(u32, Merge)> = Vec::new();
    let mut hashed = 0u64;
    for (product, text) in tokens.iter() {
        hashed += (text.len() as u64) * (text.len() as u64);
        if hashed > MOST_HASHED {
            return None;
        }
        let rank = *ranks.get(product as usize)?;
        for (at, _) in text.char_indices().skip(1) {
            let (left, right) = text.split_at_checked(at)?;
            match (vocab.id(left), vocab.id(right)) {
                (Some(left), Some(right)) => {
                    if bytes.contains(&left) || bytes.contains(&right) {
                        return None;
                    }
                    merges.push((rank, Merge { left, right, product }));
                }
                // A character without an id merges all the same.
                (None, right_id) if is_single(left) && (right_id.is_some() || is_single(right)) => {
                    return None;
                }
                (Some(_), None) if is_single(right) => return None,
                _ => {}
            }
        }
    }
    merges.sort_by_key(|(rank, merge)| (*rank, merge.product));
    Some(merges)
}

/// One rank a product, from 0 without gaps.
fn by_product(merges: &[(u32, Merge)]) -> Vec<u32> {
    let mut shared = Vec::with_capacity(merges.len());
    let products = merges.chunk_by(|(_, a), (_, b)| a.product == b.product);
    for (rank, merges) in (0..).zip(products) {
        shared.extend(merges.iter().map(|_| rank));
    }
    shared
}

/// Products of one score merge from left to right in the text, whichever they are. Taking one
/// product after the other is the same as long as their merges neither overlap nor lead on.
fn ties_can_be_seen(merges: &[(u32, Merge)], vocab: &Vocab) -> bool {
    let mut parts = vec![false; vocab.id_bound() as usize];
    for (_, merge) in merges {
        for id in [merge.left, merge.right] {
            if let Some(place) = parts.get_mut(id as usize) {
                *place = true;
            }
        }
    }
    merges.chunk_by(|a, b| a.0 == b.0).any(|tie| {
        if tie.windows(2).all(|w| matches!(w, [a, b] if a.1.product == b.1.product)) {
            return false;
        }
        let mut lefts: HashMap<u32, u32> = HashMap::new();
        for (_, merge) in tie {
            lefts.insert(merge.left, merge.product);
        }
        let leads_on = |id: u32| parts.get(id as usize).copied().unwrap_or(true);
        tie.iter().any(|(_, merge)| lefts.contains_key(&merge.right) || leads_on(merge.product))
    })
}

fn is_single(text: &str) -> bool {
    text.chars().nth(1).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::formats::gguf::tokens::NORMAL;
    use crate::model::bpe::Reading;
    use crate::model::llama::Texts;
    use crate::model::{Model as Built, ModelScratch, Token};
    use crate::oracle::random::Random;

    fn tokens(texts: &[(String, f32)]) -> Tokens {
        let mut vocab = Vocab::new();
        for (id, (text, _)) in (0..).zip(texts) {
            vocab.insert(text, id).unwrap();
        }
        Tokens {
            count: vocab.id_bound(),
            kinds: vec![NORMAL; texts.len()],
            scores: texts.iter().map(|(_, score)| *score).collect(),
            vocab,
        }
    }

    /// The slow version: always by text.
    fn slow(tokens: &Tokens) -> Texts {
        let mut vocab = Vocab::new();
        tokens.iter().for_each(|(id, text)| vocab.insert(text, id).unwrap());
        Texts::new(TextMerges {
            vocab,
            ranking: Ranking::Scores(ranks(tokens)),
            unknown: Unknown::EveryByte,
            whole: Whole::None,
            merges: Vec::new(),
        })
    }

    fn by_text(slow: &Texts, text: &str) -> Vec<u32> {
        let mut out: Vec<Token> = Vec::new();
        slow.tokens(text, &mut out).unwrap();
        out.iter().map(|token| token.id).collect()
    }

    #[test]
    fn ids_merge_as_texts_do() {
        let mut random = Random::new(77);
        let (mut fast, mut ties, mut checked) = (0, 0, 0);
        for _ in 0..400 {
            let mut texts: Vec<(String, f32)> =
                (0..=255u8).map(|b| (format!("<0x{b:02X}>"), 0.0)).collect();
            let letters = ["a", "b", "▁", "é"];
            texts.extend(letters.iter().map(|letter| ((*letter).to_owned(), -1000.0)));
            for n in 0..random.below(25) {
                let length = 2 + random.below(4);
                let text: String = (0..length).map(|_| *random.pick(&letters)).collect();
                // Few different scores, so that there are ties.
                let score =
                    if random.below(3) == 0 { -(random.below(4) as f32) } else { -5.0 - n as f32 };
                if texts.iter().all(|(known, _)| *known != text) {
                    texts.push((text, score));
                }
            }
            let tokens = tokens(&texts);
            let slow = slow(&tokens);
            let reading = [Reading::Characters, Reading::Spaced][random.below(2)];
            let definition = model(tokens, false).unwrap();
            ties += usize::from(matches!(&definition, Model::Llama(LlamaModel::Texts(_))));
            let model = Built::new(definition, reading).unwrap();
            if !model.is_bpe() {
                continue;
            }
            fast += 1;
            let mut scratch: ModelScratch = model.scratch();
            for _ in 0..40 {
                let most = if random.below(4) == 0 { 400 } else { 12 };
                let length = random.below(most);
                let kinds = 1 + random.below(6);
                let text: String = (0..length)
                    .map(|_| ["▁", "a", "b", "é", "ö", "a"][random.below(kinds)])
                    .collect();
                let mut ids = Vec::new();
                model.ids(&mut scratch, &text, &mut ids).unwrap();
                assert_eq!(ids, by_text(&slow, &text), "{text:?} of {texts:?}");
                let mut whole = Vec::new();
                model.tokens(&mut scratch, &text, &mut whole).unwrap();
                assert_eq!(whole.iter().map(|token| token.id).collect::<Vec<_>>(), ids);
                checked += 1;
            }
        }
        assert!(fast > 300 && ties > 100 && checked > 4000, "{fast} {ties} {checked}");
    }

    #[test]
    fn a_missing_byte_is_an_error_of_the_text() {
        let tokens = tokens(&[("a".to_owned(), 0.0)]);
        let Model::Llama(LlamaModel::Texts(texts)) = model(tokens, false).unwrap() else {
            panic!("bytes are missing")
        };
        let slow = Texts::new(texts);
        assert!(slow.tokens("aa", &mut Vec::new()).is_ok());
        assert_eq!(slow.tokens("é", &mut Vec::new()).unwrap_err().kind, ErrorKind::Unsupported);
    }
}
