//! From the ids of a text, or of a pair of texts, to what a model is fed: truncation, then the
//! post-processors in turn, then padding.

mod bert;
mod frame;
mod offsets;
mod padding;
mod template;
mod truncation;

#[cfg(test)]
mod tests;

use crate::definition::{Definition, Padding, PostProcessor, Truncation};
use crate::encoding::Encoding;
use crate::error::{Error, Result};

pub use frame::{Frame, PairFrame};

/// No result is longer: a template that names a text a thousand times must not exhaust the memory.
const MAX_TOKENS: usize = 1 << 26;

/// A file's post-processing.
#[derive(Debug)]
pub struct Post {
    steps: Vec<PostProcessor>,
    truncation: Option<Truncation>,
    padding: Option<Padding>,
    frames: Option<Frames>,
}

/// Each twice: without and with special tokens.
#[derive(Debug)]
struct Frames {
    single: [Option<Frame>; 2],
    pair: [Option<PairFrame>; 2],
}

impl Post {
    pub fn new(definition: &Definition) -> Result<Self> {
        let steps = definition.post_processor.clone().unwrap_or_default();
        for step in &steps {
            if let PostProcessor::Template { single, pair, special_tokens } = step {
                template::check(single, special_tokens)?;
                template::check(pair, special_tokens)?;
            }
        }
        let mut post = Self {
            steps,
            truncation: definition.truncation.clone(),
            padding: definition.padding.clone(),
            frames: None,
        };
        if post.truncation.is_none() && post.padding.is_none() {
            post.frames = Some(post.find_frames());
        }
        Ok(post)
    }

    /// The whole way for one text or a pair.
    pub fn process(
        &self,
        mut first: Encoding,
        mut second: Option<Encoding>,
        add_special_tokens: bool,
    ) -> Result<Encoding> {
        if let Some(truncation) = &self.truncation {
            let added = match add_special_tokens {
                true => self.added_tokens(second.is_some()),
                false => 0,
            };
            truncation::apply(truncation, added, &mut first, second.as_mut())?;
        }
        let mut result = self.merged(first, second, add_special_tokens)?;
        if let Some(padding) = &self.padding {
            padding::apply(padding, std::slice::from_mut(&mut result))?;
        }
        Ok(result)
    }

    /// Pads the results for the texts of a batch, each processed already, to one length.
    pub fn pad_batch(&self, batch: &mut [Encoding]) -> Result<()> {
        match &self.padding {
            Some(padding) => padding::apply(padding, batch),
            None => Ok(()),
        }
    }

    /// The ids that stand around those of a single text. `None`: this file needs [`Self::process`].
    pub fn frame(&self, add_special_tokens: bool) -> Option<&Frame> {
        self.frames.as_ref()?.single.get(usize::from(add_special_tokens))?.as_ref()
    }

    /// The ids that stand around those of a pair. `None`: this file needs [`Self::process`].
    pub fn pair_frame(&self, add_special_tokens: bool) -> Option<&PairFrame> {
        self.frames.as_ref()?.pair.get(usize::from(add_special_tokens))?.as_ref()
    }

    /// How many ids the post-processors add to a text or a pair.
    pub fn added_tokens(&self, pair: bool) -> usize {
        self.steps.iter().fold(0, |sum: usize, step| sum.saturating_add(added_by(step, pair)))
    }

    fn merged(
        &self,
        first: Encoding,
        second: Option<Encoding>,
        add_special_tokens: bool,
    ) -> Result<Encoding> {
        let mut parts = vec![first];
        parts.extend(second);
        for (part, number) in parts.iter_mut().zip(0u8..) {
            part.set_sequence(number);
            part.set_type_id(u32::from(number));
        }
        for step in &self.steps {
            parts = apply(step, parts, add_special_tokens)?;
        }
        let mut parts = parts.into_iter();
        let mut result = parts.next().unwrap_or_default();
        for part in parts {
            result.merge_with(part, false);
        }
        Ok(result)
    }

    fn find_frames(&self) -> Frames {
        let single = |special| {
            let result = self.merged(frame::probe(), None, special).ok()?;
            frame::single(&result)
        };
        let pair = |special| {
            let result = self.merged(frame::probe(), Some(frame::probe()), special).ok()?;
            frame::pair(&result)
        };
        Frames { single: [false, true].map(single), pair: [false, true].map(pair) }
    }
}

/// One post-processor. A template hands each of its pieces on as a part of its own, so that a
/// later step meets more, or fewer, parts than there are texts.
fn apply(
    step: &PostProcessor,
    mut parts: Vec<Encoding>,
    add_special_tokens: bool,
) -> Result<Vec<Encoding>> {
    match step {
        PostProcessor::ByteLevel { add_prefix_space, trim_offsets } => {
            if *trim_offsets {
                parts.iter_mut().for_each(|part| offsets::trim(part, *add_prefix_space));
            }
            Ok(parts)
        }
        PostProcessor::Roberta { sep, cls, trim_offsets, add_prefix_space } => {
            if *trim_offsets {
                parts.iter_mut().for_each(|part| offsets::trim(part, *add_prefix_space));
            }
            parts.iter_mut().for_each(|part| part.set_type_id(0));
            Ok(if add_special_tokens { bert::roberta(parts, cls, sep) } else { parts })
        }
        PostProcessor::Bert { sep, cls } => {
            Ok(if add_special_tokens { bert::bert(parts, cls, sep) } else { parts })
        }
        PostProcessor::Template { single, pair, special_tokens } => {
            let template = match parts.len() {
                1 => single,
                2 => pair,
                count => {
                    return Err(Error::invalid(format!(
                        "a template got {count} parts from the template before it; it can take \
                         one or two"
                    ))
                    .at_path("$.post_processor"))
                }
            };
            template::apply(template, special_tokens, &parts, add_special_tokens)
        }
    }
}

fn added_by(step: &PostProcessor, pair: bool) -> usize {
    match step {
        PostProcessor::ByteLevel { .. } => 0,
        PostProcessor::Roberta { .. } => 2 + 2 * usize::from(pair),
        PostProcessor::Bert { .. } => 2 + usize::from(pair),
        PostProcessor::Template { single, pair: pair_template, special_tokens } => {
            template::added_tokens(if pair { pair_template } else { single }, special_tokens)
        }
    }
}
