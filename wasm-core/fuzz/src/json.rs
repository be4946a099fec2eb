//! Mutations of JSON that leave it JSON: what is behind the parser gets something to do.

use crate::mutate::number;
use crate::random::Random;
use serde_json::{json, Map, Value};

const STRINGS: [&str; 22] = [
    "",
    " ",
    "a",
    "▁",
    "Ġ",
    "\u{301}",
    "<s>",
    "##",
    "</w>",
    "BPE",
    "WordPiece",
    "Unigram",
    "Sequence",
    "ByteLevel",
    "Metaspace",
    "Isolated",
    "Removed",
    "first",
    r"\s+",
    "(a+)+$",
    "[",
    "AAAA",
];

/// Changes one value somewhere.
pub fn mutate(random: &mut Random, value: &mut Value) {
    let (to_donor, to_target) = (random.below(10), random.below(10));
    let to_donor = way(random, value, to_donor);
    let to_target = way(random, value, to_target);
    let donor = follow(value, &to_donor).map(|donor| donor.clone()).unwrap_or_default();
    let Some(target) = follow(value, &to_target) else { return };
    match random.below(8) {
        0 => *target = donor,
        1 => *target = leaf(random),
        2 => *target = json!([target.clone(), target.clone()]),
        3 => *target = Value::Null,
        _ => inside(random, target, donor),
    }
}

fn leaf(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!(random.below(2) == 0),
        1 => json!(-1),
        2 => json!(0.5),
        3 => json!(number(random)),
        4 => json!({}),
        _ => json!(*random.pick(&STRINGS)),
    }
}

/// Changes what a value holds, and keeps its kind.
fn inside(random: &mut Random, value: &mut Value, donor: Value) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let (one, other) = (random.below(items.len()), random.below(items.len()));
            match random.below(4) {
                0 => {
                    items.remove(one);
                }
                1 => {
                    let copy = items.get(other).cloned().unwrap_or_default();
                    items.insert(one, copy);
                }
                2 => items.swap(one, other),
                _ => items.insert(one, donor),
            }
        }
        Value::Object(fields) if !fields.is_empty() => field(random, fields, donor),
        Value::String(text) => match random.below(3) {
            0 => {
                let more: &str = random.pick::<&str>(&STRINGS);
                text.push_str(more);
            }
            1 => {
                let keep = random.below(text.chars().count() + 1);
                *text = text.chars().take(keep).collect();
            }
            _ => *text = (*random.pick(&STRINGS)).to_owned(),
        },
        Value::Number(_) => *value = json!(number(random)),
        Value::Bool(flag) => *flag = !*flag,
        other => *other = leaf(random),
    }
}

fn field(random: &mut Random, fields: &mut Map<String, Value>, donor: Value) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    let (one, other) = (random.pick(&keys).clone(), random.pick(&keys).clone());
    match random.below(4) {
        0 => {
            fields.remove(&one);
        }
        1 => {
            fields.insert(one, donor);
        }
        2 => {
            let value = fields.get(&other).cloned().unwrap_or_default();
            fields.insert(one, value);
        }
        _ => {
            let value = fields.remove(&one).unwrap_or_default();
            fields.insert((*random.pick(&STRINGS)).to_owned(), value);
        }
    }
}

/// The way to some value inside, by the numbers of the children.
fn way(random: &mut Random, value: &Value, depth: usize) -> Vec<usize> {
    let (mut way, mut value) = (Vec::new(), value);
    while way.len() < depth {
        let children: Vec<&Value> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        };
        if children.is_empty() {
            break;
        }
        let at = random.below(children.len());
        let Some(child) = children.get(at) else { break };
        way.push(at);
        value = child;
    }
    way
}

fn follow<'v>(value: &'v mut Value, way: &[usize]) -> Option<&'v mut Value> {
    let Some((&at, rest)) = way.split_first() else { return Some(value) };
    let child = match value {
        Value::Array(items) => items.get_mut(at),
        Value::Object(fields) => fields.values_mut().nth(at),
        _ => None,
    };
    follow(child?, rest)
}
