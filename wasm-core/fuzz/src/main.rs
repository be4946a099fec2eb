//! Mutates tokenizer files and watches the readers: none may panic, none may take long, and what
//! loads must encode and decode, the fast way and the traced way alike.
//!
//! A run depends on the seed and its number alone, so `--only N` repeats it.

mod dialect;
mod json;
mod mutate;
mod random;
mod watch;

use dialect::Dialect;
use random::Random;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use watch::Outcome;

const USAGE: &str = "\
usage: pywasmtok-fuzz READER FILE... [--runs N] [--seed S] [--only N] [--limit-ms N] [--save DIR]
                            [--use-every N]

READER is one of: json, binary, lines, tekken, rwkv, tiktoken, vocab+merges, gguf, sentencepiece.
json, binary and lines only say how files are mutated. For vocab+merges, FILE... are pairs.
";

struct Arguments {
    dialect: Dialect,
    files: Vec<PathBuf>,
    runs: u64,
    seed: u64,
    only: Option<u64>,
    limit: Duration,
    save: Option<PathBuf>,
    /// Of so many files that load, one is used, too.
    use_every: usize,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let dialect = Dialect::named(&words.next()?)?;
        let mut arguments = Self {
            dialect,
            files: Vec::new(),
            runs: 10_000,
            seed: 1,
            only: None,
            limit: Duration::from_millis(1000),
            save: None,
            use_every: 16,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--runs" => arguments.runs = words.next()?.parse().ok()?,
                "--seed" => arguments.seed = words.next()?.parse().ok()?,
                "--only" => arguments.only = Some(words.next()?.parse().ok()?),
                "--limit-ms" => {
                    arguments.limit = Duration::from_millis(words.next()?.parse().ok()?);
                }
                "--use-every" => arguments.use_every = words.next()?.parse::<usize>().ok()?.max(1),
                "--save" => arguments.save = Some(words.next()?.into()),
                option if option.starts_with("--") => return None,
                file => arguments.files.push(file.into()),
            }
        }
        (!arguments.files.is_empty()).then_some(arguments)
    }
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args().skip(1)) else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut seeds = Vec::new();
    for path in &arguments.files {
        match std::fs::read(path) {
            Ok(bytes) => seeds.push(bytes),
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        }
    }
    watch::quiet_panics();
    match fuzz(&arguments, &seeds) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Answers how many runs went wrong.
fn fuzz(arguments: &Arguments, seeds: &[Vec<u8>]) -> u64 {
    let (mut loaded, mut wrong) = (0u64, 0u64);
    let mut slowest = (Duration::ZERO, 0);
    let begin = Instant::now();
    let runs = match arguments.only {
        Some(run) => run..run + 1,
        None => 0..arguments.runs,
    };
    let count = runs.end - runs.start;
    for run in runs {
        let mut random = Random::new(arguments.seed << 40 ^ run);
        let (file, options) = arguments.dialect.mutant(&mut random, seeds);
        watch::remember(run, &file);
        let start = Instant::now();
        let outcome = watch::run(&file, &options, &mut random, arguments.use_every);
        let took = start.elapsed();
        if took > slowest.0 {
            slowest = (took, run);
        }
        let complaint = match outcome {
            Outcome::Refused if took <= arguments.limit => continue,
            Outcome::Loaded if took <= arguments.limit => {
                loaded += 1;
                continue;
            }
            Outcome::Refused | Outcome::Loaded => format!("took {} ms", took.as_millis()),
            Outcome::Wrong(what) => what,
        };
        wrong += 1;
        eprintln!("run {run} (--seed {} --only {run}): {complaint}", arguments.seed);
        if let Some(folder) = &arguments.save {
            let path = folder.join(format!("{}-{run}", arguments.seed));
            if let Err(error) = std::fs::write(&path, &file) {
                eprintln!("{}: {error}", path.display());
            }
        }
    }
    println!(
        "{count} runs in {:.1} s: {loaded} loaded, {wrong} wrong; the slowest took {} ms (run {})",
        begin.elapsed().as_secs_f64(),
        slowest.0.as_millis(),
        slowest.1
    );
    wrong
}
