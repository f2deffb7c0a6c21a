//! The same suite in a build that can be told to be wrong: see `chronq::sabotage`.

fn main() -> std::process::ExitCode {
    chronq_conformance::main()
}
