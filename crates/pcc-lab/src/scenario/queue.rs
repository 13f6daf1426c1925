//! The limit of a queue as a scenario writes it.

use crate::link::Limit;
use crate::quantity::Quantity;
use pcc::quantity::Units;

/// How much a queue holds, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLimit {
    /// So many bytes or packets.
    Fixed(Limit),
    /// So many times the bandwidth-delay product: what the link carries in a round trip with empty queues, in bytes.
    Bdp(f64),
}

const BDP: Units = Units { scale: |unit| (unit == "bdp").then_some(1.0), known: "BDP", example: "0.5 BDP" };

/// `"75kB"`, `"50 packets"` or `"0.5 BDP"`.
impl Quantity for QueueLimit {
    const EXPECTED: &'static str = "a queue limit such as \"75kB\", \"50 packets\" or \"0.5 BDP\"";

    fn from_text(text: &str) -> Result<QueueLimit, String> {
        match text.to_ascii_lowercase().contains("bdp") {
            true => BDP.parse(text).map(QueueLimit::Bdp).map_err(|error| error.to_string()),
            false => Limit::from_text(text).map(QueueLimit::Fixed),
        }
    }
}
