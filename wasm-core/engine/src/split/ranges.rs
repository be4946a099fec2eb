//! The fast way through a pre-tokenizer: where steps only cut, ranges of the text will do.

use super::scan::Scanner;
use super::splitter::Splitter;
use super::steps::Step;
use crate::definition::PreTokenizer;
use crate::error::{Error, Result};

/// Steps that cut, followed by the step that spells bytes, which is left to the model: it works
/// on bytes anyway.
#[derive(Debug)]
pub struct RangePlan {
    splitters: Vec<Splitter>,
}

impl RangePlan {
    /// `None`: some step changes the text, or the last one is not `ByteLevel`.
    pub fn compile(definitions: &[PreTokenizer]) -> Option<Self> {
        let mut steps = Vec::new();
        for definition in definitions {
            Step::compile(definition, &mut steps).ok()?;
        }
        let Some(Step::ByteLevel { add_prefix_space: false, splitter: last }) = steps.pop() else {
            return None;
        };
        let cuts = steps.into_iter().map(|step| match step {
            Step::Split(splitter) => Some(splitter),
            Step::ByteLevel { .. } | Step::Metaspace { .. } => None,
        });
        let mut splitters = cuts.collect::<Option<Vec<_>>>()?;
        splitters.extend(last);
        fuse_deepseek(&mut splitters);
        Some(Self { splitters })
    }

    /// The whole plan is what this scanner does.
    pub fn single_scanner(&self) -> Option<Scanner> {
        match self.splitters.as_slice() {
            [splitter] => splitter.scanner(),
            _ => None,
        }
    }

    /// Appends the pieces of `text`, none of them empty, to `pieces`.
    pub fn split_into(&self, text: &str, pieces: &mut Vec<(u32, u32)>) -> Result<()> {
        u32::try_from(text.len())
            .map_err(|_| Error::limit("a text of 4 GiB or more cannot be split"))?;
        cut(&self.splitters, text, 0, pieces)
    }
}

/// Cuts what starts `base` bytes into the whole text.
fn cut(
    splitters: &[Splitter],
    text: &str,
    base: usize,
    pieces: &mut Vec<(u32, u32)>,
) -> Result<()> {
    let Some((splitter, others)) = splitters.split_first() else {
        if !text.is_empty() {
            pieces.push((base as u32, (base + text.len()) as u32));
        }
        return Ok(());
    };
    for range in splitter.split(text)? {
        let piece = text
            .get(range.clone())
            .ok_or_else(|| Error::internal("a step of the pre-tokenizer cut a character in two"))?;
        if !piece.is_empty() {
            cut(others, piece, base + range.start, pieces)?;
        }
    }
    Ok(())
}

/// DeepSeek's three steps become one.
fn fuse_deepseek(splitters: &mut Vec<Splitter>) {
    let steps = [Scanner::ThreeNumbers, Scanner::KanaHan, Scanner::DeepSeek];
    let found = splitters
        .windows(steps.len())
        .position(|window| window.iter().map(Splitter::scanner).eq(steps.map(Some)));
    if let Some(at) = found {
        let fused = Splitter::of_scanner(Scanner::DeepSeek3);
        splitters.splice(at..at + steps.len(), [fused]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Pattern, SplitBehavior};
    use crate::split::byte_level::CHAR_OF_BYTE;
    use crate::split::testing::Random;
    use crate::split::PreTokenizers;
    use crate::text::AlignedText;

    const BYTE_LEVEL: PreTokenizer =
        PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: false };
    const GPT2: PreTokenizer = PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: true };

    fn isolated(scanner: Scanner) -> PreTokenizer {
        PreTokenizer::Split {
            pattern: Pattern::Regex(scanner.pattern().unwrap().to_owned()),
            behavior: SplitBehavior::Isolated,
            invert: false,
        }
    }

    fn deepseek() -> Vec<PreTokenizer> {
        let steps = [Scanner::ThreeNumbers, Scanner::KanaHan, Scanner::DeepSeek];
        steps.into_iter().map(isolated).chain([BYTE_LEVEL]).collect()
    }

    #[test]
    fn single_scanners() {
        let single = |steps: &[PreTokenizer]| RangePlan::compile(steps).unwrap().single_scanner();
        assert_eq!(single(&[GPT2]), Some(Scanner::Gpt2));
        assert_eq!(single(&[isolated(Scanner::O200k), BYTE_LEVEL]), Some(Scanner::O200k));
        assert_eq!(single(&deepseek()), Some(Scanner::DeepSeek3));
        assert_eq!(single(&[isolated(Scanner::Cl100k), GPT2]), None);
        assert_eq!(single(&[BYTE_LEVEL]), None);
    }

    #[test]
    fn steps_that_change_the_text_have_no_plan() {
        let prefix = PreTokenizer::ByteLevel { add_prefix_space: true, use_regex: true };
        let digits = PreTokenizer::Digits { individual: true };
        for steps in [vec![], vec![digits.clone()], vec![prefix], vec![BYTE_LEVEL, digits, GPT2]] {
            assert!(RangePlan::compile(&steps).is_none(), "{steps:?}");
        }
    }

    /// The ranges are the pieces of the reference's way, before their bytes are spelled.
    #[test]
    fn ranges_are_the_pieces() {
        let clip = PreTokenizer::Split {
            pattern: Pattern::Regex(Scanner::Clip.pattern().unwrap().to_owned()),
            behavior: SplitBehavior::Removed,
            invert: true,
        };
        let punctuation = PreTokenizer::Punctuation { behavior: SplitBehavior::MergedWithPrevious };
        let plans = [
            deepseek(),
            vec![clip, GPT2],
            vec![PreTokenizer::Digits { individual: true }, GPT2],
            vec![punctuation, PreTokenizer::CharDelimiterSplit { delimiter: 'a' }, GPT2],
            vec![PreTokenizer::Bert, BYTE_LEVEL],
            vec![PreTokenizer::Whitespace, isolated(Scanner::Qwen2), BYTE_LEVEL],
        ];
        let mut random = Random::new(2);
        for steps in plans {
            let plan = RangePlan::compile(&steps).unwrap();
            let slow = PreTokenizers::new(&steps).unwrap();
            for _ in 0..500 {
                let text = random.text(16);
                let mut ranges = Vec::new();
                plan.split_into(&text, &mut ranges).unwrap();
                let spell = |(start, end): &(u32, u32)| -> String {
                    let bytes = &text.as_bytes()[*start as usize..*end as usize];
                    bytes.iter().map(|byte| CHAR_OF_BYTE[usize::from(*byte)]).collect()
                };
                let pieces = slow.apply(vec![AlignedText::new(&text, 0, true)]).unwrap();
                let expected: Vec<_> = pieces.iter().map(|piece| piece.as_str()).collect();
                let found: Vec<_> = ranges.iter().map(spell).collect();
                assert_eq!(found, expected, "{steps:?} on {text:?}");
            }
        }
    }
}
