//! The HTTP queue over raw HTTP: each test's name is a sentence of the contract
//! (contract/http-queue.md).

mod batch;
mod callbacks;
mod deduplication;
mod delivery;
mod groups;
mod guard;
mod messages;
mod process;
mod publish;
mod queues;
mod robustness;
mod support;
