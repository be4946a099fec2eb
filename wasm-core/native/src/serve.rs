//! JSON lines in, JSON lines out: one answer a line, in order. An error is an answer too.

use crate::{full_encoding, kind_name, read_file};
use pywasmtok_engine::error::{Error, ErrorKind};
use pywasmtok_engine::formats::Options;
use pywasmtok_engine::tokenizer::{Scratch, Tokenizer, Wanted};
use serde_json::{json, Map, Value};
use std::io::{self, BufRead, Write};

#[derive(Default)]
struct Server {
    tokenizer: Option<Tokenizer>,
    scratch: Scratch,
}

pub fn serve(input: impl BufRead, out: &mut impl Write) -> io::Result<()> {
    let mut server = Server::default();
    for line in input.split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        writeln!(out, "{}", server.answer(&line))?;
        out.flush()?;
    }
    Ok(())
}

impl Server {
    /// The request's `id`, if it has one, comes back with the answer.
    fn answer(&mut self, line: &[u8]) -> Value {
        let request: Value = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(error) => return failure(&bad(format!("not a line of JSON: {error}"))),
        };
        let mut answer = self.perform(&request).unwrap_or_else(|error| failure(&error));
        if let (Some(id), Some(fields)) = (request.get("id"), answer.as_object_mut()) {
            fields.insert("id".to_owned(), id.clone());
        }
        answer
    }

    fn perform(&mut self, request: &Value) -> Result<Value, Error> {
        match string(request, "op")? {
            "load" => {
                let path = string(request, "path")?;
                let bytes = read_file(path).map_err(|error| bad(error.to_string()))?;
                let options = request.get("options").map(Value::to_string).unwrap_or_default();
                let options = Options::from_json(options.as_bytes())?;
                let tokenizer = self.tokenizer.insert(Tokenizer::load_with(&bytes, &options)?);
                let info: Value = serde_json::from_str(&tokenizer.info_json())
                    .map_err(|error| Error::internal(format!("the info is no JSON: {error}")))?;
                Ok(json!({"ok": true, "info": info}))
            }
            "encode" => {
                let tokenizer = self.tokenizer.as_ref().ok_or_else(nothing_loaded)?;
                let text = string(request, "text")?;
                let pair = request.get("pair").map(|_| string(request, "pair")).transpose()?;
                let wanted = Wanted {
                    add_special: flag(request, "add_special")?,
                    parse_special: !flag(request, "special_is_text")?,
                };
                if flag(request, "details")? {
                    let scratch = &mut self.scratch;
                    let encoding = full_encoding(tokenizer, scratch, text, pair, wanted)?;
                    return Ok(json!({"ok": true, "encoding": encoding}));
                }
                let mut ids = Vec::new();
                let scratch = &mut self.scratch;
                match pair {
                    Some(pair) => {
                        tokenizer.encode_pair_ids(scratch, text, pair, wanted, &mut ids)?;
                    }
                    None => tokenizer.encode_ids(scratch, text, wanted, &mut ids)?,
                }
                Ok(json!({"ok": true, "ids": ids}))
            }
            "decode" => {
                let tokenizer = self.tokenizer.as_ref().ok_or_else(nothing_loaded)?;
                let ids: Option<Vec<u32>> =
                    request.get("ids").and_then(Value::as_array).and_then(|ids| {
                        ids.iter().map(|id| id.as_u64().and_then(|id| id.try_into().ok())).collect()
                    });
                let ids = ids.ok_or_else(|| bad("`ids` must be a list of 32-bit numbers"))?;
                let mut text = String::new();
                tokenizer.decode(&ids, flag(request, "skip_special")?, &mut text)?;
                Ok(json!({"ok": true, "text": text}))
            }
            other => Err(bad(format!("`op` must be load, encode or decode, not {other}"))),
        }
    }
}

fn string<'a>(request: &'a Value, key: &str) -> Result<&'a str, Error> {
    request.get(key).and_then(Value::as_str).ok_or_else(|| bad(format!("`{key}` must be a string")))
}

/// Absent is false.
fn flag(request: &Value, key: &str) -> Result<bool, Error> {
    request
        .get(key)
        .map_or(Some(false), Value::as_bool)
        .ok_or_else(|| bad(format!("`{key}` must be true or false")))
}

fn nothing_loaded() -> Error {
    bad("nothing is loaded: send {\"op\": \"load\", \"path\": ...} first")
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadArgument, message)
}

fn failure(error: &Error) -> Value {
    let mut fields = Map::new();
    fields.insert("kind".to_owned(), kind_name(error.kind).into());
    fields.insert("message".to_owned(), error.message.as_str().into());
    if let Some(path) = &error.path {
        fields.insert("path".to_owned(), path.as_str().into());
    }
    if let Some(offset) = error.offset {
        fields.insert("offset".to_owned(), offset.into());
    }
    if let Some(feature) = &error.feature {
        fields.insert("feature".to_owned(), feature.as_str().into());
    }
    json!({"ok": false, "error": fields})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(lines: &str) -> Vec<Value> {
        let mut out = Vec::new();
        serve(lines.as_bytes(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_line_gets_an_answer_and_its_id_back() {
        let answers = answers("{\"op\":\"encode\",\"text\":\"a\",\"id\":7}\n\nnonsense\n{}\n");
        assert_eq!(answers.len(), 3);
        assert_eq!(answers[0]["id"], 7);
        for answer in answers {
            assert_eq!(answer["ok"], false);
            assert_eq!(answer["error"]["kind"], "bad_argument");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let answers = answers("{\"op\":\"load\",\"path\":\"not/there.json\"}");
        let message = answers[0]["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("not/there.json: "), "{message}");
    }
}
