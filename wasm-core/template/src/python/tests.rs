//! The smallest questions to which an earlier answer was not Python's, and the corners of each.

use super::formatting::{fields, spec};
use super::numbers::float;
use super::numbers::integer::{self, Integer};
use super::text::search::{self, Range};
use super::text::{case, classes, markup, pad, quote, split, strip, wrap};
use super::*;

const CAP: usize = 1000;

fn format_float(value: f64, spec: &str) -> String {
    let mut out = String::new();
    spec::push_float(&mut out, value, spec, CAP).expect(spec);
    out
}

fn format_integer(value: i128, spec: &str) -> String {
    let mut out = String::new();
    spec::push_integer(&mut out, &Integer::from(value), spec, CAP).expect(spec);
    out
}

#[test]
fn of_two_shortest_floats_the_even_one() {
    assert_eq!(float::repr(645_185_273_587_943.2), "645185273587943.2");
    assert_eq!(float::repr(1e16), "1e+16");
    assert_eq!(float::repr(0.00001), "1e-05");
    assert_eq!(float::repr(0.01), "0.01");
    assert_eq!(float::repr(-0.0002), "-0.0002");
    assert_eq!(float::repr(-0.0), "-0.0");
    assert_eq!(float::repr(5e-324), "5e-324");
}

#[test]
fn separators_of_ascii_do_not_surround_numbers() {
    assert!(integer::parse("\x1c9", 10).is_err());
    assert!(float::parse("9\x1c").is_err());
    assert_eq!(integer::parse("\u{a0}٣_1\t", 10).map(|n| n.to_string()), Ok("31".to_owned()));
    assert!(integer::parse("1__0", 10).is_err());
    assert!(integer::parse("010", 0).is_err());
    assert_eq!(integer::parse("0x_1F", 16).map(|n| n.to_string()), Ok("31".to_owned()));
}

#[test]
fn strip_takes_what_python_calls_space() {
    assert_eq!(strip::strip("\x1c\u{2003}a\x1f\u{200b}", None), "a\x1f\u{200b}");
    assert_eq!(strip::strip("xyax", Some("yx")), "a");
}

#[test]
fn splits_with_a_bound() {
    assert_eq!(split::split(" a  b  ", None, 1), Ok(vec!["a", "b  "]));
    assert_eq!(split::rsplit("  a  b ", None, 1), Ok(vec!["  a", "b"]));
    assert_eq!(split::rsplit("aaa", Some("aa"), -1), Ok(vec!["a", ""]));
    assert!(split::split("a", Some(""), -1).is_err());
    assert_eq!(split::splitlines("a\r\nb\x1c\u{2028}c", true), ["a\r\n", "b\x1c", "\u{2028}", "c"]);
}

#[test]
fn an_empty_text_is_found_at_the_end_and_not_behind_it() {
    let from = |start| Range { start: Some(start), end: None };
    assert_eq!(search::find("é", "", from(1)), Some(1));
    assert_eq!(search::find("é", "", from(2)), None);
    assert_eq!(search::count("éa", "", from(-1)), 2);
    assert_eq!(search::replace("ab", "", "-", -1, CAP), Ok("-a-b-".to_owned()));
    assert_eq!(search::replace("ab", "", "-", 2, CAP), Ok("-a-b".to_owned()));
}

#[test]
fn case_follows_python() {
    assert_eq!(case::lower("ΑΣ Σ"), "ας σ");
    assert_eq!(case::title("it's ǆ"), "It'S ǅ");
    assert_eq!(case::title_words("it's (a-b)"), "It's (A-B)");
    assert_eq!(case::upper("ßŉ"), "SSʼN");
    assert_eq!(case::casefold("ß"), "ss");
    assert_eq!(case::swapcase("aBß"), "AbSS");
    // Unicode 15 gave this letter a small one; Python 3.11 does not know it.
    assert_eq!(case::lower("\u{a7dc}"), "\u{a7dc}");
}

#[test]
fn digits_are_of_three_kinds() {
    assert!(classes::isnumeric("½") && !classes::isdigit("½"));
    assert!(classes::isdigit("²") && !classes::isdecimal("²"));
    assert!(classes::isdecimal("٣"));
}

#[test]
fn padding_puts_the_odd_one_as_python_does() {
    assert_eq!(pad::center("ab", 5, "*", CAP), Ok("**ab*".to_owned()));
    assert_eq!(pad::center("a", 4, "*", CAP), Ok("*a**".to_owned()));
    assert_eq!(pad::zfill("-1", 4, CAP), Ok("-001".to_owned()));
    assert_eq!(pad::expandtabs("a\tb\n\tc", 4, CAP), Ok("a   b\n    c".to_owned()));
}

#[test]
fn what_grows_is_bounded() {
    let limited =
        |outcome: Outcome<String>| outcome.map_err(|fault| fault.kind) == Err(Kind::Limit);
    assert!(limited(pad::center("a", 1 << 40, " ", CAP)));
    assert!(limited(pad::zfill("a", i64::MAX, CAP)));
    assert!(limited(pad::expandtabs("\t", i64::MAX, CAP)));
    assert!(limited(search::replace(&"a".repeat(100), "", &"b".repeat(100), -1, CAP)));
    let mut out = String::new();
    let value = Integer::from(1_i128);
    for wide in ["1000000000", "01000000000", "01000000000,", "=1000000000"] {
        let fault = spec::push_integer(&mut out, &value, wide, CAP).expect_err(wide);
        assert_eq!(fault.kind, Kind::Limit, "{wide}");
    }
    let fault = spec::push_float(&mut out, 1.5, ".1000000000f", CAP).expect_err("precision");
    assert_eq!(fault.kind, Kind::Limit);
}

#[test]
fn numbers_by_specification() {
    assert_eq!(format_float(1234567.891, ",.2f"), "1,234,567.89");
    assert_eq!(format_float(f64::NEG_INFINITY, "012_F"), "-00000000INF");
    assert_eq!(format_float(-0.001, "z.1f"), "0.0");
    assert_eq!(format_float(1e16, ".3"), "1e+16");
    assert_eq!(format_float(2.0, ".3"), "2.0");
    assert_eq!(format_float(0.5, ".0%"), "50%");
    assert_eq!(format_integer(-5, "05"), "-0005");
    assert_eq!(format_integer(1234, "07,"), "001,234");
    assert_eq!(format_integer(1234, "08,"), "0,001,234");
    assert_eq!(format_integer(255, "#_x"), "0xff");
    assert_eq!(format_integer(7, "*^5"), "**7**");
    let mut out = String::new();
    assert!(spec::push_str(&mut out, "a", ",", CAP).is_err());
    assert!(spec::push_str(&mut out, "a", "=5", CAP).is_err());
    spec::push_str(&mut out, "abc", "05.2", CAP).expect("a string takes zeros to its right");
    assert_eq!(out, "ab000");
}

#[test]
fn rounding_is_that_of_the_exact_number() {
    assert_eq!(float::round(2.675, 2), 2.67);
    assert_eq!(float::round(-5e-5, 4), -1e-4);
    assert_eq!(float::round(0.6, 0), 1.0);
    assert_eq!(float::round(0.5, 0), 0.0);
    assert_eq!(float::round(1.5, 0), 2.0);
    assert_eq!(float::round(25.0, -1), 20.0);
    assert_eq!(float::round(-0.4, 0).to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn wrapping_breaks_at_hyphens_between_letters() {
    let options = |width| wrap::Options {
        width,
        whole: true,
        break_long_words: true,
        break_on_hyphens: true,
        hyphenated: true,
    };
    let wrap = |text: &str, width| wrap::wrap(text, options(width)).expect(text);
    assert_eq!(wrap("goof-ball -b", 7), ["goof-", "ball -b"]);
    assert_eq!(wrap("well--known", 6), ["well--", "known"]);
    assert_eq!(wrap("abcdef", 4), ["abcd", "ef"]);
    assert_eq!(wrap("  a", 9), ["  a"]);
    assert!(wrap::wrap("a", options(0)).is_err());
}

#[test]
fn quotes_as_repr_does() {
    assert_eq!(quoted("it's"), "\"it's\"");
    assert_eq!(quoted("'\""), "'\\'\"'");
    assert_eq!(quoted("\u{ad}\u{e000}\u{1f9ff}\x7f"), "'\\xad\\ue000\u{1f9ff}\\x7f'");
    assert_eq!(quote::ascii("'é😀'"), "'\\xe9\\U0001f600'");
}

#[test]
fn fields_of_a_format_string() {
    let errors = ["{", "}", "{a!}", "{a!rx}", "{a[", "{a:{}", "{{}"];
    for text in errors {
        assert!(fields::pieces(text).any(|piece| piece.is_err()), "{text}");
    }
    for name in ["a..b", "a[]", "a[0", "a[0]b"] {
        assert!(fields::split(name).is_err(), "{name}");
    }
    let brackets: Vec<_> = fields::pieces("{a[:}]!r:>{w}}").collect::<Outcome<_>>().expect("one");
    let field = brackets.first().and_then(|piece| piece.field.clone()).expect("a field");
    assert_eq!((field.name, field.conversion, field.spec), ("a[:}]", Some('r'), ">{w}"));
}

#[test]
fn tags_and_entities() {
    assert_eq!(
        markup::striptags("a <b>&lt; </b>\n c <!-- > --> d < e"),
        Ok("a < c d < e".to_owned())
    );
    assert_eq!(markup::striptags("&eacute;").map_err(|fault| fault.kind), Err(Kind::Unsupported));
}
