//! What the parts need before they can run. Each set-up is skipped when its inputs are unchanged.

pub(crate) mod browser;
pub(crate) mod debian;
pub(crate) mod node;
pub(crate) mod python;
pub(crate) mod tools;
pub(crate) mod wasm;
