//! What the exported functions do: on the one input and the one answer of a memory.

use super::answer::Answer;
use super::constants::*;
use super::header::Header;
use super::input::Input;
use super::json::write;
use super::slots::Slots;
use crate::context::{dict, dict_of_unique, list, parse_json};
use crate::error::{Error, Result};
use crate::prepare::{cut, parse_packed, prepare, Habits, Prepared, Profile};
use crate::render::{Options, Rendered, Template};
use crate::trace::{Step, Stretch};
use crate::value::Value;

/// What a function answers in place of a packed text.
const FAILED: i64 = -1;

#[derive(Default)]
pub struct Service {
    input: Input,
    templates: Slots<Template>,
    pub answer: Answer,
}

impl Service {
    pub fn input(&mut self, len: usize) -> u32 {
        self.answer.clear();
        match self.input.reserve(len) {
            Ok(()) => self.input.address(),
            Err(error) => {
                self.answer.fail(error);
                0
            }
        }
    }

    pub fn compile(&mut self, len: usize) -> u32 {
        self.answer.clear();
        match compiled(&self.input, len).and_then(|template| {
            self.answer.notes = write(&warnings(template.warnings()));
            self.templates.keep(template)
        }) {
            Ok(handle) => {
                self.answer.template(handle);
                self.answer.settle();
                handle
            }
            Err(error) => {
                self.answer.fail(error);
                0
            }
        }
    }

    pub fn drop(&mut self, template: u32) {
        self.templates.drop(template);
    }

    pub fn render(&mut self, template: u32, len: usize) -> i64 {
        self.answer.clear();
        let template = self.templates.get(template);
        match template.and_then(|it| rendered(&self.input, it, len, &mut self.answer)) {
            Ok(()) => {
                self.answer.settle();
                self.answer.packed()
            }
            Err(error) => {
                self.answer.fail(error);
                FAILED
            }
        }
    }

    #[cfg(test)]
    pub fn put(&mut self, input: &[u8]) {
        self.input.put(input);
    }
}

fn compiled(input: &Input, len: usize) -> Result<Template> {
    let header = Header::read(input.bytes(len)?)?;
    let strict = header.has(FLAG_STRICT);
    Template::compile(header.text()?, strict, &header.limits())
}

fn rendered(input: &Input, template: &Template, len: usize, answer: &mut Answer) -> Result<()> {
    let header = Header::read(input.bytes(len)?)?;
    let prepared = request(&header, template.source())?;
    let origins = header.has(FLAG_ORIGINS);
    let options = Options {
        limits: header.limits(),
        clock: header.clock(),
        profile: profile(&header),
        generation: header.has(FLAG_GENERATION),
        origins,
        trusted: if origins { prepared.own() } else { Vec::new() },
        // Most of a text is what messages say.
        room: header.content.len(),
    };
    let mut rendered = template.render(dict_of_unique(prepared.variables), &options)?;
    if let Some(last) = prepared.last {
        cut(&mut rendered.text, &last)?;
        clip(&mut rendered);
    }
    answer.text = rendered.text;
    for (start, end) in rendered.generation {
        answer.spans.extend([start, end]);
    }
    if options.origins {
        answer.origins = write(&list(rendered.origins.iter().map(row).collect()));
    }
    Ok(())
}

/// Takes away what no longer lies in the text.
fn clip(rendered: &mut Rendered) {
    if rendered.origins.is_empty() {
        return;
    }
    let length = u32::try_from(rendered.text.chars().count()).unwrap_or(u32::MAX);
    rendered.origins.retain_mut(|stretch| {
        stretch.end = stretch.end.min(length);
        stretch.start < stretch.end
    });
}

/// `[start, end, path]`
fn row(stretch: &Stretch) -> Value {
    let step = |step: &Step| match step {
        Step::Key(key) => Value::from(key.as_str()),
        Step::Index(index) => Value::from(*index),
    };
    let path = stretch.path.iter().map(step).collect();
    list(vec![Value::from(stretch.start), Value::from(stretch.end), list(path)])
}

fn request(header: &Header<'_>, source: &str) -> Result<Prepared> {
    let depth = header.limits().depth;
    let request = if header.has(FLAG_PACKED) {
        parse_packed(header.content, depth)
    } else {
        parse_json(header.content, depth)
    }?;
    let habits = Habits {
        profile: profile(header),
        continues: header.has(FLAG_CONTINUES).then_some(header.field),
        generation: header.has(FLAG_GENERATION),
    };
    prepare(&request, source, &habits)
}

fn profile(header: &Header<'_>) -> Profile {
    if header.has(FLAG_HF_4_57) {
        Profile::Hf457
    } else {
        Profile::Hf5
    }
}

fn warnings(errors: &[Error]) -> Value {
    let each = |error: &Error| {
        dict(vec![
            (Value::from("message"), Value::from(error.message.as_str())),
            (Value::from("line"), Value::from(error.line)),
            (Value::from("column"), Value::from(error.column)),
            (Value::from("feature"), Value::from(error.feature.clone())),
        ])
    };
    list(errors.iter().map(each).collect())
}
