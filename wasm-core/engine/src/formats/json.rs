//! Reading JSON values with their place in the file, so that every complaint can name it.

use crate::error::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

/// A value and the path that leads to it, such as `$.pre_tokenizer.pretokenizers[1]`.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub value: &'a Value,
    pub path: String,
}

impl<'a> Node<'a> {
    pub fn new(value: &'a Value, path: impl Into<String>) -> Self {
        Self { value, path: path.into() }
    }

    fn wrong(&self, wanted: &str) -> Error {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        Error::invalid(format!("expected {wanted}, found {found}")).at_path(self.path.clone())
    }

    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    fn object(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong("an object"))
    }

    /// A field that may be missing; `null` counts as missing.
    pub fn optional(&self, key: &str) -> Result<Option<Node<'a>>> {
        Ok(self
            .object()?
            .get(key)
            .filter(|value| !value.is_null())
            .map(|value| Node::new(value, format!("{}.{key}", self.path))))
    }

    pub fn field(&self, key: &str) -> Result<Node<'a>> {
        let object = self.object()?;
        match object.get(key) {
            Some(value) => Ok(Node::new(value, format!("{}.{key}", self.path))),
            None => Err(Error::invalid(format!("the field \"{key}\" is missing"))
                .at_path(self.path.clone())),
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    pub fn items(&self) -> Result<impl Iterator<Item = Node<'a>> + '_> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("an array"))?;
        Ok(items
            .iter()
            .enumerate()
            .map(|(n, value)| Node::new(value, format!("{}[{n}]", self.path))))
    }

    pub fn entries(&self) -> Result<impl Iterator<Item = (&'a str, Node<'a>)> + '_> {
        Ok(self
            .object()?
            .iter()
            .map(|(key, value)| (key.as_str(), Node::new(value, format!("{}.{key}", self.path)))))
    }

    pub fn string(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("a string"))
    }

    pub fn bool(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub fn unsigned(&self) -> Result<u64> {
        self.value.as_u64().ok_or_else(|| self.wrong("a whole number, 0 or more"))
    }

    pub fn u32(&self) -> Result<u32> {
        u32::try_from(self.unsigned()?).map_err(|_| {
            Error::invalid("number out of range for 32 bits").at_path(self.path.clone())
        })
    }

    pub fn usize(&self) -> Result<usize> {
        usize::try_from(self.unsigned()?)
            .map_err(|_| Error::invalid("number too large").at_path(self.path.clone()))
    }

    pub fn char(&self) -> Result<char> {
        let mut chars = self.string()?.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(c),
            _ => Err(self.wrong("a string of exactly one character")),
        }
    }

    /// The boolean field `key`, or `default` where it is missing.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool> {
        self.optional(key)?.map_or(Ok(default), |node| node.bool())
    }
}

/// Turns serde_json's complaint about `text` into ours, with the byte offset in the whole file.
pub fn syntax_error(error: &serde_json::Error, text: &str, base: u64) -> Error {
    let offset = base + byte_offset(text, error.line(), error.column());
    let message = error.to_string();
    // serde_json closes its sentence with a line and a column, which the offset replaces.
    let sentence = message.split(" at line ").next().unwrap_or(&message);
    let kind = if sentence.contains("recursion limit") {
        ErrorKind::LimitExceeded
    } else {
        ErrorKind::InvalidFile
    };
    Error::new(kind, format!("invalid JSON: {sentence}")).at_offset(offset)
}

fn byte_offset(text: &str, line: usize, column: usize) -> u64 {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let offset = (before + column.saturating_sub(1)).min(text.len());
    u64::try_from(offset).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn complaints_name_the_place() {
        let value = json!({"a": [{"b": 1}]});
        let root = Node::new(&value, "$");
        let item = root.field("a").unwrap().items().unwrap().next().unwrap();
        let error = item.field("b").unwrap().string().unwrap_err();
        assert_eq!(error.path.as_deref(), Some("$.a[0].b"));
        assert_eq!(error.message, "expected a string, found a number");
        assert_eq!(item.field("c").unwrap_err().path.as_deref(), Some("$.a[0]"));
    }

    #[test]
    fn null_is_missing() {
        let value = json!({"a": null});
        assert!(Node::new(&value, "$").optional("a").unwrap().is_none());
        assert!(Node::new(&value, "$").flag("a", true).unwrap());
    }

    #[test]
    fn syntax_errors_carry_byte_offsets() {
        let text = "{\n  \"a\": tru\n}";
        let error = serde_json::from_str::<Value>(text).unwrap_err();
        let ours = syntax_error(&error, text, 100);
        assert_eq!(ours.kind, ErrorKind::InvalidFile);
        assert!((108..=113).contains(&ours.offset.unwrap()), "{ours}");
    }
}
