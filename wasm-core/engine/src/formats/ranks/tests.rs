use super::*;
use crate::oracle::random::Random;
use crate::oracle::ranks::encode;
use crate::tokenizer::{Scratch, Tokenizer, Wanted};
use std::collections::HashMap;

fn vocab(ranks: &HashMap<Vec<u8>, u32>) -> Vocab {
    let mut vocab = Vocab::new();
    let mut text = String::new();
    for (token, &rank) in ranks {
        spell(token, &mut text);
        vocab.insert(&text, rank).unwrap();
    }
    vocab
}

/// All bytes and some strings of few letters, with ranks in order, shuffled, or with gaps.
fn random_ranks(random: &mut Random, strings: usize, longest: usize) -> HashMap<Vec<u8>, u32> {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for _ in 0..strings {
        let token = match random.below(4) {
            // As training does it: two known ones.
            0..=2 => {
                let at = 97 + random.below(3);
                let mut token =
                    tokens[if random.below(2) == 0 { at } else { tokens.len() - 1 }].clone();
                let other = tokens.len() - 1 - random.below(tokens.len().min(40) - 1);
                token.extend(tokens[other].clone());
                token.retain(|byte| (97..100).contains(byte));
                token
            }
            _ => (0..2 + random.below(longest)).map(|_| 97 + random.below(3) as u8).collect(),
        };
        if token.len() > 1 && token.len() <= 200 && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    let mut ranks: Vec<u32> = (0..tokens.len() as u32).collect();
    match random.below(3) {
        0 => {}
        1 => {
            for at in (1..ranks.len()).rev() {
                ranks.swap(at, random.below(at + 1));
            }
        }
        _ => ranks.iter_mut().for_each(|rank| *rank *= 3),
    }
    tokens.into_iter().zip(ranks).collect()
}

#[test]
fn derived_merges_equal_the_definition() {
    let mut random = Random::new(31);
    let mut strays = 0;
    for round in 0..400 {
        let strings = random.below(80);
        let ranks = random_ranks(&mut random, strings, 8);
        let vocab = vocab(&ranks);
        let merges = merges(&vocab);
        strays += ranks.keys().filter(|token| token.len() > 1).count() - merges.len();
        let cut = Cut { pattern: r"[\s\S]+".into(), covers: true };
        let tokenizer = Tokenizer::build(definition("test", vocab, merges, cut)).unwrap();
        let mut scratch = Scratch::new();
        for _ in 0..40 {
            let length = random.below(60);
            let text: String = (0..length).map(|_| (97 + random.below(3) as u8) as char).collect();
            let mut ids = Vec::new();
            tokenizer.encode_ids(&mut scratch, &text, Wanted::new(false), &mut ids).unwrap();
            if text.is_empty() {
                continue;
            }
            assert_eq!(Some(ids), encode(&ranks, text.as_bytes()), "round {round}: {text}");
        }
    }
    // Tokens that are never made must have been among them.
    assert!(strays > 100, "{strays}");
}

/// Longer tokens take the heap.
#[test]
fn both_ways_of_joining_are_one() {
    let mut random = Random::new(8);
    for _ in 0..200 {
        let ranks = random_ranks(&mut random, 120, 100);
        let vocab = vocab(&ranks);
        let mut units = [NONE; 0x180];
        for (byte, c) in CHAR_OF_BYTE.iter().enumerate() {
            units[*c as usize] = ranks[&vec![byte as u8]];
        }
        for token in ranks.keys() {
            let mut text = String::new();
            spell(token, &mut text);
            let rank = |left: &Part, right: &Part| {
                vocab.id(&text[left.start as usize..right.end as usize]).unwrap_or(NONE)
            };
            let (mut few, mut many) = (Work::default(), Work::default());
            if !few.begin(&text, &units) {
                continue;
            }
            many.begin(&text, &units);
            few.join_few(rank);
            many.join_many(rank);
            let ids = |work: &Work| work.parts.iter().map(|p| (p.id, p.end)).collect::<Vec<_>>();
            assert_eq!(ids(&few), ids(&many), "{text}");
        }
    }
}

/// A token whose only way leads through a larger rank.
#[test]
fn a_later_rank_may_come_first() {
    let mut ranks: HashMap<Vec<u8>, u32> = (0..=255u8).map(|b| (vec![b], u32::from(b))).collect();
    ranks.insert(b"abc".to_vec(), 256);
    ranks.insert(b"bc".to_vec(), 300);
    let vocab = vocab(&ranks);
    let found = merges(&vocab);
    assert_eq!(
        found,
        [Merge { left: 97, right: 300, product: 256 }, Merge { left: 98, right: 99, product: 300 },]
    );
}

#[test]
fn bytes_that_text_cannot_hold_may_be_missing() {
    let ranks: HashMap<Vec<u8>, u32> =
        (0..0xC0u8).chain(0xC2..0xF5).map(|byte| (vec![byte], u32::from(byte))).collect();
    assert_eq!(missing_byte(&vocab(&ranks)), None);
    let fewer: HashMap<Vec<u8>, u32> =
        ranks.into_iter().filter(|(token, _)| token[0] != 7).collect();
    assert_eq!(missing_byte(&vocab(&fewer)), Some(7));
}

#[test]
fn a_piece_that_is_a_token_is_that_token() {
    let mut ranks: HashMap<Vec<u8>, u32> = (0..=255u8).map(|b| (vec![b], u32::from(b))).collect();
    ranks.insert(b"xyz".to_vec(), 999);
    let cut = Cut { pattern: r"[a-z]+".into(), covers: false };
    let vocab = vocab(&ranks);
    let merges = merges(&vocab);
    let made = definition("test", vocab, merges, cut);
    let tokenizer = Tokenizer::build(made).unwrap();
    let mut ids = Vec::new();
    // What lies between the matches is dropped.
    tokenizer.encode_ids(&mut Scratch::new(), "xyz xyzx", Wanted::new(false), &mut ids).unwrap();
    assert_eq!(ids, [999, 120, 121, 122, 120]);
}
