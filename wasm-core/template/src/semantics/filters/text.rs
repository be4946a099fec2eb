//! Filters of texts.

use crate::context::Dict;
use crate::python::fault::{push, push_repeated};
use crate::python::numbers::integer::at_least_zero;
use crate::python::text::{case, classes, markup, pad, search, split, strip, wrap};
use crate::semantics::call::Call;
use crate::semantics::errors::{attribute_error, filter_error, type_error, undefined_error};
use crate::semantics::iterate;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::methods::arguments::{
    cap, clipped, failed, is_text, optional_text, part_value, size, soft, text_value,
};
use crate::semantics::methods::format::percent;
use crate::semantics::numbers;
use crate::semantics::operators::arithmetic::add;
use crate::semantics::operators::compare::less;
use crate::semantics::repr;
use crate::value::{Error, Tuple, Value};

fn mapped(call: &mut Call<'_>, name: &str, map: fn(&str) -> String) -> Result<Value, Error> {
    call.bind(name, 0, [])?;
    let (text, safe) = soft(call.subject)?;
    Ok(text_value(map(&text), safe))
}

pub fn upper(call: &mut Call<'_>) -> Result<Value, Error> {
    mapped(call, "do_upper", case::upper)
}

pub fn lower(call: &mut Call<'_>) -> Result<Value, Error> {
    mapped(call, "do_lower", case::lower)
}

pub fn capitalize(call: &mut Call<'_>) -> Result<Value, Error> {
    mapped(call, "do_capitalize", case::capitalize)
}

/// Of a safe string the pieces are plain ones.
pub fn title(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_title", 0, [])?;
    Ok(Value::from(case::title_words(&soft(call.subject)?.0)))
}

pub fn trim(call: &mut Call<'_>) -> Result<Value, Error> {
    let [chars] = call.bind("do_trim", 0, ["chars"])?;
    let chars = optional_text(chars.as_ref(), "strip")?;
    if is_text(call.subject) {
        let text = call.subject.as_str().unwrap_or_default();
        return Ok(part_value(call.subject, strip::strip(text, chars)));
    }
    Ok(text_value(strip::strip(&repr::text(call.subject)?, chars), false))
}

pub fn center(call: &mut Call<'_>) -> Result<Value, Error> {
    let [width] = call.bind("do_center", 0, ["width"])?;
    let width = width.as_ref().map(size).transpose()?.unwrap_or(80);
    let (text, safe) = soft(call.subject)?;
    Ok(text_value(pad::center(&text, width, " ", cap(call)).map_err(failed)?, safe))
}

pub fn replace(call: &mut Call<'_>) -> Result<Value, Error> {
    let [old, new, count] = call.bind("do_replace", 2, ["old", "new", "count"])?;
    let part = |value: Option<Value>| repr::text(&value.unwrap_or_default());
    let (old, new) = (part(old)?, part(new)?);
    let count = count.filter(|count| !count.is_none());
    let count = count.as_ref().map(size).transpose()?.unwrap_or(-1);
    let text = repr::text(call.subject)?;
    search::replace(&text, &old, &new, count, cap(call)).map(Value::from).map_err(failed)
}

pub fn wordcount(call: &mut Call<'_>) -> Result<Value, Error> {
    call.bind("do_wordcount", 0, [])?;
    let (text, _) = soft(call.subject)?;
    Ok(Value::from(text.split(|c| !classes::is_word(c)).filter(|word| !word.is_empty()).count()))
}

pub fn format(call: &mut Call<'_>) -> Result<Value, Error> {
    let keywords = call.kwargs.pairs();
    if !call.args.is_empty() && !keywords.is_empty() {
        return Err(filter_error("can't handle positional and keyword arguments at the same time"));
    }
    let (text, safe) = soft(call.subject)?;
    let argument = if keywords.is_empty() {
        Value::from(Tuple::from(call.args))
    } else {
        let entries = keywords.into_iter().map(|(name, value)| (Value::from(name), value));
        Value::from_object(Dict::new(entries.collect()))
    };
    percent(call, &text_value(text, safe), &argument)
}

/// The subject as a string, of which Python wants a method or an operator.
fn wanted<'a>(call: &Call<'a>, method: &str) -> Result<&'a str, Error> {
    match call.subject.as_str().filter(|_| is_text(call.subject)) {
        Some(text) => Ok(text),
        None if call.subject.is_undefined() => Err(undefined_error("a value is undefined")),
        None => Err(attribute_error(format!(
            "'{}' object has no attribute '{method}'",
            type_name(call.subject)
        ))),
    }
}

pub fn indent(call: &mut Call<'_>) -> Result<Value, Error> {
    let [width, first, blank] = call.bind("do_indent", 0, ["width", "first", "blank"])?;
    let text = wanted(call, "splitlines")?;
    let cap = cap(call);
    let (indention, safe_indention) = match width.as_ref() {
        None => (" ".repeat(4), false),
        Some(width) if is_text(width) => {
            (width.as_str().unwrap_or_default().to_owned(), width.is_safe())
        }
        Some(width) => {
            let mut spaces = String::new();
            let count = at_least_zero(size(width)?);
            push_repeated(&mut spaces, " ", count, cap).map_err(failed)?;
            (spaces, false)
        }
    };
    let safe = call.subject.is_safe();
    let first = first.is_some_and(|first| first.is_true());
    let blank = blank.is_some_and(|blank| blank.is_true());
    // A safe indention escapes the plain lines that it is put in front of.
    let escapes = safe_indention && !safe;
    let mut out = String::new();
    // The newline at the end keeps a last empty line.
    let ended = format!("{text}\n");
    for (at, line) in split::splitlines(&ended, false).into_iter().enumerate() {
        let indented = if at == 0 { first } else { blank || !line.is_empty() };
        if at > 0 {
            push(&mut out, "\n", cap).map_err(failed)?;
        }
        if indented && at > 0 {
            push(&mut out, &indention, cap).map_err(failed)?;
        }
        if escapes && (blank || indented && at > 0) {
            let escaped = markup::escape(line, cap).map_err(failed)?;
            push(&mut out, &escaped, cap).map_err(failed)?;
        } else {
            push(&mut out, line, cap).map_err(failed)?;
        }
    }
    if first {
        // Put in front of all, it escapes what was not made safe before.
        let rest = if escapes && !blank { markup::escape(&out, cap).map_err(failed)? } else { out };
        out = indention;
        push(&mut out, &rest, cap).map_err(failed)?;
    }
    Ok(text_value(out, safe || escapes && (blank || first)))
}

pub fn truncate(call: &mut Call<'_>) -> Result<Value, Error> {
    let [length, killwords, end, leeway] =
        call.bind("do_truncate", 0, ["length", "killwords", "end", "leeway"])?;
    let end = end.unwrap_or_else(|| Value::from("..."));
    let Some(end_length) = iterate::length(&end) else {
        return Err(type_error(format!("object of type '{}' has no len()", type_name(&end))));
    };
    let end_length = i64::try_from(end_length).unwrap_or(i64::MAX);
    let length = length.unwrap_or_else(|| Value::from(255));
    let leeway = leeway.filter(|leeway| !leeway.is_none());
    let leeway = leeway.unwrap_or_else(|| Value::from(5));
    // Both are only compared, until something is cut.
    if less(&length, &Value::from(end_length))? {
        return Err(assertion(format!("expected length >= {end_length}")));
    }
    if less(&leeway, &Value::from(0))? {
        return Err(assertion("expected leeway >= 0".to_owned()));
    }
    let Some(subject_length) = iterate::length(call.subject) else {
        return Err(type_error(format!(
            "object of type '{}' has no len()",
            type_name(call.subject)
        )));
    };
    let most = add(&length, &leeway, cap(call))?;
    if !less(&most, &Value::from(subject_length))? {
        return Ok(call.subject.clone());
    }
    let length = size(&length)?;
    let text = wanted(call, "rsplit")?;
    if !is_text(&end) {
        return Err(type_error("can only concatenate str to str"));
    }
    let kept = at_least_zero(length - end_length);
    let at = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    let mut kept = text.get(..at).unwrap_or("");
    if !killwords.is_some_and(|kill| kill.is_true()) {
        kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    }
    let (safe, safe_end) = (call.subject.is_safe(), end.is_safe());
    let (mut kept, mut end) = (kept.to_owned(), end.as_str().unwrap_or_default().to_owned());
    if safe && !safe_end {
        end = markup::escape(&end, cap(call)).map_err(failed)?;
    } else if safe_end && !safe {
        kept = markup::escape(&kept, cap(call)).map_err(failed)?;
    }
    Ok(text_value(kept + &end, safe || safe_end))
}

fn assertion(message: String) -> Error {
    Error::new(format!("AssertionError: {message}"))
}

pub fn wordwrap(call: &mut Call<'_>) -> Result<Value, Error> {
    let [width, long_words, wrapstring, hyphens] = call.bind(
        "do_wordwrap",
        0,
        ["width", "break_long_words", "wrapstring", "break_on_hyphens"],
    )?;
    let text = wanted(call, "splitlines")?;
    let wrapstring = wrapstring.filter(|text| !text.is_none()).unwrap_or_else(|| Value::from("\n"));
    if !matches!(Type::of(&wrapstring), Type::Str | Type::Markup) {
        return Err(type_error(format!(
            "'{}' object has no attribute 'join'",
            type_name(&wrapstring)
        )));
    }
    let mut lines = Vec::new();
    // Without lines the width has no use.
    let paragraphs = split::splitlines(text, false);
    if paragraphs.is_empty() {
        return Ok(text_value("", wrapstring.is_safe()));
    }
    let width = width.unwrap_or_else(|| Value::from(79));
    let float = numbers::float(&width);
    #[allow(clippy::cast_possible_truncation)]
    let floor = float.map(|width| width.floor() as i64);
    let options = wrap::Options {
        width: floor.or_else(|| clipped(&width)).map_or_else(|| size(&width), Ok)?,
        whole: float.is_none(),
        break_long_words: long_words.is_none_or(|flag| flag.is_true()),
        break_on_hyphens: hyphens.as_ref().is_none_or(Value::is_true),
        hyphenated: hyphens.is_none_or(|flag| Type::of(&flag) == Type::Bool && flag.is_true()),
    };
    for line in paragraphs {
        let wrapped = wrap::wrap(line, options).map_err(failed)?;
        // A line without words is an empty one.
        if wrapped.is_empty() {
            lines.push(String::new());
        }
        lines.extend(wrapped);
    }
    let (cap, safe) = (cap(call), wrapstring.is_safe());
    if safe && !call.subject.is_safe() {
        for line in &mut lines {
            *line = markup::escape(line, cap).map_err(failed)?;
        }
    }
    let separator = wrapstring.as_str().unwrap_or_default();
    let joined = search::join(separator, lines.iter().map(String::as_str), cap);
    Ok(text_value(joined.map_err(failed)?, safe))
}
