//! `xtask-wasm INPUT.wasm OUTPUT_DIR`: writes the JavaScript glue and the module for the web target.
//!
//! A crate of its own because it takes a minute to compile, and a library rather than the command
//! line tool because that must have the very version of the crate: here Cargo sees to it.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else {
        eprintln!("usage: xtask-wasm INPUT.wasm OUTPUT_DIR");
        return ExitCode::FAILURE;
    };
    match bind(input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wasm-bindgen: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bind(input: &str, output: &str) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    let web = bindgen.input_path(input).web(true).map_err(|error| error.to_string())?;
    web.out_name("chronq")
        .typescript(true)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(output)
        .map_err(|error| error.to_string())
}
