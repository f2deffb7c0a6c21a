//! `chronq-conformance`: one set of answers for every SDK and any server.
//!
//! * `case` and `cases`: questions to SDK faces, asked through an `adapter` each.
//! * `scenario`: steps against a server, with a `scripted` receiver.
//! * `report`: the table requirement × column.
//! * `sabotage`, in a build that has the feature: proves that the suite notices.
//!
//! The words, the formats and the protocol are in README.md beside this crate.

mod adapter;
mod case;
mod cases;
mod command;
mod exemption;
mod face;
mod fault;
mod http_client;
mod matching;
mod outcome;
mod progress;
mod report;
mod runtime;
mod rust_adapter;
#[cfg(feature = "sabotage")]
mod sabotage;
mod scenario;
mod scripted;
mod server;
mod target;
mod template;

pub use command::main;
