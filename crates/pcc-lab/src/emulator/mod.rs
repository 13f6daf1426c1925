//! Real traffic through the path model: TUN devices in network namespaces, and a thread that moves packets between them.

mod error;
mod namespace;
mod tun;

pub use error::EmulatorError;
pub use namespace::Namespace;
pub use tun::{MTU, Tun};
