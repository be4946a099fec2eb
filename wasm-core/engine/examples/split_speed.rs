//! How fast text is cut into pieces: `cargo run --release --example split_speed -- FILE...`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use pywasmtok_engine::error::Error;
use pywasmtok_engine::split::{PieceScan, Regex, ScanVisitor, Scanner};
use pywasmtok_engine::text::FindMatches as _;

const SCANNERS: [Scanner; 9] = [
    Scanner::Gpt2,
    Scanner::Cl100k,
    Scanner::Qwen2,
    Scanner::Qwen35,
    Scanner::O200k,
    Scanner::Tekken,
    Scanner::DeepSeek,
    Scanner::DeepSeek3,
    Scanner::Clip,
];
const PASSES: u32 = 7;

struct Count<'a>(&'a [u8]);

impl ScanVisitor for Count<'_> {
    type Output = usize;

    fn visit<S: PieceScan>(self, scan: &S) -> usize {
        let mut pieces = 0;
        let mut at = 0;
        while at < self.0.len() {
            at = scan.piece_end(self.0, at);
            pieces += 1;
        }
        pieces
    }
}

fn best(mut work: impl FnMut() -> Result<usize, Error>) -> Result<(usize, Duration), Error> {
    let mut best = (0, Duration::MAX);
    for _ in 0..PASSES {
        let start = Instant::now();
        let pieces = work()?;
        best = (pieces, best.1.min(start.elapsed()));
    }
    Ok(best)
}

fn report(text: &str) -> Result<(), Error> {
    let speed = |time: Duration| text.len() as f64 / 1e6 / time.as_secs_f64();
    for scanner in SCANNERS {
        let (pieces, time) = best(|| Ok(scanner.visit(Count(text.as_bytes()))))?;
        print!("{scanner:>12?}  {pieces:>9} pieces  {:>7.0} MB/s", speed(time));
        if let Some(pattern) = scanner.pattern() {
            let regex = Regex::compile_general(pattern)?;
            let (_, time) = best(|| regex.find_all(text).map(|matches| matches.len()))?;
            print!("  without a scanner {:>5.0} MB/s", speed(time));
        }
        println!();
    }
    Ok(())
}

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        };
        println!("{path}: {} bytes", text.len());
        if let Err(error) = report(&text) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
