//! The suite, beside the sound product.

fn main() -> std::process::ExitCode {
    chronq_conformance::main()
}
