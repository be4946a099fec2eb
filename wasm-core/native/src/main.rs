//! The engine as a command-line program: the same code as in the WebAssembly builds, on the host.

mod adapter;
mod serve;

use pywasmtok_engine::error::{Error, ErrorKind};
use pywasmtok_engine::formats::detect::detect;
use pywasmtok_engine::tokenizer::{Scratch, Tokenizer, Wanted};
use serde_json::{json, Value};
use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;

const USAGE: &str = "\
usage: pywasmtok-native encode FILE [--text TEXT] [--add-special] [--json]
       pywasmtok-native decode FILE [--ids \"1 2 3\"] [--skip-special]
       pywasmtok-native info FILE
       pywasmtok-native detect FILE
       pywasmtok-native serve
       pywasmtok-native adapter

encode and decode read lines from standard input where --text or --ids is not given. serve reads
JSON lines: {\"op\": \"load\", \"path\": FILE}, {\"op\": \"encode\", \"text\": TEXT}, {\"op\": \"decode\", \"ids\": [..]}.
adapter speaks the protocol of the conformance suite.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(what)) => {
            eprintln!("{what}\n{USAGE}");
            ExitCode::from(2)
        }
        Err(Failure::Engine(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        // The reader of the output may stop reading.
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Io(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    Usage(String),
    Engine(Error),
    Io(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What follows the command: one file, flags, and flags with a value.
#[derive(Default)]
struct Options {
    file: Option<String>,
    text: Option<String>,
    ids: Option<String>,
    add_special: bool,
    skip_special: bool,
    json: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                let missing = || Failure::Usage(format!("{argument} needs a value"));
                rest.next().cloned().ok_or_else(missing)
            };
            match argument.as_str() {
                "--text" => options.text = Some(value()?),
                "--ids" => options.ids = Some(value()?),
                "--add-special" => options.add_special = true,
                "--skip-special" => options.skip_special = true,
                "--json" => options.json = true,
                flag if flag.starts_with("--") => {
                    return Err(Failure::Usage(format!("unknown option {flag}")))
                }
                file if options.file.is_none() => options.file = Some(file.to_owned()),
                more => return Err(Failure::Usage(format!("one file too many: {more}"))),
            }
        }
        Ok(options)
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let path = self.file.as_deref().ok_or_else(|| Failure::Usage("which file?".to_owned()))?;
        Ok(read_file(path)?)
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let (command, rest) =
        arguments.split_first().ok_or_else(|| Failure::Usage("no command".to_owned()))?;
    let options = Options::parse(rest)?;
    let mut out = BufWriter::new(io::stdout().lock());
    match command.as_str() {
        "encode" => encode(&options, &mut out)?,
        "decode" => decode(&options, &mut out)?,
        "info" => writeln!(out, "{}", Tokenizer::load(&options.bytes()?)?.info_json())?,
        "detect" => writeln!(out, "{}", detect(&options.bytes()?)?.to_json())?,
        "adapter" => adapter::serve(io::stdin().lock(), &mut out)?,
        "serve" => serve::serve(io::stdin().lock(), &mut out)?,
        other => return Err(Failure::Usage(format!("unknown command {other}"))),
    }
    Ok(out.flush()?)
}

fn encode(options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    let tokenizer = Tokenizer::load(&options.bytes()?)?;
    let mut scratch = Scratch::new();
    for_each_line(options.text.as_deref(), |text| {
        if options.json {
            let answer = full_encoding(
                &tokenizer,
                &mut scratch,
                text,
                None,
                Wanted::new(options.add_special),
            )?;
            return Ok(writeln!(out, "{answer}")?);
        }
        let mut ids = Vec::new();
        tokenizer.encode_ids(&mut scratch, text, Wanted::new(options.add_special), &mut ids)?;
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        Ok(writeln!(out, "{}", ids.join(" "))?)
    })
}

fn decode(options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    let tokenizer = Tokenizer::load(&options.bytes()?)?;
    for_each_line(options.ids.as_deref(), |line| {
        let ids: Vec<u32> = line
            .split_whitespace()
            .map(|id| id.parse().map_err(|_| Failure::Usage(format!("{id} is no id"))))
            .collect::<Result<_, _>>()?;
        let mut text = String::new();
        tokenizer.decode(&ids, options.skip_special, &mut text)?;
        Ok(writeln!(out, "{text}")?)
    })
}

/// The one given, or each of standard input.
fn for_each_line(
    given: Option<&str>,
    mut act: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Some(line) = given {
        return act(line);
    }
    for line in io::stdin().lock().lines() {
        act(&line?)?;
    }
    Ok(())
}

fn read_file(path: &str) -> io::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}

fn full_encoding(
    tokenizer: &Tokenizer,
    scratch: &mut Scratch,
    text: &str,
    pair: Option<&str>,
    wanted: Wanted,
) -> Result<Value, Error> {
    let encoding = tokenizer.encode_full(scratch, text, pair, wanted)?;
    Ok(json!({
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        "tokens": encoding.tokens,
        "offsets": encoding.offsets,
        "byte_offsets": encoding.byte_offsets,
        "special_tokens_mask": encoding.special_mask,
        "attention_mask": encoding.attention_mask,
    }))
}

/// The kind as the ABI's table and the other hosts spell it: `invalid_file`.
fn kind_name(kind: ErrorKind) -> String {
    let mut name = String::new();
    for letter in format!("{kind:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
