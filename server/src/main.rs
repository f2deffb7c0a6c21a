//! The `chronq` command.

fn main() {}
