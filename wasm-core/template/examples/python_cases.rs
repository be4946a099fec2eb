//! Sets the algorithms of `python` against what `tools/verify/python_cases.py` wrote of Python's own.
//!
//!     python -m tools.verify.python_cases 100000 | cargo run --release --example python_cases
//!
//! A line is an operation, its arguments and the answer, apart by tabs: `s:` a text in hexadecimal,
//! `i:` a number, `f:` a float, `n` None, `l:` texts, `e:` an error's class.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use pywasmtok_template::python::formatting::{percent, spec};
use pywasmtok_template::python::numbers::float;
use pywasmtok_template::python::numbers::integer::{self, Integer};
use pywasmtok_template::python::text::search::Range;
use pywasmtok_template::python::text::{
    case, classes, markup, pad, quote, search, split, strip, wrap,
};
use pywasmtok_template::python::{Fault, Kind, Outcome};

const CAP: usize = 1 << 20;

enum Answer {
    Text(String),
    Number(i64),
    Float(f64),
    Texts(Vec<String>),
}

struct Arguments<'a>(Vec<&'a str>);

impl Arguments<'_> {
    fn text(&self, at: usize) -> Option<String> {
        unhex(self.0.get(at)?.strip_prefix("s:")?)
    }

    fn number(&self, at: usize) -> Option<i64> {
        self.0.get(at)?.strip_prefix("i:")?.parse().ok()
    }

    fn integer(&self, at: usize) -> Option<Integer> {
        integer::parse(self.0.get(at)?.strip_prefix("i:")?, 10).ok()
    }

    fn float(&self, at: usize) -> Option<f64> {
        self.0.get(at)?.strip_prefix("f:")?.parse().ok()
    }

    fn range(&self, at: usize) -> Range {
        Range { start: self.number(at), end: self.number(at + 1) }
    }
}

fn unhex(text: &str) -> Option<String> {
    let bytes = (0..text.len() / 2).map(|at| text.get(2 * at..2 * at + 2));
    let bytes: Option<Vec<u8>> = bytes.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn place(found: Option<usize>) -> Answer {
    Answer::Number(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1))
}

fn truth(answer: bool) -> Answer {
    Answer::Number(i64::from(answer))
}

fn texts(parts: impl IntoIterator<Item = impl ToString>) -> Answer {
    Answer::Texts(parts.into_iter().map(|part| part.to_string()).collect())
}

/// None: the line is malformed.
fn answer(operation: &str, a: &Arguments<'_>) -> Option<Outcome<Answer>> {
    let plain = |text: String| Some(Ok(Answer::Text(text)));
    let predicate: Option<fn(&str) -> bool> = match operation {
        "isalpha" => Some(classes::isalpha),
        "isalnum" => Some(classes::isalnum),
        "isdecimal" => Some(classes::isdecimal),
        "isdigit" => Some(classes::isdigit),
        "isnumeric" => Some(classes::isnumeric),
        "isspace" => Some(classes::isspace),
        "isprintable" => Some(classes::isprintable),
        "isidentifier" => Some(classes::isidentifier),
        "islower" => Some(classes::islower),
        "isupper" => Some(classes::isupper),
        "istitle" => Some(classes::istitle),
        _ => None,
    };
    if let Some(predicate) = predicate {
        return Some(Ok(truth(predicate(&a.text(0)?))));
    }
    Some(match operation {
        "upper" => return plain(case::upper(&a.text(0)?)),
        "lower" => return plain(case::lower(&a.text(0)?)),
        "title" => return plain(case::title(&a.text(0)?)),
        "title_words" => return plain(case::title_words(&a.text(0)?)),
        "capitalize" => return plain(case::capitalize(&a.text(0)?)),
        "swapcase" => return plain(case::swapcase(&a.text(0)?)),
        "casefold" => return plain(case::casefold(&a.text(0)?)),
        "repr" => return plain(quote::quoted(&a.text(0)?)),
        "ascii" => return plain(quote::ascii(&quote::quoted(&a.text(0)?))),
        "strip" => return plain(strip::strip(&a.text(0)?, a.text(1).as_deref()).to_owned()),
        "lstrip" => return plain(strip::lstrip(&a.text(0)?, a.text(1).as_deref()).to_owned()),
        "rstrip" => return plain(strip::rstrip(&a.text(0)?, a.text(1).as_deref()).to_owned()),
        "removeprefix" => return plain(strip::removeprefix(&a.text(0)?, &a.text(1)?).to_owned()),
        "removesuffix" => return plain(strip::removesuffix(&a.text(0)?, &a.text(1)?).to_owned()),
        "split" => split::split(&a.text(0)?, a.text(1).as_deref(), a.number(2)?).map(texts),
        "rsplit" => split::rsplit(&a.text(0)?, a.text(1).as_deref(), a.number(2)?).map(texts),
        "splitlines" => Ok(texts(split::splitlines(&a.text(0)?, a.number(1)? != 0))),
        "partition" => split::partition(&a.text(0)?, &a.text(1)?).map(texts),
        "rpartition" => split::rpartition(&a.text(0)?, &a.text(1)?).map(texts),
        "find" => Ok(place(search::find(&a.text(0)?, &a.text(1)?, a.range(2)))),
        "rfind" => Ok(place(search::rfind(&a.text(0)?, &a.text(1)?, a.range(2)))),
        "count" => Ok(place(Some(search::count(&a.text(0)?, &a.text(1)?, a.range(2))))),
        "startswith" => Ok(truth(search::startswith(&a.text(0)?, &a.text(1)?, a.range(2)))),
        "endswith" => Ok(truth(search::endswith(&a.text(0)?, &a.text(1)?, a.range(2)))),
        "replace" => search::replace(&a.text(0)?, &a.text(1)?, &a.text(2)?, a.number(3)?, CAP)
            .map(Answer::Text),
        "center" => pad::center(&a.text(0)?, a.number(1)?, &a.text(2)?, CAP).map(Answer::Text),
        "ljust" => pad::ljust(&a.text(0)?, a.number(1)?, &a.text(2)?, CAP).map(Answer::Text),
        "rjust" => pad::rjust(&a.text(0)?, a.number(1)?, &a.text(2)?, CAP).map(Answer::Text),
        "zfill" => pad::zfill(&a.text(0)?, a.number(1)?, CAP).map(Answer::Text),
        "expandtabs" => pad::expandtabs(&a.text(0)?, a.number(1)?, CAP).map(Answer::Text),
        "escape" => markup::escape(&a.text(0)?, CAP).map(Answer::Text),
        "striptags" => markup::striptags(&a.text(0)?).map(Answer::Text),
        "url" => quote::url(&a.text(0)?, a.number(1)? != 0, CAP).map(Answer::Text),
        "wrap" => {
            let options = wrap::Options {
                width: a.number(1)?,
                whole: true,
                break_long_words: a.number(2)? != 0,
                break_on_hyphens: a.number(3)? != 0,
                hyphenated: a.number(3)? != 0,
            };
            wrap::wrap(&a.text(0)?, options).map(Answer::Texts)
        }
        "int" => integer::parse(&a.text(0)?, a.number(1)?).map(|n| Answer::Text(n.to_string())),
        "float" => float::parse(&a.text(0)?).map(Answer::Float),
        "float_repr" => return plain(float::repr(a.float(0)?)),
        "round" => Ok(Answer::Float(float::round(a.float(0)?, a.number(1)?))),
        "format_float" => {
            written(|out| Some(spec::push_float(out, a.float(0)?, &a.text(1)?, CAP)))?
        }
        "format_int" => {
            written(|out| Some(spec::push_integer(out, &a.integer(0)?, &a.text(1)?, CAP)))?
        }
        "format_str" => written(|out| Some(spec::push_str(out, &a.text(0)?, &a.text(1)?, CAP)))?,
        "percent" => percented(&a.text(0)?, a)?,
        _ => return None,
    })
}

fn written(write: impl FnOnce(&mut String) -> Option<Outcome<()>>) -> Option<Outcome<Answer>> {
    let mut out = String::new();
    Some(write(&mut out)?.map(|()| Answer::Text(out)))
}

/// One field and its argument.
fn percented(format: &str, a: &Arguments<'_>) -> Option<Outcome<Answer>> {
    let mut out = String::new();
    for piece in percent::parse(format) {
        let field = match piece {
            Err(fault) => return Some(Err(fault)),
            Ok(percent::Piece::Text(text)) => {
                out.push_str(text);
                continue;
            }
            Ok(percent::Piece::Field(field)) => field,
        };
        let given = |amount| match amount {
            percent::Amount::Given(number) => number,
            percent::Amount::FromArguments => 0,
        };
        let layout = percent::Layout {
            flags: field.flags,
            width: field.width.map_or(0, given),
            precision: field.precision.map(given),
        };
        let done = match field.letter {
            '%' => {
                out.push('%');
                Ok(())
            }
            's' => percent::push_text(&mut out, &a.text(1)?, layout, CAP),
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                percent::push_integer(&mut out, &a.integer(1)?, field.letter, layout, CAP)
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                percent::push_float(&mut out, a.float(1)?, field.letter, layout, CAP)
            }
            letter => Err(Fault::value_error(format!("unsupported format character '{letter}'"))),
        };
        if let Err(fault) = done {
            return Some(Err(fault));
        }
    }
    Some(Ok(Answer::Text(out)))
}

fn shown(answer: &Outcome<Answer>) -> String {
    match answer {
        Ok(Answer::Text(text)) => format!("s:{}", hex(text)),
        Ok(Answer::Number(number)) => format!("i:{number}"),
        Ok(Answer::Float(number)) if number.is_nan() => format!("f:{:016x}", f64::NAN.to_bits()),
        Ok(Answer::Float(number)) => format!("f:{:016x}", number.to_bits()),
        Ok(Answer::Texts(parts)) => {
            format!("l:{}", parts.iter().map(|part| hex(part)).collect::<Vec<_>>().join(","))
        }
        Err(fault) => match fault.kind {
            Kind::Type => "e:TypeError".to_owned(),
            Kind::Value => "e:ValueError".to_owned(),
            Kind::Overflow => "e:OverflowError".to_owned(),
            Kind::Limit | Kind::Unsupported => format!("refused: {fault}"),
            kind => format!("e:{kind:?}"),
        },
    }
}

fn main() -> ExitCode {
    let (mut compared, mut refused, mut different) = (0, 0, 0);
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut parts: Vec<&str> = line.split('\t').collect();
        let (Some(expected), false) = (parts.pop(), parts.is_empty()) else { continue };
        let operation = parts.remove(0);
        let found = match answer(operation, &Arguments(parts)) {
            Some(answer) => shown(&answer),
            None => "malformed".to_owned(),
        };
        compared += 1;
        if found.starts_with("refused") {
            refused += 1;
        } else if found != expected {
            different += 1;
            let _ = writeln!(std::io::stdout(), "{line}\n    here: {found}");
        }
    }
    let _ = writeln!(
        std::io::stdout(),
        "{compared} compared, {different} different, {refused} refused"
    );
    ExitCode::from(u8::from(different > 0 || compared == 0))
}
