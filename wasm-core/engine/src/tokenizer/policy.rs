//! What may become a special token, as a caller says it in JSON.

use super::Special;
use crate::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::ops::Range;

/// Either `special` or `trusted` says it; what is absent is not asked for.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    special: Option<Names>,
    /// Two texts are a pair, not a batch of two.
    pub pair: bool,
    /// The texts are segments of one, each of them trusted or not.
    pub trusted: Option<Vec<bool>>,
    /// For segments: ids of added tokens that count as special.
    also: Vec<u32>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Names {
    Raise,
    Allow(Vec<u32>),
}

impl Policy {
    pub fn from_json(json: &[u8]) -> Result<Self> {
        // Through a map: a structure would be read from a list, too.
        let policy: Self = serde_json::from_slice::<Map<String, Value>>(json)
            .and_then(|policy| serde_json::from_value(Value::Object(policy)))
            .map_err(|error| bad(format!("the policy: {error}")))?;
        let speaks_of_segments = policy.trusted.is_some();
        if policy.special.is_some() == speaks_of_segments {
            return Err(bad("a policy says either `special` or `trusted`"));
        }
        if speaks_of_segments && policy.pair {
            return Err(bad("segments are one text, not a pair"));
        }
        if !speaks_of_segments && !policy.also.is_empty() {
            return Err(bad("`also` belongs to segments"));
        }
        Ok(policy)
    }

    /// `untrusted`: what [`Self::untrusted`] made of the segments.
    pub fn special<'a>(&'a self, untrusted: &'a [Range<usize>]) -> Special<'a> {
        match &self.special {
            Some(Names::Raise) => Special::Refuse,
            Some(Names::Allow(ids)) => Special::Allow(ids),
            None => Special::Trust { untrusted, also: &self.also },
        }
    }

    /// The untrusted bytes of segments that lie one behind the other.
    pub fn untrusted(&self, lengths: &[u32]) -> Result<Vec<Range<usize>>> {
        let Some(trusted) = &self.trusted else { return Ok(Vec::new()) };
        if trusted.len() != lengths.len() {
            let (marks, count) = (trusted.len(), lengths.len());
            return Err(bad(format!("{marks} marks of trust for {count} segments")));
        }
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut end = 0usize;
        for (&trusted, &length) in trusted.iter().zip(lengths) {
            let start = end;
            end = end.saturating_add(length as usize);
            match ranges.last_mut() {
                _ if trusted || start == end => {}
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        Ok(ranges)
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Policy> {
        Policy::from_json(json.as_bytes())
    }

    #[test]
    fn each_form_is_read() {
        let raise = read(r#"{"special": "raise", "pair": true}"#).unwrap();
        assert!(raise.pair && matches!(raise.special(&[]), Special::Refuse));
        let some = read(r#"{"special": {"allow": [1, 7]}}"#).unwrap();
        assert!(matches!(some.special(&[]), Special::Allow([1, 7])));
        let segments = read(r#"{"trusted": [true, false], "also": [9]}"#).unwrap();
        let untrusted = segments.untrusted(&[3, 2]).unwrap();
        assert_eq!(untrusted, std::slice::from_ref(&(3..5)));
        let special = segments.special(&untrusted);
        assert!(matches!(special, Special::Trust { untrusted: [_], also: [9] }));
    }

    #[test]
    fn nonsense_is_refused() {
        for json in [
            "",
            "[]",
            "{}",
            r#"{"special": "all"}"#,
            r#"{"special": "raise", "trusted": []}"#,
            r#"{"special": "raise", "also": [1]}"#,
            r#"{"special": {"allow": [-1]}}"#,
            r#"{"trusted": [1]}"#,
            r#"{"trusted": [true], "pair": true}"#,
            r#"{"trusted": [true], "more": 1}"#,
        ] {
            assert_eq!(read(json).unwrap_err().kind, ErrorKind::BadArgument, "{json}");
        }
        assert!(read(r#"{"trusted": [true]}"#).unwrap().untrusted(&[1, 2]).is_err());
    }

    #[test]
    fn neighbours_are_one_range_and_empty_segments_none() {
        let marks = r#"{"trusted": [false, false, true, false, false, true, false]}"#;
        let policy = read(marks).unwrap();
        let joined = policy.untrusted(&[2, 3, 0, 1, 0, 4, 0]).unwrap();
        assert_eq!(joined, std::slice::from_ref(&(0..6)));
        assert_eq!(policy.untrusted(&[2, 3, 1, 0, 2, 4, 1]).unwrap(), [0..5, 6..8, 12..13]);
    }
}
