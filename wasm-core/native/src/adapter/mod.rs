//! The engine behind the protocol of the conformance suite (`conformance/SPEC.md`): JSON lines in,
//! one answer a line out.
//!
//! Like a host of the WebAssembly builds it keeps of a stream and of a stop decoder nothing but
//! their bytes, so that the two are judged by the same way through the engine.

mod request;
mod running;

use crate::read_file;
use pywasmtok_engine::error::{Error, ErrorKind, Result};
use pywasmtok_engine::formats::{base64, Options};
use pywasmtok_engine::tokenizer::{Scratch, Special, Tokenizer};
use request::{bad, Request};
use running::{Stop, Streaming};
use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::ops::Range;
use std::rc::Rc;

const OPS: [&str; 21] = [
    "load",
    "unload",
    "info",
    "encode",
    "encode_batch",
    "count",
    "segments",
    "decode",
    "decode_bytes",
    "decode_batch",
    "token_to_id",
    "id_to_token",
    "stream_open",
    "stream_push",
    "stream_flush",
    "stream_close",
    "stop_open",
    "stop_push",
    "stop_flush",
    "stop_close",
    "hello",
];
const FORMATS: [&str; 7] =
    ["tokenizer.json", "vocab+merges", "tiktoken", "tekken", "sentencepiece", "gguf", "rwkv"];
const FEATURES: [&str; 15] = [
    "offsets:char",
    "tokens",
    "type_ids",
    "attention_mask",
    "pair",
    "special:none",
    "special:raise",
    "special:set",
    "unknown:skip",
    "unknown:error",
    "unknown:replace",
    "byte_runs:eager",
    "stop:match",
    "any_id",
    "detect",
];
/// Formats whose library leaves out ids that it does not have; the others' refuse them.
const LENIENT: [&str; 2] = ["tokenizer.json", "vocab+merges"];

pub struct Loaded {
    tokenizer: Tokenizer,
    info: Value,
    skips_unknown: bool,
}

#[derive(Default)]
struct Adapter {
    scratch: Scratch,
    last: u64,
    tokenizers: HashMap<u64, Rc<Loaded>>,
    streams: HashMap<u64, Streaming>,
    stops: HashMap<u64, Stop>,
}

pub fn serve(input: impl BufRead, out: &mut impl Write) -> io::Result<()> {
    let mut adapter = Adapter::default();
    for line in input.split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        writeln!(out, "{}", adapter.answer(&line))?;
        out.flush()?;
    }
    Ok(())
}

impl Adapter {
    fn answer(&mut self, line: &[u8]) -> Value {
        let request = match serde_json::from_slice(line) {
            Ok(request) => Request::new(request),
            Err(error) => return Value::Object(failure(&bad(format!("no JSON: {error}")))),
        };
        let mut answer = match self.perform(&request) {
            Ok(Value::Object(mut answer)) => {
                answer.insert("ok".to_owned(), true.into());
                answer
            }
            Ok(_) => failure(&Error::internal("an answer that is no object")),
            Err(error) => failure(&error),
        };
        answer.insert("seq".to_owned(), request.value("seq").clone());
        Value::Object(answer)
    }

    fn perform(&mut self, request: &Request) -> Result<Value> {
        let op = request.string("op")?;
        request.check(op)?;
        match op {
            "hello" => Ok(hello()),
            "load" => self.load(request),
            "unload" => forget(&mut self.tokenizers, request, "handle"),
            "info" => info(self.tokenizer(request)?),
            "encode" => self.encode(request),
            "encode_batch" => self.encode_batch(request),
            "count" => self.count(request),
            "segments" => self.segments(request),
            "decode" => {
                let mut text = String::new();
                let loaded = self.tokenizer(request)?;
                let how = request.decoding(loaded.skips_unknown)?;
                loaded.tokenizer.decode_with(&request.ids("ids")?, how, &mut text)?;
                Ok(json!({ "text": text }))
            }
            "decode_bytes" => {
                let mut bytes = Vec::new();
                let loaded = self.tokenizer(request)?;
                let how = request.decoding(loaded.skips_unknown)?;
                loaded.tokenizer.decode_bytes(&request.ids("ids")?, how, &mut bytes)?;
                Ok(json!({ "b64": base64::encode(&bytes) }))
            }
            "decode_batch" => self.decode_batch(request),
            "token_to_id" => {
                let loaded = self.tokenizer(request)?;
                Ok(json!({ "id": loaded.tokenizer.token_to_id(request.string("token")?) }))
            }
            "id_to_token" => {
                let loaded = self.tokenizer(request)?;
                Ok(json!({ "token": loaded.tokenizer.id_to_token(request.id("id")?) }))
            }
            "stream_open" => {
                let stream = Streaming::open(self.tokenizer(request)?.clone(), request)?;
                Ok(self.keep("stream", stream, |adapter| &mut adapter.streams))
            }
            "stream_push" => {
                find(&mut self.streams, request, "stream")?.step(&request.ids("ids")?, false)
            }
            "stream_flush" => find(&mut self.streams, request, "stream")?.step(&[], true),
            "stream_close" => forget(&mut self.streams, request, "stream"),
            "stop_open" => {
                let stop = Stop::open(self.tokenizer(request)?.clone(), request)?;
                Ok(self.keep("stop", stop, |adapter| &mut adapter.stops))
            }
            "stop_push" => {
                find(&mut self.stops, request, "stop")?.step(&[request.id("id")?], false)
            }
            "stop_flush" => find(&mut self.stops, request, "stop")?.step(&[], true),
            "stop_close" => forget(&mut self.stops, request, "stop"),
            other => Err(bad(format!("no operation {other}"))),
        }
    }

    fn load(&mut self, request: &Request) -> Result<Value> {
        let path = request.string("path")?;
        let mut bytes = read(path)?;
        let mut said = Map::new();
        for key in ["pattern", "special_tokens"] {
            if let Some(value) = request.option(key) {
                said.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(folder) = path.strip_suffix("vocab.json") {
            let merges = read(&format!("{folder}merges.txt"))?;
            let parts = json!([["vocab.json", bytes.len()], ["merges.txt", merges.len()]]);
            said.insert("parts".to_owned(), parts);
            bytes.extend(merges);
        }
        let options = Options::from_json(Value::Object(said).to_string().as_bytes())?;
        let tokenizer = Tokenizer::load_with(&bytes, &options)?;
        let info: Value = serde_json::from_str(&tokenizer.info_json())
            .map_err(|error| Error::internal(format!("the info is no JSON: {error}")))?;
        let (format, size) = (info["format"].clone(), info["vocab_size_with_added"].clone());
        let skips_unknown = LENIENT.iter().any(|lenient| format == *lenient);
        let loaded = Rc::new(Loaded { tokenizer, info, skips_unknown });
        let mut answer = self.keep("handle", loaded, |adapter| &mut adapter.tokenizers);
        answer["served_by"] = "core".into();
        answer["format"] = format;
        answer["vocab_size"] = size;
        Ok(answer)
    }

    fn encode(&mut self, request: &Request) -> Result<Value> {
        let loaded = self.tokenizer(request)?.clone();
        let text = request.text("input")?;
        let pair = request.has("pair").then(|| request.text("pair")).transpose()?;
        let guard = request.guard(&loaded.tokenizer)?;
        let (scratch, second) = (&mut self.scratch, pair.as_deref());
        if request.wants_details() {
            let full = match &guard {
                Some(guard) => {
                    let asked = (request.add_special()?, guard.special());
                    loaded.tokenizer.encode_special_full(scratch, &text, second, asked)?
                }
                None => loaded.tokenizer.encode_full(scratch, &text, second, request.wanted()?)?,
            };
            return Ok(json!({
                "ids": full.ids,
                "tokens": full.tokens,
                "offsets": full.offsets,
                "type_ids": full.type_ids,
                "attention_mask": full.attention_mask,
            }));
        }
        if let Some(guard) = guard {
            let asked = (request.add_special()?, guard.special());
            return Ok(json!({ "ids": self.guarded(&loaded.tokenizer, &text, second, asked)? }));
        }
        let (mut ids, wanted) = (Vec::new(), request.wanted()?);
        match second {
            Some(second) => {
                loaded.tokenizer.encode_pair_ids(scratch, &text, second, wanted, &mut ids)?;
            }
            None => loaded.tokenizer.encode_ids(scratch, &text, wanted, &mut ids)?,
        }
        Ok(json!({ "ids": ids }))
    }

    fn guarded(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        pair: Option<&str>,
        asked: (bool, Special),
    ) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        tokenizer.encode_special_ids(&mut self.scratch, text, pair, asked, &mut ids)?;
        Ok(ids)
    }

    fn count(&mut self, request: &Request) -> Result<Value> {
        let loaded = self.tokenizer(request)?.clone();
        let text = request.text("input")?;
        if let Some(guard) = request.guard(&loaded.tokenizer)? {
            let asked = (request.add_special()?, guard.special());
            let ids = self.guarded(&loaded.tokenizer, &text, None, asked)?;
            return Ok(json!({ "count": ids.len() }));
        }
        let wanted = request.wanted()?;
        let scratch = &mut self.scratch;
        let count = loaded.tokenizer.count(scratch, &text, wanted, usize::MAX, false)?;
        Ok(json!({ "count": count }))
    }

    fn segments(&mut self, request: &Request) -> Result<Value> {
        let loaded = self.tokenizer(request)?.clone();
        let mut text = String::new();
        let mut untrusted: Vec<Range<usize>> = Vec::new();
        for segment in request.list("segments")? {
            let start = text.len();
            text.push_str(&request::text_of(segment)?);
            let trusted = segment.get("trusted").and_then(Value::as_bool).unwrap_or_default();
            match untrusted.last_mut() {
                _ if trusted || start == text.len() => {}
                Some(last) if last.end == start => last.end = text.len(),
                _ => untrusted.push(start..text.len()),
            }
        }
        let special = Special::Trust { untrusted: &untrusted, also: &[] };
        let asked = (request.add_special()?, special);
        Ok(json!({ "ids": self.guarded(&loaded.tokenizer, &text, None, asked)? }))
    }

    fn encode_batch(&mut self, request: &Request) -> Result<Value> {
        let loaded = self.tokenizer(request)?.clone();
        let inputs = request.list("inputs")?.iter();
        let owned: Vec<String> = inputs.map(request::text_of).collect::<Result<_>>()?;
        if let Some(guard) = request.guard(&loaded.tokenizer)? {
            let asked = (request.add_special()?, guard.special());
            let alone = |text: &String| self.guarded(&loaded.tokenizer, text, None, asked);
            return Ok(json!({ "ids": owned.iter().map(alone).collect::<Result<Vec<_>>>()? }));
        }
        let wanted = request.wanted()?;
        let texts: Vec<&str> = owned.iter().map(String::as_str).collect();
        let (mut ids, mut bounds) = (Vec::new(), Vec::new());
        let scratch = &mut self.scratch;
        loaded.tokenizer.encode_batch_ids(scratch, &texts, wanted, &mut ids, &mut bounds)?;
        let lists = bounds.windows(2).map(|ends| match *ends {
            [start, end] => ids.get(start as usize..end as usize).unwrap_or_default(),
            _ => &[],
        });
        Ok(json!({ "ids": lists.collect::<Vec<_>>() }))
    }

    fn decode_batch(&mut self, request: &Request) -> Result<Value> {
        let loaded = self.tokenizer(request)?;
        let how = request.decoding(loaded.skips_unknown)?;
        let mut texts = Vec::new();
        for list in request.list("lists")? {
            let mut text = String::new();
            loaded.tokenizer.decode_with(&request::ids_of(list)?, how, &mut text)?;
            texts.push(text);
        }
        Ok(json!({ "texts": texts }))
    }

    fn tokenizer(&mut self, request: &Request) -> Result<&Rc<Loaded>> {
        find(&mut self.tokenizers, request, "handle").map(|found| &*found)
    }

    fn keep<T>(
        &mut self,
        kind: &str,
        made: T,
        table: impl FnOnce(&mut Self) -> &mut HashMap<u64, T>,
    ) -> Value {
        self.last = self.last.saturating_add(1);
        let number = self.last;
        table(self).insert(number, made);
        json!({ kind: number })
    }
}

fn hello() -> Value {
    let implementation = json!({
        "name": "pywasmtok",
        "version": env!("CARGO_PKG_VERSION"),
        "language": "Rust",
        "host": "none",
        "variant": "native",
    });
    let ops: Vec<&str> = OPS.into_iter().filter(|&op| op != "hello").collect();
    json!({
        "protocol": 1,
        "implementation": implementation,
        "ops": ops,
        "formats": FORMATS,
        "features": FEATURES,
    })
}

fn info(loaded: &Loaded) -> Result<Value> {
    let roles = loaded.info["roles"].as_array().map(Vec::as_slice).unwrap_or_default();
    let special: Map<String, Value> = roles
        .iter()
        .filter_map(|role| match role.as_array().map(Vec::as_slice) {
            Some([Value::String(name), token, id]) => {
                Some((name.clone(), json!({"token": token, "id": id})))
            }
            _ => None,
        })
        .collect();
    Ok(json!({"vocab_size": loaded.info["vocab_size_with_added"], "special_tokens": special}))
}

fn find<'t, T>(table: &'t mut HashMap<u64, T>, request: &Request, kind: &str) -> Result<&'t mut T> {
    let number = request.value(kind);
    let found = number.as_u64().and_then(|number| table.get_mut(&number));
    found.ok_or_else(|| bad(format!("there is no {kind} {number}")))
}

fn forget<T>(table: &mut HashMap<u64, T>, request: &Request, kind: &str) -> Result<Value> {
    find(table, request, kind)?;
    request.value(kind).as_u64().and_then(|number| table.remove(&number));
    Ok(json!({}))
}

fn read(path: &str) -> Result<Vec<u8>> {
    read_file(path).map_err(|error| bad(error.to_string()))
}

fn failure(error: &Error) -> Map<String, Value> {
    let code = match error.kind {
        ErrorKind::BadArgument => "bad_request",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::LimitExceeded | ErrorKind::OutOfMemory => "limit_exceeded",
        ErrorKind::InvalidText | ErrorKind::SpecialTokenInText => "invalid_text",
        ErrorKind::InvalidToken => "invalid_token",
        ErrorKind::Internal => "internal",
        // All others speak of a file.
        _ => "invalid_model",
    };
    let mut fields = Map::new();
    fields.insert("code".to_owned(), code.into());
    fields.insert("message".to_owned(), error.message.as_str().into());
    if let Some(feature) = &error.feature {
        fields.insert("feature".to_owned(), feature.as_str().into());
    }
    let mut answer = Map::new();
    answer.insert("ok".to_owned(), false.into());
    answer.insert("error".to_owned(), Value::Object(fields));
    answer
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
    fn every_declared_operation_is_known() {
        for op in OPS {
            let answer = answers(&json!({"seq": 1, "op": op}).to_string()).remove(0);
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.starts_with("no operation"), "{op}");
        }
    }

    #[test]
    fn nonsense_is_a_bad_request_and_the_next_line_is_answered() {
        let answers =
            answers("nonsense\n{\"seq\":2}\n{\"seq\":3,\"op\":\"encode\",\"handle\":7}\n");
        assert_eq!(answers.len(), 3);
        for answer in &answers {
            assert_eq!(answer["error"]["code"], "bad_request", "{answer}");
        }
        assert_eq!(answers[2]["seq"], 3);
    }
}
