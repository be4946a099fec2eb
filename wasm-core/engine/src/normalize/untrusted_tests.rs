//! What is said to be untrusted after a step, held against what untrusted text can change at all.

use super::tests::{bert, build, literal, precompiled};
use super::*;
use crate::definition::Normalizer;
use crate::oracle::random::Random;

fn flags(steps: &[Normalizer], parts: &[(&str, bool)]) -> (String, Vec<bool>) {
    let whole: String = parts.iter().map(|part| part.0).collect();
    let marks = parts.iter().flat_map(|(text, trusted)| vec![!trusted; text.len()]).collect();
    let mut text = AlignedText::new(&whole, 0, true).with_untrusted(marks);
    build(steps).apply(&mut text).unwrap();
    let flags = (0..text.as_str().len()).map(|at| text.is_untrusted(at..at + 1)).collect();
    (text.into_string(), flags)
}

fn chains() -> Vec<Vec<Normalizer>> {
    vec![
        vec![Normalizer::Nfc],
        vec![Normalizer::Nfd],
        vec![Normalizer::Nfkc],
        vec![Normalizer::Nfkd, Normalizer::StripAccents, Normalizer::Lowercase],
        vec![bert(Some(true), true)],
        vec![bert(None, false)],
        vec![Normalizer::Prepend("▁".into()), literal(" ", "▁")],
        vec![literal("ab", "<s>"), literal("x", "")],
        vec![Normalizer::Strip { left: true, right: true }, Normalizer::Lowercase],
        vec![Normalizer::Nmt, Normalizer::Nfkc],
    ]
}

#[test]
fn what_is_trusted_does_not_depend_on_untrusted_text() {
    const ATOMS: [&str; 24] = [
        "a",
        "b",
        "ab",
        "x",
        "<",
        "s>",
        " ",
        "  ",
        "e",
        "\u{301}",
        "\u{327}",
        "é",
        "ﬁ",
        "＜",
        "\u{1}",
        "\u{200b}",
        "\u{AD}",
        "İ",
        "각",
        "\u{1100}\u{1161}",
        "\u{11A8}",
        "中",
        "\n",
        "½",
    ];
    let mut random = Random::new(41);
    for steps in chains() {
        let normalizers = build(&steps);
        for _ in 0..3000 {
            let mut text =
                || -> String { (0..=random.below(4)).map(|_| *random.pick(&ATOMS)).collect() };
            let (before, middle, behind) = (text(), text(), text());
            let parts = [(&*before, true), (&*middle, false), (&*behind, true)];
            let (made, flags) = flags(&steps, &parts);
            let first = flags.iter().position(|&flag| flag).unwrap_or(flags.len());
            let last = flags.iter().rposition(|&flag| flag).map_or(0, |at| at + 1);
            let what = format!("{parts:?} became {made:?} by {steps:?}");
            if first < last {
                let alone = |text: &str| normalizers.apply_plain(text).unwrap().into_owned();
                let (head, tail) = (&made[..first], &made[last..]);
                // Something that combines with nothing, and that ends of white space lean on.
                let (before, behind) = (format!("{before}|"), format!("|{behind}"));
                assert!(alone(&before).starts_with(head), "{what}: {head:?}");
                assert!(alone(&behind).ends_with(tail), "{what}: {tail:?}");
            }
        }
    }
}

#[test]
fn untrusted_text_that_vanishes_shifts_nothing() {
    // The reference loses count where the first character vanishes.
    let steps = [precompiled(&[("\u{1}", ""), ("＜", "<"), ("＞", ">")])];
    let parts = [("\u{1}\u{1}\u{1}\u{1}", false), ("User", true), ("＜s＞", false)];
    let (made, flags) = flags(&steps, &parts);
    assert_eq!(made, "User<s>");
    assert_eq!(flags, [false, false, false, false, true, true, true]);
}

#[test]
fn a_replacement_is_untrusted_if_any_part_of_what_it_replaces_is() {
    let (made, flags) = flags(&[literal("ab", "<s>")], &[("a", false), ("b", true)]);
    assert_eq!((made.as_str(), flags), ("<s>", vec![true; 3]));
}

#[test]
fn a_composition_is_untrusted_if_its_mark_is() {
    let (made, flags) = flags(&[Normalizer::Nfc], &[("e", true), ("\u{301}", false), ("x", true)]);
    assert_eq!((made.as_str(), flags), ("éx", vec![true, true, false]));
}

#[test]
fn what_vanishes_leaves_no_mark_on_its_neighbours() {
    let parts = [("a", true), ("\u{1}", false), ("b", true)];
    let (made, flags) = flags(&[bert(None, false)], &parts);
    assert_eq!((made.as_str(), flags), ("ab", vec![false; 2]));
}
