//! How fast a tokenizer encodes texts that it has not seen, without WebAssembly around it:
//! `cargo run --release --example encode_speed -- TOKENIZER FILE...`, one text a file.

use std::process::ExitCode;
use std::time::Instant;

use pywasmtok_engine::error::Error;
use pywasmtok_engine::tokenizer::{Scratch, Tokenizer, Wanted};

fn measure(bytes: &[u8], texts: &[String]) -> Result<(), Error> {
    let tokenizer = Tokenizer::load(bytes)?;
    let mut scratch = Scratch::default();
    let wanted = Wanted::new(false);
    let mut ids = Vec::new();
    for state in ["fresh", "warm"] {
        let mut rates: Vec<f64> = Vec::new();
        for text in texts {
            ids.clear();
            let start = Instant::now();
            tokenizer.encode_ids(&mut scratch, text, wanted, &mut ids)?;
            rates.push(text.len() as f64 / 1e6 / start.elapsed().as_secs_f64());
        }
        rates.sort_by(f64::total_cmp);
        let median = rates.get(rates.len() / 2).copied().unwrap_or_default();
        println!("{state}: {median:.1} MB/s, {} ids in the last text", ids.len());
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(tokenizer) = arguments.next().and_then(|path| std::fs::read(path).ok()) else {
        eprintln!("which tokenizer, and which texts?");
        return ExitCode::from(2);
    };
    let texts: Vec<String> =
        arguments.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    match measure(&tokenizer, &texts) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
