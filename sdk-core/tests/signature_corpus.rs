//! The kept corpus of the fuzzers, run again without one.

mod signing;

#[path = "signing/fuzzed.rs"]
mod fuzzed;

#[test]
fn every_kept_input_still_ends_in_an_answer() {
    for (name, run) in fuzzed::TARGETS {
        let folder = format!("{}/../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut inputs = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            run(&std::fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "no corpus for {name}");
    }
}
