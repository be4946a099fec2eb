//! Streams and stop decoders: between two requests each is a few bytes.

use super::request::Request;
use super::Loaded;
use pywasmtok_engine::error::Result;
use pywasmtok_engine::tokenizer::stop::{Cause, Matched, StopDecoder, StopPlan};
use pywasmtok_engine::tokenizer::stream::Stream;
use serde_json::{json, Value};
use std::rc::Rc;

pub struct Streaming {
    loaded: Rc<Loaded>,
    state: Vec<u8>,
}

impl Streaming {
    pub fn open(loaded: Rc<Loaded>, request: &Request) -> Result<Self> {
        let options = request.streaming(loaded.skips_unknown)?;
        let mut state = Vec::new();
        Stream::new(&loaded.tokenizer, options, &request.ids("prompt")?)?.save(&mut state);
        Ok(Self { loaded, state })
    }

    pub fn step(&mut self, ids: &[u32], finish: bool) -> Result<Value> {
        let mut stream = Stream::resume(&self.loaded.tokenizer, &self.state)?;
        let mut text = String::new();
        stream.admit(ids)?;
        for &id in ids {
            stream.push(id, &mut text)?;
        }
        if finish {
            stream.flush(&mut text)?;
        }
        self.state.clear();
        stream.save(&mut self.state);
        Ok(json!({ "text": text }))
    }
}

pub struct Stop {
    loaded: Rc<Loaded>,
    config: Value,
    plan: StopPlan,
    state: Vec<u8>,
}

impl Stop {
    pub fn open(loaded: Rc<Loaded>, request: &Request) -> Result<Self> {
        let options = request.streaming(loaded.skips_unknown)?;
        let config = request.value("config").clone();
        let plan = StopPlan::new(&loaded.tokenizer, config.to_string().as_bytes())?;
        let prompt = request.ids("prompt")?;
        let mut state = Vec::new();
        StopDecoder::new(&loaded.tokenizer, &plan, options, &prompt)?.save(&mut state);
        Ok(Self { loaded, config, plan, state })
    }

    pub fn step(&mut self, ids: &[u32], finish: bool) -> Result<Value> {
        let mut decoder = StopDecoder::resume(&self.loaded.tokenizer, &self.plan, &self.state)?;
        if let Some(matched) = decoder.matched() {
            // Whatever comes behind a stop is not looked at.
            return Ok(json!({"kind": "stopped", "text": "", "match": self.matched(matched)}));
        }
        let mut text = decoder.process(ids)?.text;
        if finish {
            text.push_str(&decoder.finish()?);
        }
        self.state.clear();
        decoder.save(&mut self.state);
        let kind = match (decoder.matched().is_some(), text.is_empty()) {
            (true, true) => "stopped",
            (true, false) => "stopped_with_text",
            (false, true) => "held",
            (false, false) => "text",
        };
        let mut answer = json!({"kind": kind, "text": text});
        if let Some(matched) = decoder.matched() {
            answer["match"] = self.matched(matched);
        }
        Ok(answer)
    }

    fn matched(&self, matched: Matched) -> Value {
        let mut said = json!({
            "visible": matched.visible,
            // A flush may stop before the first id.
            "token_index": matched.token_index.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX)),
            "start": matched.bytes.0,
            "end": matched.bytes.1,
        });
        match matched.cause {
            Cause::Token(id) => {
                said["kind"] = "token".into();
                said["id"] = id.into();
            }
            Cause::Sequence(place) => {
                let list = match matched.visible {
                    true => "visible_stop_sequences",
                    false => "stop_sequences",
                };
                said["kind"] = "string".into();
                said["string"] = self.config[list][place as usize].clone();
            }
        }
        said
    }
}
