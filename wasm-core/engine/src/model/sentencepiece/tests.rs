use super::*;
use crate::definition::PieceKind;
use crate::oracle::random::Random;

fn definition(
    algorithm: PieceAlgorithm,
    byte_fallback: bool,
    pieces: &[(&str, f32, PieceKind)],
) -> Definition {
    let mut all = vec![("<unk>".to_owned(), 0.0, PieceKind::Unknown)];
    if byte_fallback {
        all.extend((0..=255u8).map(|b| (format!("<0x{b:02X}>"), 0.0, PieceKind::Byte)));
    }
    all.extend(pieces.iter().map(|&(text, score, kind)| (text.to_owned(), score, kind)));
    let mut vocab = Vocab::new();
    for (id, (text, _, _)) in (0..).zip(&all) {
        vocab.insert(text, id).unwrap();
    }
    Definition {
        algorithm,
        vocab,
        scores: all.iter().map(|piece| piece.1).collect(),
        kinds: all.iter().map(|piece| piece.2).collect(),
        unk: 0,
        byte_fallback,
    }
}

/// Random pieces over a few letters; of few scores, so that many are equal.
fn random_definition(random: &mut Random, algorithm: PieceAlgorithm, unused: bool) -> Definition {
    let mut texts = Vec::new();
    for _ in 0..4 + random.below(30) {
        let letters = ['a', 'b', '▁', 'é', '🌶'];
        let made: String = (0..1 + random.below(5)).map(|_| *random.pick(&letters)).collect();
        if !texts.contains(&made) {
            texts.push(made);
        }
    }
    let user_defined = random.below(3) == 0;
    let pieces: Vec<_> = texts
        .iter()
        .map(|text| {
            let kind = match random.below(8) {
                0 if user_defined => PieceKind::UserDefined,
                1 if unused => PieceKind::Unused,
                _ => PieceKind::Normal,
            };
            (text.as_str(), random.below(6) as f32 * -0.25, kind)
        })
        .collect();
    definition(algorithm, random.below(3) == 0, &pieces)
}

fn random_text(random: &mut Random, most: usize) -> String {
    let letters = ['a', 'a', 'b', '▁', 'é', '🌶', 'z'];
    (0..random.below(most)).map(|_| *random.pick(&letters)).collect()
}

fn ids(model: &SentencePiece, text: &str) -> Vec<u32> {
    let mut out = Vec::new();
    model.ids(&mut model.scratch(), text, &mut out);
    out
}

/// The reference's answers.
#[test]
fn unused_pieces_are_split_again_and_unknown_ones_fuse() {
    use PieceKind::{Normal, Unused, UserDefined};
    let pieces = [
        ("a", -1.0, Normal),
        ("b", -1.0, Unused),
        ("ab", -2.0, Unused),
        ("c", -1.0, Normal),
        ("ac", -1.0, Unused),
        ("ca", -1.5, Normal),
        ("bc", -2.0, Normal),
        ("▁", 0.0, Normal),
        ("cab", -3.0, Unused),
        ("cabc", -0.5, Normal),
        ("Q", 0.0, UserDefined),
        ("xQ", 0.0, UserDefined),
    ];
    let model = |algorithm| SentencePiece::new(definition(algorithm, false, &pieces));
    let unigram = model(PieceAlgorithm::Unigram);
    assert_eq!(ids(&unigram, "ac"), [1, 4]);
    assert_eq!(ids(&unigram, "caca"), [6, 6]);
    assert_eq!(ids(&unigram, "abc"), [1, 7]);
    let bpe = model(PieceAlgorithm::Bpe);
    assert!(matches!(bpe.algorithm, Algorithm::Agenda));
    assert_eq!(ids(&bpe, "caca"), [4, 1, 4, 1]);
    assert_eq!(ids(&bpe, "cabc"), [10]);
    assert_eq!(ids(&bpe, "abc"), [1, 0, 4]);
    assert_eq!(ids(&bpe, "aQab"), [1, 11, 1, 0]);
    assert_eq!(ids(&bpe, "xQ"), [12]);
    let words = model(PieceAlgorithm::Word);
    assert_eq!(ids(&words, "cabc"), [10]);
    assert_eq!(ids(&words, "ab▁ab"), [0]);
    assert_eq!(ids(&words, "a▁ab▁b"), [1, 0]);
    let chars = model(PieceAlgorithm::Char);
    assert_eq!(ids(&chars, "abczz"), [1, 0, 4, 0]);
    assert_eq!(ids(&chars, "bxQ"), [0, 12]);
}

#[test]
fn names_of_control_pieces_and_bytes_are_text() {
    let pieces = [("<s>", 0.0, PieceKind::Control), ("a", -1.0, PieceKind::Normal)];
    for algorithm in [PieceAlgorithm::Unigram, PieceAlgorithm::Bpe, PieceAlgorithm::Word] {
        let model = SentencePiece::new(definition(algorithm, false, &pieces));
        assert_eq!(ids(&model, "<s>"), [0]);
        let model = SentencePiece::new(definition(algorithm, true, &pieces));
        assert_eq!(
            ids(&model, "<0x41>"),
            "<0x41>".bytes().map(|b| b as u32 + 1).collect::<Vec<_>>()
        );
    }
}

/// The merges by numbers, cut into parts and remembered, against the agenda of the reference.
#[test]
fn the_quick_merges_are_those_of_the_agenda() {
    let mut random = Random::new(11);
    let mut long = 0;
    for round in 0..400 {
        let definition = random_definition(&mut random, PieceAlgorithm::Bpe, false);
        let model = SentencePiece::new(definition);
        assert!(matches!(model.algorithm, Algorithm::Merges(_)));
        let mut scratch = model.scratch();
        for _ in 0..30 {
            let most = if random.below(4) == 0 { 200 } else { 20 };
            let text = random_text(&mut random, most);
            let mut slow = Vec::new();
            agenda::parts(&model.pieces, &text, &mut slow);
            scratch.parts.clear();
            model.parts(&mut scratch, &text);
            assert_eq!(scratch.parts, slow, "round {round}: {text:?}");
            let mut expected = Vec::new();
            model.push_ids(&text, &slow, 0, &mut expected);
            let mut quick = Vec::new();
            model.ids(&mut scratch, &text, &mut quick);
            assert_eq!(quick, expected, "round {round}: {text:?}");
            long += usize::from(text.len() > 64);
        }
    }
    assert!(long > 1000, "{long}");
}

/// The best of all ways to cut a text, over scores that add up without rounding.
#[test]
fn unigram_finds_the_best_way() {
    let mut random = Random::new(12);
    for round in 0..300 {
        let definition = random_definition(&mut random, PieceAlgorithm::Unigram, true);
        let scores = definition.scores.clone();
        let kinds = definition.kinds.clone();
        if kinds.contains(&PieceKind::UserDefined) || !kinds.contains(&PieceKind::Normal) {
            continue;
        }
        let model = SentencePiece::new(definition);
        let normal = scores.iter().zip(&kinds).filter(|s| *s.1 == PieceKind::Normal).map(|s| s.0);
        let unknown = normal.fold(f32::MAX, |worst, &score| worst.min(score)) - 10.0;
        let score_of = |part: &Part| match part.id {
            0 => unknown,
            id => scores[id as usize],
        };
        for _ in 0..10 {
            let text = random_text(&mut random, 9);
            let mut scratch = model.scratch();
            model.parts(&mut scratch, &text);
            let found: f32 = scratch.parts.iter().map(score_of).sum();
            let best = best_of_all(&model.pieces, &scores, unknown, &text);
            assert_eq!(found, best, "round {round}: {text:?}");
        }
    }
}

fn best_of_all(pieces: &Pieces, scores: &[f32], unknown: f32, text: &str) -> f32 {
    let mut best = if text.is_empty() { 0.0 } else { f32::NEG_INFINITY };
    for (n, (at, c)) in text.char_indices().enumerate() {
        let (first, rest) = text.split_at(at + c.len_utf8());
        let id = pieces.result(first);
        let score = match id {
            0 if n > 0 => continue,
            0 => unknown,
            id => scores[id as usize],
        };
        best = best.max(score + best_of_all(pieces, scores, unknown, rest));
    }
    best
}

/// Far from the start a score has no room for a small difference; the reference makes room.
#[test]
fn large_scores_are_brought_back() {
    let pieces = [
        ("a", -1.0, PieceKind::Normal),
        ("aa", -2.0 - 1.0 / 256.0, PieceKind::Normal),
        ("b", -8.0, PieceKind::Normal),
    ];
    let model = SentencePiece::new(definition(PieceAlgorithm::Unigram, false, &pieces));
    let last = |count: usize| *ids(&model, &("b".repeat(count) + "aa")).last().unwrap();
    let answers = [0, 8000, 9000, 12500, 12501, 20692, 20693, 25002].map(last);
    assert_eq!(answers, [1, 1, 2, 2, 1, 1, 2, 1]);
}

#[test]
fn a_user_defined_symbol_gains_by_its_length() {
    let score = |text: &str, whole: f32| {
        let pieces = [
            ("a", -1.0, PieceKind::Normal),
            (text, 7.0, PieceKind::UserDefined),
            ("aQRS", whole, PieceKind::Normal),
        ];
        ids(&SentencePiece::new(definition(PieceAlgorithm::Unigram, false, &pieces)), "aQRS")
    };
    assert_eq!(score("QRS", -0.81), [1, 2]);
    assert_eq!(score("QRS", -0.79), [3]);
}

#[test]
fn tokens_have_places_and_ids_agree() {
    let mut random = Random::new(13);
    for round in 0..200 {
        let algorithm = *random.pick(&[
            PieceAlgorithm::Unigram,
            PieceAlgorithm::Bpe,
            PieceAlgorithm::Word,
            PieceAlgorithm::Char,
        ]);
        let model = SentencePiece::new(random_definition(&mut random, algorithm, true));
        let mut scratch = model.scratch();
        for _ in 0..20 {
            let text = random_text(&mut random, 30);
            let mut tokens = Vec::new();
            model.tokens(&mut scratch, &text, &mut tokens);
            let mut ids = Vec::new();
            model.ids(&mut scratch, &text, &mut ids);
            assert_eq!(tokens.iter().map(|t| t.id).collect::<Vec<_>>(), ids, "round {round}");
            let mut end = 0;
            for token in &tokens {
                assert_eq!(token.start, end);
                end = token.end;
            }
            assert_eq!(end as usize, text.len(), "round {round}: {text:?}");
        }
    }
}

/// No algorithm looks at a place of the text more than a few times.
#[test]
fn a_megabyte_of_one_letter_is_nothing_special() {
    let text = "a".repeat(1 << 20);
    let pieces: Vec<String> = (0..8).map(|n| "a".repeat(1 << n)).collect();
    for unused in [false, true] {
        let mut all: Vec<_> =
            pieces.iter().map(|piece| (piece.as_str(), -1.0, PieceKind::Normal)).collect();
        if unused {
            all[4].2 = PieceKind::Unused;
        }
        for algorithm in [PieceAlgorithm::Unigram, PieceAlgorithm::Bpe] {
            let model = SentencePiece::new(definition(algorithm, false, &all));
            assert!(ids(&model, &text).len() <= 1 << 20);
        }
    }
}
