//! The short way through post-processing: when all it does to the ids is to put fixed ones around
//! them, those are worked out once.

use crate::encoding::Encoding;

/// The result for a single text is `prefix`, its ids, `suffix`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub prefix: Vec<u32>,
    pub suffix: Vec<u32>,
}

/// The result for a pair is `prefix`, first ids, `middle`, second ids, `suffix`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairFrame {
    pub prefix: Vec<u32>,
    pub middle: Vec<u32>,
    pub suffix: Vec<u32>,
}

/// A stand-in for a text: one id, so that its place in the result shows where the text's ids go.
/// No post-processor looks at the ids or at their number.
pub fn probe() -> Encoding {
    Encoding::from_tokens(vec![0], vec![String::new()], vec![(0, 0)])
}

/// Reads the frame off the result for a probe. `None`: the text was dropped or repeated.
pub fn single(result: &Encoding) -> Option<Frame> {
    let at = only_place_of(result, 0)?;
    Some(Frame {
        prefix: result.ids.get(..at)?.to_vec(),
        suffix: result.ids.get(at + 1..)?.to_vec(),
    })
}

/// As [`single`], for two probes. `None` also when the second text comes first.
pub fn pair(result: &Encoding) -> Option<PairFrame> {
    let (first, second) = (only_place_of(result, 0)?, only_place_of(result, 1)?);
    Some(PairFrame {
        prefix: result.ids.get(..first)?.to_vec(),
        middle: result.ids.get(first + 1..second)?.to_vec(),
        suffix: result.ids.get(second + 1..)?.to_vec(),
    })
}

fn only_place_of(result: &Encoding, sequence: u8) -> Option<usize> {
    let mut places = result.sequence.iter().enumerate().filter(|(_, &s)| s == Some(sequence));
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}
