//! `cargo xtask`: builds and tests everything.

fn main() {}
