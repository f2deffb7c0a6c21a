//! The binary `chronq`: see `chronq --help`.

fn main() -> std::process::ExitCode {
    chronq_server::cli::main()
}
