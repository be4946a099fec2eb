//! The methods of `str`, and of markupsafe's `Markup`, which answers safe strings.

use crate::value::{Error, Tuple, Value};
use std::sync::LazyLock;

use super::arguments::{
    bound, cap, failed, flag, optional_text, part_value, size, subject_text, text, text_value,
};
use super::format;
use crate::python::text::search::Range;
use crate::python::text::{case, classes, markup, pad, search, split as cut, strip as trim};
use crate::python::Outcome;
use crate::semantics::call::{Call, Function, Table};
use crate::semantics::errors::{type_error, unsupported, value_error};
use crate::semantics::iterate;
use crate::semantics::kinds::{type_name, Type};

type Answer = Result<Value, Error>;

static ENTRIES: &[(&str, Function)] = &[
    ("capitalize", |call| mapped(call, "str.capitalize", case::capitalize)),
    ("casefold", |call| mapped(call, "str.casefold", case::casefold)),
    ("center", |call| padded(call, "center", pad::center)),
    ("count", |call| {
        let (part, range) = searched(call, "count")?;
        Ok(Value::from(search::count(subject_text(call), part, range)))
    }),
    ("encode", |_| Err(refused("str.encode"))),
    ("endswith", |call| affix(call, "endswith", search::endswith)),
    ("expandtabs", expandtabs),
    ("find", |call| found(call, "find", search::find)),
    ("format", format::format),
    ("format_map", format::format_map),
    ("index", |call| indexed(call, "index", search::find)),
    ("isalnum", |call| predicate(call, "str.isalnum", classes::isalnum)),
    ("isalpha", |call| predicate(call, "str.isalpha", classes::isalpha)),
    ("isascii", |call| predicate(call, "str.isascii", str::is_ascii)),
    ("isdecimal", |call| predicate(call, "str.isdecimal", classes::isdecimal)),
    ("isdigit", |call| predicate(call, "str.isdigit", classes::isdigit)),
    ("isidentifier", |call| predicate(call, "str.isidentifier", classes::isidentifier)),
    ("islower", |call| predicate(call, "str.islower", classes::islower)),
    ("isnumeric", |call| predicate(call, "str.isnumeric", classes::isnumeric)),
    ("isprintable", |call| predicate(call, "str.isprintable", classes::isprintable)),
    ("isspace", |call| predicate(call, "str.isspace", classes::isspace)),
    ("istitle", |call| predicate(call, "str.istitle", classes::istitle)),
    ("isupper", |call| predicate(call, "str.isupper", classes::isupper)),
    ("join", join),
    ("ljust", |call| padded(call, "ljust", pad::ljust)),
    ("lower", |call| mapped(call, "str.lower", case::lower)),
    ("lstrip", |call| stripped(call, "lstrip", trim::lstrip)),
    ("maketrans", |_| Err(refused("str.maketrans"))),
    ("partition", |call| parted(call, "str.partition", cut::partition)),
    ("removeprefix", |call| without(call, "removeprefix", trim::removeprefix)),
    ("removesuffix", |call| without(call, "removesuffix", trim::removesuffix)),
    ("replace", replace),
    ("rfind", |call| found(call, "rfind", search::rfind)),
    ("rindex", |call| indexed(call, "rindex", search::rfind)),
    ("rjust", |call| padded(call, "rjust", pad::rjust)),
    ("rpartition", |call| parted(call, "str.rpartition", cut::rpartition)),
    ("rsplit", |call| split(call, "rsplit", cut::rsplit)),
    ("rstrip", |call| stripped(call, "rstrip", trim::rstrip)),
    ("split", |call| split(call, "split", cut::split)),
    ("splitlines", splitlines),
    ("startswith", |call| affix(call, "startswith", search::startswith)),
    ("strip", |call| stripped(call, "strip", trim::strip)),
    ("swapcase", |call| mapped(call, "str.swapcase", case::swapcase)),
    ("title", |call| mapped(call, "str.title", case::title)),
    ("translate", |_| Err(refused("str.translate"))),
    ("upper", |call| mapped(call, "str.upper", case::upper)),
    ("zfill", zfill),
];

static SAFE_ENTRIES: &[(&str, Function)] = &[
    ("escape", |call| {
        let [value] = call.positional::<1>("Markup.escape", 1)?;
        escaped(value.unwrap_or(&Value::UNDEFINED), cap(call))
    }),
    ("striptags", |call| {
        call.positional::<0>("Markup.striptags", 0)?;
        markup::striptags(subject_text(call)).map(Value::from).map_err(failed)
    }),
    ("unescape", |call| {
        call.positional::<0>("Markup.unescape", 0)?;
        markup::unescape(subject_text(call)).map(Value::from).map_err(failed)
    }),
];

pub static STR: Table = Table(ENTRIES);

pub static MARKUP: LazyLock<Table> = LazyLock::new(|| {
    let mut entries = [ENTRIES, SAFE_ENTRIES].concat();
    entries.sort_by_key(|entry| entry.0);
    Table(Box::leak(entries.into_boxed_slice()))
});

fn refused(name: &str) -> Error {
    unsupported(name, format!("{name} is not supported"))
}

/// markupsafe's `escape`: what is safe stays as it is.
pub fn escaped(value: &Value, cap: usize) -> Answer {
    let (text, safe) = super::arguments::soft(value)?;
    let text = if safe { text.into_owned() } else { markup::escape(&text, cap).map_err(failed)? };
    Ok(Value::from_safe_string(text))
}

/// A new string of the subject's kind.
fn same_kind(call: &Call<'_>, text: impl AsRef<str>) -> Value {
    text_value(text, call.subject.is_safe())
}

fn list(call: &Call<'_>, parts: &[&str]) -> Value {
    Value::from(parts.iter().map(|part| same_kind(call, *part)).collect::<Vec<_>>())
}

/// An argument that markupsafe escapes before it goes into a safe string.
fn inserted(call: &Call<'_>, value: &Value, function: &str) -> Result<String, Error> {
    if !call.subject.is_safe() {
        return Ok(text(value, function)?.to_owned());
    }
    Ok(escaped(value, cap(call))?.as_str().unwrap_or_default().to_owned())
}

fn mapped(call: &mut Call<'_>, name: &str, map: fn(&str) -> String) -> Answer {
    call.positional::<0>(name, 0)?;
    Ok(same_kind(call, map(subject_text(call))))
}

fn predicate(call: &mut Call<'_>, name: &str, test: fn(&str) -> bool) -> Answer {
    call.positional::<0>(name, 0)?;
    Ok(Value::from(test(subject_text(call))))
}

fn stripped(
    call: &mut Call<'_>,
    name: &str,
    strip: for<'a> fn(&'a str, Option<&str>) -> &'a str,
) -> Answer {
    let [chars] = call.positional::<1>(name, 0)?;
    let chars = optional_text(chars, name)?;
    Ok(part_value(call.subject, strip(subject_text(call), chars)))
}

fn without(call: &mut Call<'_>, name: &str, strip: for<'a> fn(&'a str, &str) -> &'a str) -> Answer {
    let [affix] = call.positional::<1>(name, 1)?;
    let affix = text(affix.unwrap_or(&Value::UNDEFINED), name)?;
    Ok(same_kind(call, strip(subject_text(call), affix)))
}

fn split(
    call: &mut Call<'_>,
    name: &str,
    split: for<'a> fn(&'a str, Option<&str>, i64) -> Outcome<Vec<&'a str>>,
) -> Answer {
    let [separator, most] = call.bind(name, 0, ["sep", "maxsplit"])?;
    let separator = optional_text(separator.as_ref(), name)?;
    let most = most.as_ref().map(size).transpose()?.unwrap_or(-1);
    Ok(list(call, &split(subject_text(call), separator, most).map_err(failed)?))
}

fn splitlines(call: &mut Call<'_>) -> Answer {
    let [keep] = call.bind("splitlines", 0, ["keepends"])?;
    let keep = flag(keep.as_ref())?;
    Ok(list(call, &cut::splitlines(subject_text(call), keep)))
}

fn parted(
    call: &mut Call<'_>,
    name: &str,
    part: for<'a> fn(&'a str, &'a str) -> Outcome<[&'a str; 3]>,
) -> Answer {
    let [separator] = call.positional::<1>(name, 1)?;
    let separator = text(separator.unwrap_or(&Value::UNDEFINED), name)?;
    let parts = part(subject_text(call), separator).map_err(failed)?;
    Ok(Value::from(Tuple::from(parts.map(|part| same_kind(call, part)))))
}

fn searched<'a>(call: &Call<'a>, name: &str) -> Result<(&'a str, Range), Error> {
    let [part, start, end] = call.positional::<3>(name, 1)?;
    let part = text(part.unwrap_or(&Value::UNDEFINED), name)?;
    Ok((part, Range { start: bound(start)?, end: bound(end)? }))
}

type Search = fn(&str, &str, Range) -> Option<usize>;

fn found(call: &mut Call<'_>, name: &str, search: Search) -> Answer {
    let (part, range) = searched(call, name)?;
    match search(subject_text(call), part, range) {
        Some(at) => Ok(Value::from(at)),
        None => Ok(Value::from(-1)),
    }
}

fn indexed(call: &mut Call<'_>, name: &str, search: Search) -> Answer {
    let (part, range) = searched(call, name)?;
    match search(subject_text(call), part, range) {
        Some(at) => Ok(Value::from(at)),
        None => Err(value_error("substring not found")),
    }
}

/// One affix or a tuple of them.
fn affix(call: &mut Call<'_>, name: &str, test: fn(&str, &str, Range) -> bool) -> Answer {
    let [affix, start, end] = call.positional::<3>(name, 1)?;
    let affix = affix.unwrap_or(&Value::UNDEFINED);
    let range = Range { start: bound(start)?, end: bound(end)? };
    let subject = subject_text(call);
    if Type::of(affix) == Type::Tuple {
        for one in iterate::items(affix)? {
            if test(subject, text(&one, name)?, range) {
                return Ok(Value::from(true));
            }
        }
        return Ok(Value::from(false));
    }
    let Some(affix) = affix.as_str().filter(|_| super::arguments::is_text(affix)) else {
        return Err(type_error(format!(
            "{name} first arg must be str or a tuple of str, not {}",
            type_name(affix)
        )));
    };
    Ok(Value::from(test(subject, affix, range)))
}

fn replace(call: &mut Call<'_>) -> Answer {
    let [old, new, most] = call.positional::<3>("replace", 2)?;
    let old = text(old.unwrap_or(&Value::UNDEFINED), "replace")?;
    let new = inserted(call, new.unwrap_or(&Value::UNDEFINED), "replace")?;
    let most = most.map(size).transpose()?.unwrap_or(-1);
    let replaced = search::replace(subject_text(call), old, &new, most, cap(call));
    Ok(same_kind(call, replaced.map_err(failed)?))
}

fn join(call: &mut Call<'_>) -> Answer {
    let [parts] = call.positional::<1>("str.join", 1)?;
    let parts = iterate::items(parts.unwrap_or(&Value::UNDEFINED))?;
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        if !call.subject.is_safe() && !super::arguments::is_text(part) {
            return Err(type_error(format!(
                "sequence item {index}: expected str instance, {} found",
                type_name(part)
            )));
        }
        texts.push(inserted(call, part, "join")?);
    }
    let joined = search::join(subject_text(call), texts.iter().map(String::as_str), cap(call));
    Ok(same_kind(call, joined.map_err(failed)?))
}

fn padded(
    call: &mut Call<'_>,
    name: &str,
    pad: fn(&str, i64, &str, usize) -> Outcome<String>,
) -> Answer {
    let [width, fill] = call.positional::<2>(name, 1)?;
    let width = size(width.unwrap_or(&Value::UNDEFINED))?;
    let fill = match fill {
        Some(fill) => inserted(call, fill, name)?,
        None => " ".to_owned(),
    };
    let padded = pad(subject_text(call), width, &fill, cap(call));
    Ok(same_kind(call, padded.map_err(failed)?))
}

fn zfill(call: &mut Call<'_>) -> Answer {
    let [width] = call.positional::<1>("str.zfill", 1)?;
    let width = size(width.unwrap_or(&Value::UNDEFINED))?;
    let filled = pad::zfill(subject_text(call), width, cap(call));
    Ok(same_kind(call, filled.map_err(failed)?))
}

fn expandtabs(call: &mut Call<'_>) -> Answer {
    let [tab] = call.bind("expandtabs", 0, ["tabsize"])?;
    let tab = tab.as_ref().map(size).transpose()?.unwrap_or(8);
    if i32::try_from(tab).is_err() {
        return Err(crate::semantics::errors::overflow_error(
            "Python int too large to convert to C int",
        ));
    }
    let expanded = pad::expandtabs(subject_text(call), tab, cap(call));
    Ok(same_kind(call, expanded.map_err(failed)?))
}
