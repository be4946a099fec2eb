//! JSON as Python's `json` reads it, and dictionaries beside a slow one.
#![allow(clippy::unwrap_used)]

use pywasmtok_template::context::{dict, entries, int_from_decimal, parse_json, tuple, Dict};
use pywasmtok_template::error::Kind;
use pywasmtok_template::semantics::repr::repr;
use pywasmtok_template::value::{Object, Value};
use std::rc::Rc;

fn read(source: &str) -> Result<String, Kind> {
    let value = parse_json(source.as_bytes(), 8).map_err(|error| error.kind)?;
    Ok(repr(&value).unwrap())
}

#[test]
fn reads_what_python_reads() {
    for (source, expected) in [
        (" [1, -0, 2.50, 1E3, -1e-9, 1e400] ", "[1, 0, 2.5, 1000.0, -1e-09, inf]"),
        ("[NaN, Infinity, -Infinity]", "[nan, inf, -inf]"),
        ("[true, false, null, {}, []]", "[True, False, None, {}, []]"),
        ("170141183460469231731687303715884105728", "170141183460469231731687303715884105728"),
        ("-170141183460469231731687303715884105729", "-170141183460469231731687303715884105729"),
        (r#""a\u00e9\ud83d\ude00\/\b\"\\""#, "'a\u{e9}\u{1f600}/\\x08\"\\\\'"),
        (r#"{"b": 1, "a": 2, "b": 3}"#, "{'b': 3, 'a': 2}"),
    ] {
        assert_eq!(read(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn refuses_what_python_refuses() {
    for source in [
        "",
        "[1,]",
        "{\"a\" 1}",
        "{a: 1}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "--1",
        "nul",
        "'a'",
        "\"a",
        "\"\n\"",
        r#""\x""#,
        r#""\u12""#,
        r#""\ud800""#,
        r#""\ud800\u0041""#,
        r#""\udc00""#,
        "1 2",
        "[1",
        "{\"a\": 1",
        "-",
        "\u{a0}1",
        "Nan",
        "-infinity",
    ] {
        assert_eq!(read(source), Err(Kind::Context), "{source}");
    }
    assert_eq!(read(&"9".repeat(4301)), Err(Kind::Context));
    assert_eq!(read(&"[".repeat(9)), Err(Kind::Limit));
    assert!(parse_json(b"\"\xff\"", 8).is_err());
}

/// A dictionary as one would write it without thinking of speed.
fn slow(given: &[(Value, Value)]) -> Vec<(Value, Value)> {
    let mut kept: Vec<(Value, Value)> = Vec::new();
    for (key, value) in given {
        match kept.iter_mut().find(|(known, _)| known == key) {
            Some(entry) => entry.1 = value.clone(),
            None => kept.push((key.clone(), value.clone())),
        }
    }
    kept
}

#[test]
fn dictionaries_agree_with_a_slow_one() {
    let mut seed = 1_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..2000 {
        let length = next(30);
        let given: Vec<(Value, Value)> = (0..length)
            .map(|at| {
                let number = next(12);
                let half = f64::from(u32::try_from(number).unwrap()) / 2.0;
                let key = match next(12) {
                    0 => Value::from(number),
                    1 => Value::from(half),
                    2 => Value::from(number % 2 == 0),
                    3 => Value::from(-half),
                    // Beyond 2**53 a float stands for several integers, and equals one of them.
                    4 => Value::from(9_007_199_254_740_992 + number / 4),
                    5 => Value::from(9_007_199_254_740_992.0 + half),
                    6 => int_from_decimal(&format!("{}{}", "9".repeat(310), number % 2)).unwrap(),
                    7 => tuple(vec![Value::from(number), Value::from("x")]),
                    8 => tuple(vec![]),
                    9 => Value::from(()),
                    _ => Value::from(format!("key {number}")),
                };
                (key, Value::from(at))
            })
            .collect();
        let expected = slow(&given);
        let value = dict(given.clone());
        assert_eq!(format!("{:?}", entries(&value).unwrap()), format!("{expected:?}"));
        let made = Rc::new(Dict::new(given.clone()));
        for (key, _) in &given {
            let found = expected.iter().find(|(known, _)| known == key).map(|(_, value)| value);
            assert_eq!(made.get_value(key).as_ref(), found);
        }
        assert_eq!(made.get_value(&Value::from("no key")), None);
    }
}
