//! `--metrics`: the numbers of `pcc proxy status`, and how connections of programs ended, for Prometheus.

mod server;
mod text;

pub use server::Metrics;
