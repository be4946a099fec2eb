//! What a request says.

use pywasmtok_engine::decode::ByteRuns;
use pywasmtok_engine::error::{Error, ErrorKind, Result};
use pywasmtok_engine::formats::base64;
use pywasmtok_engine::tokenizer::stream::StreamOptions;
use pywasmtok_engine::tokenizer::{Decoding, Special, Tokenizer, UnknownIds, Wanted};
use serde_json::Value;

const CONFIG: [&str; 7] = [
    "stop_tokens",
    "visible_stop_tokens",
    "eos_tokens",
    "stop_sequences",
    "visible_stop_sequences",
    "min_tokens",
    "ignore_eos",
];

/// What may become a special token, beyond all and none.
pub enum Guarded {
    Refuse,
    Allow(Vec<u32>),
}

impl Guarded {
    pub fn special(&self) -> Special<'_> {
        match self {
            Self::Refuse => Special::Refuse,
            Self::Allow(ids) => Special::Allow(ids),
        }
    }
}

pub struct Request {
    said: Value,
}

impl Request {
    pub fn new(said: Value) -> Self {
        Self { said }
    }

    /// An option or a key of a stop's configuration that the operation does not have is refused.
    pub fn check(&self, op: &str) -> Result<()> {
        let options: &[&str] = match op {
            "load" => &["fallback", "pattern", "special_tokens"],
            "encode" | "encode_batch" | "count" | "segments" => &["add_special", "special"],
            "decode" | "decode_bytes" | "decode_batch" | "stream_open" | "stop_open" => {
                &["skip_special", "unknown", "byte_runs"]
            }
            _ => &[],
        };
        for (place, known) in [("options", options), ("config", &CONFIG)] {
            let mut said = self.value(place).as_object().into_iter().flat_map(|said| said.keys());
            if let Some(key) = said.find(|key| !known.contains(&key.as_str())) {
                return Err(bad(format!("no `{key}` in the {place} of {op}")));
            }
        }
        Ok(())
    }

    /// Null if it is absent.
    pub fn value(&self, key: &str) -> &Value {
        self.said.get(key).unwrap_or(&Value::Null)
    }

    pub fn has(&self, key: &str) -> bool {
        self.said.get(key).is_some()
    }

    pub fn option(&self, key: &str) -> Option<&Value> {
        self.value("options").get(key)
    }

    pub fn string(&self, key: &str) -> Result<&str> {
        self.value(key).as_str().ok_or_else(|| bad(format!("`{key}` is no string")))
    }

    pub fn list(&self, key: &str) -> Result<&[Value]> {
        let list = self.value(key).as_array().map(Vec::as_slice);
        list.ok_or_else(|| bad(format!("`{key}` is no list")))
    }

    pub fn id(&self, key: &str) -> Result<u32> {
        id_of(self.value(key))
    }

    pub fn ids(&self, key: &str) -> Result<Vec<u32>> {
        ids_of(self.value(key))
    }

    pub fn text(&self, key: &str) -> Result<String> {
        text_of(self.value(key))
    }

    pub fn wants_details(&self) -> bool {
        self.value("want").as_array().is_some_and(|want| !want.is_empty())
    }

    pub fn add_special(&self) -> Result<bool> {
        self.flag("add_special")
    }

    /// The policies that ask for nothing but a flag.
    pub fn wanted(&self) -> Result<Wanted> {
        let parse_special = match self.option("special").map(Value::as_str) {
            None | Some(Some("all")) => true,
            Some(Some("none")) => false,
            _ => return Err(bad("here `special` is all or none")),
        };
        Ok(Wanted { add_special: self.add_special()?, parse_special })
    }

    /// The policies that look at the text; the tokenizer knows the names.
    pub fn guard(&self, tokenizer: &Tokenizer) -> Result<Option<Guarded>> {
        let id_of = |name: &str| tokenizer.token_to_id(name);
        match self.option("special") {
            Some(Value::String(policy)) if policy == "raise" => Ok(Some(Guarded::Refuse)),
            Some(Value::Array(names)) => names
                .iter()
                .map(|name| name.as_str().and_then(id_of).ok_or_else(|| bad(format!("no {name}"))))
                .collect::<Result<_>>()
                .map(|ids| Some(Guarded::Allow(ids))),
            _ => Ok(None),
        }
    }

    /// `skips_unknown`: what the reference does, where the request does not say.
    pub fn decoding(&self, skips_unknown: bool) -> Result<Decoding> {
        let unknown = match self.option("unknown").map(Value::as_str) {
            None if skips_unknown => UnknownIds::Skip,
            None => UnknownIds::Refuse,
            Some(Some("skip")) => UnknownIds::Skip,
            Some(Some("error")) => UnknownIds::Refuse,
            Some(Some("replace")) => UnknownIds::Replace,
            Some(_) => return Err(bad("`unknown` is skip, error or replace")),
        };
        Ok(Decoding { skip_special: self.flag("skip_special")?, unknown })
    }

    pub fn streaming(&self, skips_unknown: bool) -> Result<StreamOptions> {
        let runs = match self.option("byte_runs").map(Value::as_str) {
            None | Some(Some("exact")) => ByteRuns::Exact,
            Some(Some("eager")) => ByteRuns::Eager,
            Some(_) => return Err(bad("`byte_runs` is exact or eager")),
        };
        Ok(StreamOptions { decoding: self.decoding(skips_unknown)?, runs })
    }

    /// Absent is true.
    fn flag(&self, key: &str) -> Result<bool> {
        let said = self.option(key).map_or(Some(true), Value::as_bool);
        said.ok_or_else(|| bad(format!("`{key}` is true or false")))
    }
}

pub fn text_of(input: &Value) -> Result<String> {
    if let Some(text) = input.get("text").and_then(Value::as_str) {
        return Ok(text.to_owned());
    }
    let data = input.get("b64").and_then(Value::as_str);
    let data = data.ok_or_else(|| bad("an input is a `text` or a `b64`"))?;
    String::from_utf8(base64::decode(data).map_err(|error| bad(error.message))?)
        .map_err(|error| Error::new(ErrorKind::InvalidText, error.to_string()))
}

pub fn ids_of(list: &Value) -> Result<Vec<u32>> {
    let list = list.as_array().ok_or_else(|| bad("no list of ids"))?;
    list.iter().map(id_of).collect()
}

fn id_of(value: &Value) -> Result<u32> {
    let id = value.as_u64().and_then(|id| id.try_into().ok());
    id.ok_or_else(|| bad(format!("{value} is no id")))
}

pub fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadArgument, message)
}
