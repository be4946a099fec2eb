//! Scripts, as the step `UnicodeScripts` tells them apart.

use super::script_tables::SCRIPT_RUNS;

/// A script without a name: only whether two are the same counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script(u8);

/// `None`: no script, so that the character goes with whatever is before it.
pub fn script_of(c: char) -> Option<Script> {
    let code = c as u32;
    let at = SCRIPT_RUNS.partition_point(|run| run.1 < code);
    let &(first, _, script) = SCRIPT_RUNS.get(at)?;
    (first <= code).then_some(Script(script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_told_apart() {
        assert_eq!(script_of('a'), script_of('É'));
        assert_ne!(script_of('a'), script_of('ж'));
        assert_ne!(script_of('a'), script_of('1'));
        assert_eq!((script_of(' '), script_of('\u{378}')), (None, None));
        // Japanese text is one script here.
        assert!("かカー漢".chars().all(|c| script_of(c) == script_of('字')));
    }

    #[test]
    fn runs_ascend() {
        assert!(SCRIPT_RUNS.iter().all(|run| run.0 <= run.1));
        assert!(SCRIPT_RUNS.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}
