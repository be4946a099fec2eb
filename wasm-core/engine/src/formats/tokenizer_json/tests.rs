use super::*;
use crate::definition::{Merge, Model, Normalizer, PreTokenizer, PrependScheme};

fn file(model: &str, rest: &str) -> String {
    format!(r#"{{"version": "1.0", {rest} "model": {model}}}"#)
}

const MODEL: &str = r#"{"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}"#;

fn read_ok(model: &str, rest: &str) -> Definition {
    read(file(model, rest).as_bytes()).unwrap()
}

fn read_err(model: &str, rest: &str) -> Error {
    read(file(model, rest).as_bytes()).unwrap_err()
}

#[test]
fn merges_come_as_lines_and_as_pairs() {
    let pairs = r#"{"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}"#;
    for model in [MODEL, pairs] {
        let Model::Bpe(bpe) = read_ok(model, "").model else { panic!("no BPE") };
        assert_eq!(bpe.merges, [Merge { left: 0, right: 1, product: 2 }]);
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let text = format!("\u{FEFF}{}", file(MODEL, ""));
    assert!(read(text.as_bytes()).is_ok());
}

#[test]
fn sequences_are_flattened_and_legacy_fields_understood() {
    let rest = r#""normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"},
        {"type": "Sequence", "normalizers": [{"type": "Lowercase"}]}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": true},"#;
    let definition = read_ok(MODEL, rest);
    assert_eq!(definition.normalizer, [Normalizer::Nfc, Normalizer::Lowercase]);
    assert_eq!(
        definition.pre_tokenizer,
        [PreTokenizer::Metaspace {
            replacement: '▁', prepend: PrependScheme::Always, split: true
        }]
    );
}

#[test]
fn what_is_not_served_is_named_with_its_place() {
    let error = read_err(
        MODEL,
        r#""normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nfx"}]},"#,
    );
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert_eq!(error.feature.as_deref(), Some("normalizer:Nfx"));
    assert_eq!(error.path.as_deref(), Some("$.normalizer.normalizers[1]"));

    let error = read_err(r#"{"type": "Markov", "vocab": {}}"#, "");
    assert_eq!(error.feature.as_deref(), Some("model:Markov"));
    let error = read_err(&MODEL.replace("\"vocab\"", "\"dropout\": 0.1, \"vocab\""), "");
    assert_eq!(error.feature.as_deref(), Some("model:dropout"));
}

#[test]
fn a_model_without_a_type_is_the_first_that_fits() {
    let rest =
        r#""unk_token": "a", "continuing_subword_prefix": "-", "max_input_chars_per_word": 9"#;
    let cases = [
        (format!(r#"{{"vocab": {{"a": 0}}, "merges": [], {rest}}}"#), "BPE"),
        (format!(r#"{{"vocab": {{"a": 0}}, {rest}}}"#), "WordPiece"),
        (r#"{"vocab": {"a": 0}, "unk_token": "a"}"#.to_owned(), "WordLevel"),
        (r#"{"vocab": [["a", 0]]}"#.to_owned(), "Unigram"),
    ];
    for (model, name) in cases {
        assert_eq!(read_ok(&model, "").model.name(), name);
    }
    let error = read_err(r#"{"vocab": {"a": 0}}"#, "");
    assert_eq!(error.feature.as_deref(), Some("model:untyped"));
}

#[test]
fn unigram_models_are_read_in_order() {
    let model = r#"{"type": "Unigram", "unk_id": 1, "vocab": [["a", -1.5], ["b", 2], ["a", 0]]}"#;
    let Model::Unigram(unigram) = read_ok(model, "").model else { panic!("no Unigram") };
    assert_eq!((unigram.scores, unigram.unk), (vec![-1.5, 2.0, 0.0], Some(1)));
    assert_eq!((unigram.vocab.id("a"), unigram.vocab.text(0)), (Some(2), Some("a")));
    let cases = [
        (model.replace(": 1,", ": 3,"), "$.model.unk_id"),
        (model.replace("\"b\", 2", "\"b\""), "$.model.vocab[1]"),
        (model.replace("\"b\", 2", "\"b\", 2, 3"), "$.model.vocab[1]"),
        (model.replace("\"b\", 2", "2, \"b\""), "$.model.vocab[1]"),
    ];
    for (model, path) in cases {
        let error = read_err(&model, "");
        assert_eq!(error.kind, ErrorKind::InvalidFile, "{model}: {error}");
        assert_eq!(error.path.as_deref(), Some(path), "{model}: {error}");
    }
}

#[test]
fn a_broken_map_is_refused_with_its_place() {
    for map in [r#"null"#, r#""AAAA=""#, r#""""#] {
        let rest =
            format!(r#""normalizer": {{"type": "Precompiled", "precompiled_charsmap": {map}}},"#);
        let read = read(file(MODEL, &rest).as_bytes());
        let error = read.and_then(crate::tokenizer::Tokenizer::build).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidFile, "{error}");
        assert!(error.path.unwrap().starts_with("$.normalizer"));
    }
}

#[test]
fn broken_models_say_where() {
    let cases = [
        (MODEL.replace("\"a b\"", "\"a c\""), "$.model.merges[0]"),
        (MODEL.replace("\"a b\"", "\"a b\", \"a b c\""), "$.model.merges[1]"),
        (MODEL.replace("\"a b\"", "\"b a\""), "$.model.merges[0]"),
        (MODEL.replace("[\"a b\"]", "{}"), "$.model.merges[0]"),
        (MODEL.replace("\"a\": 0", "\"a\": -1"), "$.model.vocab"),
        (MODEL.replace("\"a\": 0", "\"a\": 1.5"), "$.model.vocab"),
        (MODEL.replace("\"a\": 0", "\"a\": 4294967296"), "$.model.vocab"),
        (MODEL.replace("\"a\": 0", "\"\\ud800\": 0"), "$.model.vocab"),
    ];
    for (model, path) in cases {
        let error = read_err(&model, "");
        assert_eq!(error.kind, ErrorKind::InvalidFile, "{model}: {error}");
        assert_eq!(error.path.as_deref(), Some(path), "{model}: {error}");
    }
    let error = read_err(&MODEL.replace("\"a\": 0", "\"a\": 4000000000"), "");
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
}

#[test]
fn broken_json_says_at_which_byte() {
    let text = file(MODEL, "");
    let error = read(&text.as_bytes()[..text.len() - 10]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidFile);
    assert!(error.offset.unwrap() >= text.len() as u64 - 12);
    assert_eq!(read(b"{\"model\": \"\xFF\"}").unwrap_err().offset, Some(11));
}

#[test]
fn nesting_is_bounded() {
    let mut normalizer = r#"{"type": "NFC"}"#.to_owned();
    for _ in 0..40 {
        normalizer = format!(r#"{{"type": "Sequence", "normalizers": [{normalizer}]}}"#);
    }
    let error = read_err(MODEL, &format!("\"normalizer\": {normalizer},"));
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
}

#[test]
fn a_template_must_know_its_tokens() {
    let pieces = r#"[{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]"#;
    let error = |single: &str, pair: &str, special_tokens: &str| {
        let rest = format!(
            r#""post_processor": {{"type": "TemplateProcessing", "single": {single}, "pair": {pair},
            "special_tokens": {special_tokens}}},"#
        );
        let error = read_err(MODEL, &rest);
        (error.kind, error.path.unwrap_or_default())
    };
    let place = |name: &str| format!("$.post_processor.{name}[0].SpecialToken");
    assert_eq!(error(pieces, "[]", "{}"), (ErrorKind::InvalidFile, place("single")));
    assert_eq!(error("[]", pieces, "{}"), (ErrorKind::Unsupported, place("pair")));
    let uneven = r#"{"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>", "x"]}}"#;
    assert_eq!(error(pieces, "[]", uneven).0, ErrorKind::Unsupported);
}

/// Whatever the quick way accepts, the careful one reads alike.
#[test]
fn the_quick_way_accepts_nothing_that_the_careful_one_refuses() {
    use crate::oracle::random::Random;
    let bpe = MODEL.to_owned();
    let word_piece = r###"{"type": "WordPiece", "vocab": {"a": 0, "##b": 1, "[UNK]": 2},
        "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
        "merges": ["not read"]}"###;
    let unigram = r#"{"vocab": [["a", -1.5], ["\"b}", -2]], "unk_id": 0, "merges": [], "x": [{}]}"#;
    let rest = r#""normalizer": {"type": "NFC"}, "padding": null, "what": {"ever": ["\\", "]"]},
        "added_tokens": [{"id": 9, "content": "<{>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true}],"#;
    let files = [bpe, word_piece.to_owned(), unigram.to_owned()].map(|model| file(&model, rest));
    let mut random = Random::new(5);
    let parts = ["{", "}", "[", "]", "\"", "\\", ",", ":", " ", "null", "1", "\"vocab\":{},", "\n"];
    let mut accepted = 0;
    for text in &files {
        assert!(Parts::quickly(text).is_some_and(|parts| define(text, &parts, Way::Quick).is_ok()));
    }
    for _ in 0..20_000 {
        let mut text = random.pick(&files).clone();
        for _ in 0..1 + random.below(2) {
            let at = (0..=random.below(text.len())).rev().find(|&at| text.is_char_boundary(at));
            let at = at.unwrap_or_default();
            match random.below(3) {
                0 => {
                    let part: &&str = random.pick(&parts);
                    text.insert_str(at, part);
                }
                1 if at < text.len() => drop(text.remove(at)),
                _ => text.truncate(text.len() - usize::from(text.ends_with('}'))),
            }
        }
        let quick = Parts::quickly(&text).and_then(|parts| define(&text, &parts, Way::Quick).ok());
        let Some(quick) = quick else { continue };
        accepted += 1;
        let parts = File { text: &text, shift: 0 }.parts().expect(&text);
        let careful = define(&text, &parts, Way::Careful).expect(&text);
        assert_eq!(format!("{quick:?}"), format!("{careful:?}"), "{text}");
    }
    assert!(accepted > 600, "{accepted}");
}

fn define(text: &str, parts: &Parts, way: Way) -> Result<Definition> {
    File { text, shift: 0 }.define(parts, way)
}
