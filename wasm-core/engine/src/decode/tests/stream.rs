//! The machines, one token at a time and through saved states, against the oracle.

use super::{any_decoder, compile, Random, TOKENS};
use crate::decode::*;
use crate::oracle;
use crate::saved::Reader;

/// The text of the tokens, with the machines saved and loaded at random places.
fn streamed(decoders: &Decoders, tokens: &[&str], random: &mut Random) -> String {
    let mut text = String::new();
    let mut machines = decoders.machines(ByteRuns::Exact);
    for token in tokens {
        if random.below(3) == 0 {
            let mut state = Vec::new();
            machines.save(&mut state);
            machines = decoders.machines(ByteRuns::Exact);
            let mut from = Reader::new(&state);
            machines.load(&mut from).unwrap();
            from.end().unwrap();
        }
        machines.push(token, &mut |part| append(&mut text, part)).unwrap();
    }
    machines.flush(&mut |part| append(&mut text, part)).unwrap();
    let mut again = String::new();
    machines.flush(&mut |part| append(&mut again, part)).unwrap();
    assert_eq!(again, "", "a second flush has nothing to give");
    text
}

#[test]
fn random_chains_stream_what_the_oracle_decodes() {
    let mut random = Random(0xF10D);
    for _ in 0..6000 {
        let length = random.below(5);
        let chain = Some((0..length).map(|_| any_decoder(&mut random)).collect::<Vec<_>>());
        let chain = chain.filter(|_| random.below(20) > 0);
        let decoders = Decoders::new(&chain, &compile).unwrap();
        for _ in 0..8 {
            let length = random.below(12);
            let tokens: Vec<&str> = (0..length).map(|_| random.pick(&TOKENS)).collect();
            assert_eq!(
                streamed(&decoders, &tokens, &mut random),
                oracle::decode::decode(&chain, &tokens, &compile).unwrap(),
                "{chain:?} {tokens:?}"
            );
        }
    }
}

#[test]
fn damaged_states_are_errors_and_never_panics() {
    let mut random = Random(0xDA3A6ED);
    for _ in 0..3000 {
        let length = 1 + random.below(4);
        let chain = Some((0..length).map(|_| any_decoder(&mut random)).collect::<Vec<_>>());
        let decoders = Decoders::new(&chain, &compile).unwrap();
        let mut machines = decoders.machines(ByteRuns::Exact);
        for _ in 0..random.below(6) {
            machines.push(random.pick(&TOKENS), &mut |_| Ok(())).unwrap();
        }
        let mut state = Vec::new();
        machines.save(&mut state);
        for _ in 0..8 {
            let mut bad = state.clone();
            match random.below(3) {
                0 => bad.truncate(random.below(bad.len() + 1)),
                1 => bad.push(random.below(256) as u8),
                _ if bad.is_empty() => {}
                _ => {
                    let at = random.below(bad.len());
                    bad[at] = random.below(256) as u8;
                }
            }
            let mut machines = decoders.machines(ByteRuns::Exact);
            if machines.load(&mut Reader::new(&bad)).is_ok() {
                for _ in 0..4 {
                    let _ = machines.push(random.pick(&TOKENS), &mut |_| Ok(()));
                }
                let _ = machines.flush(&mut |_| Ok(()));
            }
        }
    }
}
