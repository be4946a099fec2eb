use super::*;
use crate::formats::Options;
use serde_json::Value;

fn of(file: &Value) -> Fingerprints {
    of_text(&file.to_string())
}

fn of_text(file: &str) -> Fingerprints {
    Fingerprints::of_file(file.as_bytes(), &Options::default()).unwrap()
}

/// Everything that a tokenizer.json of this model can say, none of it at its default.
fn full() -> Value {
    serde_json::json!({
        "version": "1.0",
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 1, "direction": "Left"},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Left", "pad_to_multiple_of": 2,
            "pad_id": 1, "pad_type_id": 1, "pad_token": "b"},
        "added_tokens": [
            {"id": 5, "content": "<s>", "single_word": true, "lstrip": true, "rstrip": true,
             "normalized": true, "special": true},
            {"id": 6, "content": "<t>", "single_word": false, "lstrip": false, "rstrip": false,
             "normalized": false, "special": false}
        ],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"String": "x"}, "content": "a"},
            {"type": "Strip", "strip_left": true, "strip_right": false}
        ]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Isolated", "invert": false},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}
        ]},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 1}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                     {"SpecialToken": {"id": "<t>", "type_id": 0}},
                     {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]},
                               "<t>": {"id": "<t>", "ids": [6], "tokens": ["<t>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "aba": 3, "▁": 4},
            "merges": [["a", "b"], ["ab", "a"]], "unk_token": "b", "fuse_unk": true,
            "byte_fallback": true, "ignore_merges": true}
    })
}

/// A change at a place of the file, and which of the two it must change.
fn changed(pointer: &str, to: Value, encoding: bool, decoding: bool) {
    let (before, mut file) = (of(&full()), full());
    let place = file.pointer_mut(pointer).unwrap();
    assert_ne!(*place, to, "{pointer}");
    *place = to;
    let after = of(&file);
    assert_eq!(before.encoding != after.encoding, encoding, "encoding: {pointer}");
    assert_eq!(before.decoding != after.decoding, decoding, "decoding: {pointer}");
}

#[test]
fn every_field_that_encoding_depends_on_changes_it() {
    let numbers = [
        "/truncation/max_length",
        "/truncation/stride",
        "/padding/strategy/Fixed",
        "/padding/pad_to_multiple_of",
        "/padding/pad_id",
        "/padding/pad_type_id",
        "/post_processor/single/0/SpecialToken/type_id",
        "/post_processor/single/1/Sequence/type_id",
        "/post_processor/pair/2/Sequence/type_id",
        "/post_processor/special_tokens/<t>/ids/0",
    ];
    for pointer in numbers {
        changed(pointer, 4.into(), true, false);
    }
    let flags = [
        "/added_tokens/0/single_word",
        "/added_tokens/0/lstrip",
        "/added_tokens/0/rstrip",
        "/added_tokens/0/normalized",
        "/normalizer/normalizers/0/pattern/String",
        "/normalizer/normalizers/0/content",
        "/pre_tokenizer/pretokenizers/0/pattern/Regex",
        "/model/fuse_unk",
        "/model/byte_fallback",
        "/model/ignore_merges",
        "/pre_tokenizer/pretokenizers/0/invert",
        "/pre_tokenizer/pretokenizers/1/split",
        "/normalizer/normalizers/1/strip_left",
        "/normalizer/normalizers/1/strip_right",
    ];
    for pointer in flags {
        let other = match full().pointer(pointer).unwrap() {
            Value::Bool(flag) => Value::Bool(!flag),
            _ => "b".into(),
        };
        changed(pointer, other, true, false);
    }
    changed("/truncation/strategy", "OnlyFirst".into(), true, false);
    changed("/truncation/direction", "Right".into(), true, false);
    changed("/truncation", Value::Null, true, false);
    changed("/padding/direction", "Right".into(), true, false);
    changed("/padding/strategy", "BatchLongest".into(), true, false);
    changed("/padding/pad_token", "a".into(), true, false);
    changed("/padding", Value::Null, true, false);
    changed("/normalizer", Value::Null, true, false);
    changed("/pre_tokenizer", Value::Null, true, false);
    changed("/pre_tokenizer/pretokenizers/0/behavior", "Removed".into(), true, false);
    changed("/pre_tokenizer/pretokenizers/1/prepend_scheme", "never".into(), true, false);
    changed("/pre_tokenizer/pretokenizers/1/replacement", "_".into(), true, false);
    changed("/post_processor", Value::Null, true, false);
}

#[test]
fn tokens_belong_to_both() {
    changed("/added_tokens/0/special", false.into(), true, true);
    changed("/added_tokens/1/special", true.into(), true, true);
    changed("/model/vocab/▁", 7.into(), true, true);
    changed("/model/merges", serde_json::json!([["a", "b"]]), true, false);
    changed("/model/unk_token", "a".into(), true, false);
    changed("/added_tokens/1/content", "<u>".into(), true, true);
}

#[test]
fn the_decoder_is_apart() {
    changed("/decoder", Value::Null, false, true);
    changed("/decoder/decoders/0/content", "_".into(), false, true);
    changed("/decoder/decoders/1/start", 2.into(), false, true);
    changed("/decoder/decoders/1/stop", 2.into(), false, true);
}

#[test]
fn what_means_the_same_is_the_same() {
    let before = of(&full());
    // Merges as texts.
    let mut file = full();
    file["model"]["merges"] = serde_json::json!(["a b", "ab a"]);
    assert_eq!(of(&file), before);
    // The order of keys, and white space.
    let mut file = full().to_string();
    file = file.replacen(r#""a":0,"ab":2"#, r#""ab" : 2, "a" :0 "#, 1);
    assert_ne!(file, full().to_string());
    assert_eq!(of_text(&file), before);
    // A sequence within a sequence; the version; keys that are at their defaults.
    let mut file = full();
    file["normalizer"]["normalizers"] = serde_json::json!([full()["normalizer"]]);
    file["model"]["dropout"] = Value::Null;
    file["model"]["end_of_word_suffix"] = "".into();
    assert_eq!(of(&file), before);
    // The name of a token that is in a template, and one that no template uses.
    let mut file = full();
    file["post_processor"]["special_tokens"]["unused"] =
        serde_json::json!({"id": "unused", "ids": [0], "tokens": ["a"]});
    assert_eq!(of(&file), before);
}

#[test]
fn stated_ids_of_added_tokens_count_only_where_they_are_followed() {
    let before = of(&full());
    let mut file = full();
    file["added_tokens"][1]["id"] = 77.into();
    assert_eq!(of(&file), before);
    // The order decides about the ids.
    file["added_tokens"].as_array_mut().unwrap().reverse();
    assert_ne!(of(&file), before);
}

/// The first is a vector of `docs/hashes.md`.
#[test]
fn known_answers() {
    let tiny = r#"{"added_tokens": [], "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null, "model": {"type": "BPE",
        "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}"#;
    let found = of_text(tiny);
    let known = "pwt1:34b3f31ffb4f57da3f8095be0693e6997ef0a15b768108d0571de39c7264edd8";
    assert_eq!(found.encoding, known);
    let known = "pwtd1:7fa20b06cebcd6c46db7801d3ba4775084ebf2a28cf43ddbb96d2bd7bd06ddcc";
    assert_eq!(found.decoding, known);
    let found = of(&full());
    let known = "pwt1:79e414ee459f6c7f4211c1bd34dd46bb263d1d6d0a04a4a4e3252343eaafdae6";
    assert_eq!(found.encoding, known);
    let known = "pwtd1:d5365db929b71955e465f9ac27404cd108639e0da573b0c83c696aea8651627b";
    assert_eq!(found.decoding, known);
}
