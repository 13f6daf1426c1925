//! Quantities with units, as written on the command line and in scenarios. Decimal prefixes are powers of 1000.

mod read;
mod text;

pub(crate) use read::{Quantity, read, read_option, read_or_table, read_range};
pub use text::{bytes, duration, probability, rate, share, show_bytes, show_duration, show_percent};
