//! Random scenarios against the search through the whole text, and the named cases.

use super::*;
use crate::decode::ByteRuns;
use crate::oracle::random::Random;
use crate::oracle::stop::{self as oracle, Stops};
use crate::tokenizer::stream::tests::{all_decoders, any_ids, ids, llama, tokenizer};
use crate::tokenizer::{Decoding, UnknownIds};
use serde_json::{json, Value};

fn options(skip_special: bool) -> StreamOptions {
    StreamOptions {
        decoding: Decoding { skip_special, unknown: UnknownIds::Skip },
        runs: ByteRuns::Exact,
    }
}

fn config(stops: &Stops) -> Vec<u8> {
    let all = json!({
        "stop_tokens": stops.hidden_tokens, "visible_stop_tokens": stops.visible_tokens,
        "stop_sequences": stops.hidden, "visible_stop_sequences": stops.visible,
        "min_tokens": stops.min_tokens,
    });
    all.to_string().into_bytes()
}

fn any_stop(random: &mut Random) -> String {
    const PIECES: [&str; 12] = ["a", "b", " ", "hi", "x", "你", "�", "é", "a▁b", "H", "llo", "A"];
    let count = 1 + random.below(3);
    (0..count).map(|_| *random.pick(&PIECES)).collect()
}

fn some<T>(random: &mut Random, most: usize, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
    let count = random.below(most);
    (0..count).map(|_| make(random)).collect()
}

/// Runs the ids one by one, through states, and then the end.
fn run(
    tokenizer: &Tokenizer,
    how: StreamOptions,
    context: &[u32],
    list: &[u32],
    stops: &Stops,
) -> oracle::Expected {
    let plan = StopPlan::new(tokenizer, &config(stops)).unwrap();
    let mut decoder = StopDecoder::new(tokenizer, &plan, how, context).unwrap();
    let mut answer = oracle::Expected::default();
    let mut text = String::new();
    for &id in list {
        let mut state = Vec::new();
        decoder.save(&mut state);
        decoder = StopDecoder::resume(tokenizer, &plan, &state).unwrap();
        let given = decoder.process(&[id]).unwrap();
        assert_eq!(given.consumed, 1);
        text.push_str(&given.text);
        answer.released.push(text.clone());
        if decoder.matched().is_some() {
            break;
        }
    }
    if decoder.matched().is_none() {
        text.push_str(&decoder.finish().unwrap());
        answer.released.push(text.clone());
    }
    // All at once gives the same.
    let mut whole = StopDecoder::new(tokenizer, &plan, how, context).unwrap();
    let given = whole.process(list).unwrap();
    let rest = whole.finish().unwrap();
    assert_eq!((given.text + &rest, whole.matched()), (text, decoder.matched()));
    if whole.matched().is_some() {
        assert_eq!(whole.process(list).unwrap(), Given::default());
    }
    answer.matched = decoder.matched().map(|found| {
        let (sequence, number) = match found.cause {
            Cause::Token(id) => (false, id),
            Cause::Sequence(index) => (true, index),
        };
        (sequence, number, found.visible, found.token_index, found.bytes, found.chars)
    });
    answer
}

/// A stop at the end of the input replaces what the end would have released.
fn agrees(mut ours: oracle::Expected, theirs: &oracle::Expected, list: &[u32]) -> bool {
    let at_end = theirs.released.len() == list.len() + 1;
    if at_end && ours.released.len() == list.len() + 2 {
        ours.released.pop();
    }
    ours == *theirs
}

#[test]
fn any_scenario_equals_the_search_through_the_whole_text() {
    let mut random = Random::new(0x5709);
    let all: Vec<(Value, Tokenizer)> =
        all_decoders().into_iter().map(|decoder| (decoder.clone(), tokenizer(decoder))).collect();
    for round in 0..50_000 {
        let (decoder, tokenizer) = &all[round % all.len()];
        let list = any_ids(&mut random, 288, 10);
        let context = any_ids(&mut random, 288, 4);
        let any_id = |random: &mut Random| any_ids(random, 288, 3).first().copied().unwrap_or(256);
        let stops = Stops {
            hidden_tokens: some(&mut random, 2, any_id),
            visible_tokens: some(&mut random, 2, any_id),
            hidden: some(&mut random, 4, any_stop),
            visible: some(&mut random, 3, any_stop),
            min_tokens: random.below(4) as u64 * random.below(2) as u64,
        };
        let how = options(round % 3 == 0);
        let ours = run(tokenizer, how, &context, &list, &stops);
        let theirs = oracle::run(tokenizer, how, &context, &list, &stops);
        assert!(
            agrees(ours, &theirs, &list),
            "{decoder} {context:?} {list:?} {stops:?}\n{:?}\n{theirs:?}",
            run(tokenizer, how, &context, &list, &stops)
        );
    }
}

/// What goes out at each token and at the end, for sequences of characters of a plain alphabet.
fn letters(chunks: &[&str], hidden: &[&str], visible: &[&str]) -> (Vec<String>, Option<Cause>) {
    let tokenizer = tokenizer(Value::Null);
    let stops = Stops {
        hidden: hidden.iter().map(|text| text.to_string()).collect(),
        visible: visible.iter().map(|text| text.to_string()).collect(),
        ..Stops::default()
    };
    let plan = StopPlan::new(&tokenizer, &config(&stops)).unwrap();
    let mut decoder = StopDecoder::new(&tokenizer, &plan, options(true), &[]).unwrap();
    let mut given = Vec::new();
    for chunk in chunks {
        let mut text = String::new();
        if decoder.matched.is_none() {
            decoder.take(chunk, Some(0), true, &mut text);
        }
        given.push(text);
    }
    given.push(decoder.finish().unwrap());
    (given, decoder.matched.map(|found| found.cause))
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| text.to_string()).collect()
}

#[test]
fn the_sequence_that_ends_first_wins_however_the_text_is_cut() {
    for chunks in [&["a..", ".b"][..], &["a...b"], &["a", ".", ".", ".", "b"]] {
        let (given, cause) = letters(chunks, &["...", ".."], &[]);
        assert_eq!((given.concat(), cause), ("a".to_owned(), Some(Cause::Sequence(1))));
    }
    for chunks in [&["xabcd"][..], &["xabc", "d"]] {
        let (given, cause) = letters(chunks, &["abcd", "bc"], &[]);
        assert_eq!((given.concat(), cause), ("xa".to_owned(), Some(Cause::Sequence(1))));
    }
}

#[test]
fn exactly_the_longest_beginning_is_held() {
    let (given, cause) = letters(&["abc", "abc", "e"], &["abcd"], &[]);
    assert_eq!((given, cause), (strings(&["", "abc", "abce", ""]), None));
    let long = "z".repeat(100);
    let (given, _) = letters(&["every", "token", "out"], &[&long], &[]);
    assert_eq!(given, strings(&["every", "token", "out", ""]));
    let (given, cause) = letters(&["ST"], &["STOP"], &[]);
    assert_eq!((given, cause), (strings(&["", "ST"]), None));
}

#[test]
fn a_hidden_stop_that_spans_tokens_leaves_no_piece() {
    let (given, cause) = letters(&["a", " zeta", " eta", " theta", "!"], &[" zeta eta theta"], &[]);
    assert_eq!((given, cause), (strings(&["a", "", "", "", "", ""]), Some(Cause::Sequence(0))));
    let (given, _) = letters(&["DEFG", "HIJ"], &["DEFGHIJ"], &[]);
    assert_eq!(given.concat(), "");
}

#[test]
fn what_follows_in_the_same_token_is_dropped() {
    assert_eq!(letters(&["aXb", "c"], &["X"], &[]).0.concat(), "a");
    assert_eq!(letters(&["aXb", "c"], &[], &["X"]).0.concat(), "aX");
    assert_eq!(letters(&["aXb"], &["X"], &["X"]).0.concat(), "a", "hidden wins");
}

#[test]
fn a_stop_token_settles_what_is_pending() {
    let byte_level = tokenizer(json!({"type": "ByteLevel"}));
    let list = ids(&byte_level, &["a", "Ã", "</s>"]);
    let stops = |hidden: &[&str]| Stops {
        hidden_tokens: vec![list[2]],
        hidden: strings(hidden),
        ..Stops::default()
    };
    let found = run(&byte_level, options(true), &[], &list, &stops(&[]));
    assert_eq!(found.released, ["a", "a", "a�"]);
    assert_eq!(found.matched.map(|found| (found.0, found.1)), Some((false, list[2])));
    let found = run(&byte_level, options(true), &[], &list, &stops(&["�"]));
    assert_eq!(found.released, ["a", "a", "a"]);
    assert_eq!(found.matched.map(|found| (found.0, found.3)), Some((true, Some(2))));
}

#[test]
fn a_visible_token_is_shown_in_its_context() {
    let llama = tokenizer(llama());
    let stop_at = |tokens: &[&str]| {
        let list = ids(&llama, tokens);
        let stops = Stops { visible_tokens: list[list.len() - 1..].to_vec(), ..Stops::default() };
        run(&llama, options(true), &[], &list, &stops).released.pop()
    };
    assert_eq!(stop_at(&["a", "▁hi"]).as_deref(), Some("a hi"));
    assert_eq!(stop_at(&["▁hi", "</s>"]).as_deref(), Some("hi</s>"));
}

#[test]
fn a_sequence_that_is_a_skipped_token_stops_by_its_id() {
    let llama = tokenizer(llama());
    let stops = Stops { hidden: strings(&["</s>"]), ..Stops::default() };
    let plan = StopPlan::new(&llama, &config(&stops)).unwrap();
    assert_eq!(plan.notes(&llama, true).len(), 1);
    assert!(plan.notes(&llama, false).is_empty());
    let list = ids(&llama, &["▁hi", "</s>", "x"]);
    let mut decoder = StopDecoder::new(&llama, &plan, options(true), &[]).unwrap();
    let given = decoder.process(&list).unwrap();
    assert_eq!((given.text.as_str(), given.consumed), ("hi", 2));
}

#[test]
fn ends_of_sequence_can_be_ignored_and_explicit_stops_can_not() {
    let llama = tokenizer(llama());
    let plan = |json: Value| StopPlan::new(&llama, json.to_string().as_bytes()).unwrap();
    assert_eq!(plan(json!({"eos_tokens": [5]})).token(5, true), Some(false));
    assert_eq!(
        plan(json!({"eos_tokens": [5], "visible_stop_tokens": [5]})).token(5, true),
        Some(true)
    );
    assert_eq!(plan(json!({"eos_tokens": [5], "ignore_eos": true})).token(5, true), None);
    let both = json!({"eos_tokens": [5], "ignore_eos": true, "stop_tokens": [5]});
    assert_eq!(plan(both).token(5, true), Some(false));
    assert_eq!(
        plan(json!({"stop_tokens": [5], "visible_stop_tokens": [5]})).token(5, true),
        Some(false)
    );
}

#[test]
fn context_takes_no_part_in_a_match() {
    let tokenizer = tokenizer(json!({"type": "Fuse"}));
    let context = ids(&tokenizer, &["a", "x"]);
    let stops = Stops { hidden: strings(&["xa"]), ..Stops::default() };
    let list = ids(&tokenizer, &["a"]);
    assert_eq!(run(&tokenizer, options(true), &context, &list, &stops).matched, None);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let llama = tokenizer(llama());
    for bad in
        [r#"{"stop_sequences": [""]}"#, r#"{"stop": ["x"]}"#, r#"{"stop_tokens": [-1]}"#, "", "[]"]
    {
        assert!(StopPlan::new(&llama, bad.as_bytes()).is_err(), "{bad}");
    }
    let long = json!({"stop_sequences": ["x".repeat(1 << 17)]}).to_string();
    assert!(StopPlan::new(&llama, long.as_bytes()).is_err());
    let plan = StopPlan::new(&llama, b"{}").unwrap();
    let other = StopPlan::new(&llama, br#"{"min_tokens": 1}"#).unwrap();
    let mut state = Vec::new();
    StopDecoder::new(&llama, &plan, options(true), &[]).unwrap().save(&mut state);
    assert!(StopDecoder::resume(&llama, &other, &state).is_err());
    for at in 0..state.len() {
        let mut bad = state.clone();
        bad[at] ^= 0x55;
        if let Ok(mut decoder) = StopDecoder::resume(&llama, &plan, &bad) {
            let _ = decoder.process(&[300, 0x41, 0xE4]);
            let _ = decoder.finish();
        }
    }
}
