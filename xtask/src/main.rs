//! `cargo xtask`: builds, tests and measures everything, on a machine that has only Rust, Python,
//! Node and a C compiler.
//!
//! * [`parts`]: what `test` consists of, one file each.
//! * [`setup`]: what the parts need first: a virtual environment, node modules, a wasm toolchain.
//! * [`generate`]: the names that Python and TypeScript take from `chronq::contract`.
//! * [`readme`]: snippets of the documents, copied from the examples.
//! * [`postgres`]: a throw-away PostgreSQL for the tests.

mod bench;
mod command;
mod context;
mod generate;
mod miri;
mod parts;
mod postgres;
mod readme;
mod setup;
mod stamp;
mod summary;
mod workspace;

use std::fmt::Write;
use std::process::ExitCode;

use command::Failure;
use context::Context;
use parts::Part;

const USAGE: &str = "\
cargo xtask COMMAND

  test [PART…]   run everything, or the named parts
  generate       write the Python and TypeScript names from chronq::contract
  readme         copy the examples into the documents that show them
  wasm           build the edge package and print its sizes
  bench [NAME]   run a benchmark; without a name, list them
  miri           run the verifier's tests under Miri, where it is installed
  postgres       run a throw-away PostgreSQL until stdin closes, and print its URL
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    let outcome = match command {
        "test" => test(rest),
        "generate" => generate::write(),
        "readme" => readme::write(),
        "wasm" => setup::wasm::build(),
        "bench" => bench::run(rest),
        "miri" => miri::run(),
        "postgres" => postgres::serve(),
        "help" | "--help" | "-h" => {
            print!("{}", usage());
            Ok(())
        }
        unknown => Err(Failure::new(format!("unknown command {unknown:?}\n\n{}", usage()))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut text = USAGE.to_owned();
    text.push_str("\nParts of `test`, in the order they run:\n\n");
    for part in Part::ALL {
        let _ = writeln!(text, "  {:<12} {}", part.name(), part.purpose());
    }
    text
}

fn test(names: &[String]) -> Result<(), Failure> {
    let chosen = Part::choose(names)?;
    let context = Context::new();
    summary::run_all(&chosen, &context)
}
