//! Real traffic through the path model of [`pcc_lab`], on Linux and in real time: [`emulate`] runs a case of a scenario between
//! network namespaces, [`emulator`] is what stands between them, [`relay`] does the same to UDP datagrams without root.

pub mod emulator;
mod error;
pub mod host;
pub mod quic;
pub mod realtime;
pub mod relay;
mod run;
#[cfg(test)]
mod testing;
pub mod traffic;

pub use error::EmulatorError;
pub use run::emulate;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
