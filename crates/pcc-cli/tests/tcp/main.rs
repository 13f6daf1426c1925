//! PCC in this machine's kernel: needs root, BPF and TUN. One test runs at a time, because the controllers' names are those
//! of the whole machine.

mod administrator;
mod changes;
mod command;
#[allow(dead_code, reason = "shared with the tests of transfers")]
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod connection;
mod default;
mod exec;
mod many;
mod namespaces;
mod path;
mod registered;
mod support;
mod top;
mod truth;
