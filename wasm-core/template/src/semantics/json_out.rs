//! The filter `tojson` of transformers: `json.dumps`, and plain text out of it.

use crate::value::{Error, Value, ValueKind};
use std::cell::Cell;
use std::cmp::Ordering;

use super::call::Call;
use super::errors::{limit_error, type_error, value_error};
use super::iterate::{items, pairs};
use super::kinds::{type_name, Type};
use super::numbers::{float, integer};
use super::operators::compare::order;
use super::session::output_cap;
use crate::context::entries;
use crate::python;

/// As deep as values print.
const DEPTH: usize = 200;
/// Bytes that most arguments of a call fit into.
const ROOM: usize = 128;
/// Bytes that a buffer may have and still be kept for the next call.
const KEPT: usize = 16 << 10;
/// Bytes of a text that are looked at together.
const LANES: usize = 16;

thread_local! {
    // A value holds a copy of exactly its size: what it was written into is as good as new.
    static BUFFER: Cell<String> = const { Cell::new(String::new()) };
}

/// `tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub fn tojson(call: &mut Call<'_>) -> Result<Value, Error> {
    let [ascii, indent, separators, sort] =
        call.bind("tojson", 0, ["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let cap = output_cap();
    let truth = |given: Option<Value>| given.is_some_and(|given| given.is_true());
    // A text alone is not indented: `json` does not look what the indentation is.
    let indent = indent.filter(|given| !given.is_none() && !Type::of(call.subject).is_text());
    let indent = indent.map(|given| unit(&given, cap)).transpose()?;
    let (item, key) = match separators.filter(|given| !given.is_none()) {
        Some(given) => pair(&given)?,
        None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
        None => (", ".to_owned(), ": ".to_owned()),
    };
    let mut out = BUFFER.take();
    out.clear();
    out.reserve(ROOM);
    let mut writer = Writer { out, cap, ascii: truth(ascii), indent, item, key, sort: truth(sort) };
    writer.push(call.subject, 0)?;
    let value = Value::from(writer.out.as_str());
    if writer.out.capacity() <= KEPT {
        BUFFER.set(writer.out);
    }
    Ok(value)
}

/// One level of indentation: a text, or so many spaces.
fn unit(indent: &Value, cap: usize) -> Result<String, Error> {
    if let Some(text) = indent.as_str().filter(|_| Type::of(indent).is_text()) {
        return Ok(text.to_owned());
    }
    let Some(count) = integer(indent) else {
        return Err(type_error(format!(
            "can't multiply sequence by non-int of type '{}'",
            type_name(indent)
        )));
    };
    match usize::try_from(count.max(0)) {
        Ok(count) if count <= cap => Ok(" ".repeat(count)),
        _ => Err(limit_error("output", format!("an indentation of more than {cap} bytes"))),
    }
}

fn pair(separators: &Value) -> Result<(String, String), Error> {
    let both = items(separators)?;
    let [item, key] = both.as_slice() else {
        return Err(value_error(format!("2 separators were expected, not {}", both.len())));
    };
    let text = |value: &Value| match value.as_str() {
        Some(text) if Type::of(value).is_text() => Ok(text.to_owned()),
        _ => Err(type_error(format!("a separator must be str, not {}", type_name(value)))),
    };
    Ok((text(item)?, text(key)?))
}

struct Writer {
    out: String,
    cap: usize,
    ascii: bool,
    indent: Option<String>,
    item: String,
    key: String,
    sort: bool,
}

impl Writer {
    fn push(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEPTH {
            return Err(limit_error("depth", format!("JSON deeper than {DEPTH} levels")));
        }
        self.check()?;
        // What nearly all are.
        if value.kind() == ValueKind::String {
            self.string(value.as_str().unwrap_or_default());
            return Ok(());
        }
        if let Some(entries) = entries(value).filter(|_| !self.sort) {
            return self.entries(entries, depth);
        }
        if let Some(items) = crate::context::items(value) {
            return self.items(items, depth);
        }
        match Type::of(value) {
            Type::None => self.out.push_str("null"),
            Type::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            Type::Int => self.out.push_str(&value.to_string()),
            Type::Float => self.out.push_str(&number(float(value).unwrap_or_default())),
            Type::List | Type::Tuple => self.list(value, depth)?,
            Type::Dict => self.dictionary(value, depth)?,
            _ => {
                return Err(type_error(format!(
                    "Object of type {} is not JSON serializable",
                    type_name(value)
                )))
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        if self.out.len() > self.cap {
            return Err(limit_error("output", format!("JSON longer than {} bytes", self.cap)));
        }
        Ok(())
    }

    #[inline]
    fn new_line(&mut self, depth: usize) -> Result<(), Error> {
        if self.indent.is_none() {
            return Ok(());
        }
        self.indented_line(depth)
    }

    fn indented_line(&mut self, depth: usize) -> Result<(), Error> {
        let Some(indent) = &self.indent else { return Ok(()) };
        let wanted = indent.len().saturating_mul(depth).saturating_add(self.out.len());
        if wanted > self.cap {
            return Err(limit_error("output", format!("JSON longer than {} bytes", self.cap)));
        }
        self.out.push('\n');
        for _ in 0..depth {
            self.out.push_str(indent);
        }
        Ok(())
    }

    fn between(&mut self, first: bool, depth: usize) -> Result<(), Error> {
        if !first {
            self.out.push_str(&self.item);
        }
        self.new_line(depth)
    }

    fn list(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.out.push('[');
        let mut first = true;
        for item in value.try_iter()?.checked() {
            self.between(first, depth + 1)?;
            first = false;
            self.push(&item?, depth + 1)?;
        }
        if !first {
            self.new_line(depth)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn items(&mut self, items: &[Value], depth: usize) -> Result<(), Error> {
        self.out.push('[');
        for (at, item) in items.iter().enumerate() {
            self.between(at == 0, depth + 1)?;
            self.push(item, depth + 1)?;
        }
        if !items.is_empty() {
            self.new_line(depth)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn dictionary(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let entries = self.in_order(pairs(value))?;
        self.entries(&entries, depth)
    }

    fn entries(&mut self, entries: &[(Value, Value)], depth: usize) -> Result<(), Error> {
        self.out.push('{');
        for (at, (key, value)) in entries.iter().enumerate() {
            self.between(at == 0, depth + 1)?;
            self.name(key)?;
            self.out.push_str(&self.key);
            self.push(value, depth + 1)?;
        }
        if !entries.is_empty() {
            self.new_line(depth)?;
        }
        self.out.push('}');
        Ok(())
    }

    /// Keys of kinds that cannot be compared are an error, whatever the algorithm asks first.
    fn in_order(&self, mut entries: Vec<(Value, Value)>) -> Result<Vec<(Value, Value)>, Error> {
        if !self.sort {
            return Ok(entries);
        }
        let mut failure = None;
        entries.sort_by(|(a, _), (b, _)| match order(a, b, "<") {
            Ok(order) => order.unwrap_or(Ordering::Equal),
            Err(error) => {
                failure.get_or_insert(error);
                Ordering::Equal
            }
        });
        failure.map_or(Ok(entries), Err)
    }

    fn name(&mut self, key: &Value) -> Result<(), Error> {
        if key.kind() == ValueKind::String {
            self.string(key.as_str().unwrap_or_default());
            return Ok(());
        }
        match Type::of(key) {
            Type::None | Type::Bool | Type::Int | Type::Float => {}
            _ => {
                return Err(type_error(format!(
                    "keys must be str, int, float, bool or None, not {}",
                    type_name(key)
                )))
            }
        }
        self.out.push('"');
        self.push(key, 0)?;
        self.out.push('"');
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.reserve(text.len() + 2);
        self.out.push('"');
        let mut rest = text;
        loop {
            let plain = plain_bytes(rest.as_bytes(), self.ascii);
            let (before, after) = rest.split_at_checked(plain).unwrap_or((rest, ""));
            self.out.push_str(before);
            let mut characters = after.chars();
            let Some(c) = characters.next() else { break };
            self.escaped(c);
            rest = characters.as_str();
        }
        self.out.push('"');
    }

    fn escaped(&mut self, c: char) {
        match c {
            '"' => self.out.push_str("\\\""),
            '\\' => self.out.push_str("\\\\"),
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            '\u{8}' => self.out.push_str("\\b"),
            '\u{c}' => self.out.push_str("\\f"),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    self.out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
}

/// How many bytes stand for themselves, up to the first that does not.
fn plain_bytes(text: &[u8], ascii: bool) -> usize {
    let (whole, _) = text.as_chunks::<LANES>();
    // Without a way out inside, so that all lanes of a vector are compared at once.
    let some = |lanes: &[u8; LANES]| lanes.iter().fold(false, |any, &b| any | special(b, ascii));
    let before = whole.iter().position(some).unwrap_or(whole.len()) * LANES;
    let rest = text.get(before..).unwrap_or_default();
    before + rest.iter().position(|&byte| special(byte, ascii)).unwrap_or(rest.len())
}

fn special(byte: u8, ascii: bool) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\') | (ascii & (byte > b'~'))
}

fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    python::numbers::float::repr(value)
}
