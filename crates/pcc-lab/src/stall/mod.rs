//! Stalls: times in which something does nothing, such as a thread that the machine doesn't let run, or a link that is held up.

mod config;
mod lengths;
mod process;
#[cfg(test)]
mod tests;

pub use config::Stalls;
pub use lengths::Lengths;
pub(crate) use process::Stalling;
