//! `--metrics`: numbers of a command that runs for long, for Prometheus.

mod page;
mod server;

pub use page::Page;
pub use server::Metrics;
