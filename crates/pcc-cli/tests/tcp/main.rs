//! PCC in this machine's kernel: needs root, BPF and TUN. One test runs at a time, because the controllers' names are those
//! of the whole machine.

mod changes;
mod conditions;
mod connection;
mod many;
mod namespaces;
mod path;
mod registered;
mod support;
