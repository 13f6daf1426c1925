//! What the emulator needs of the machine: network namespaces, privileges, and programs that leave nothing behind.

pub mod guard;
mod namespace;
pub(crate) mod open_files;
pub mod privileges;
pub mod program;

pub use namespace::{Namespace, To};
