//! How much a queue holds.

use crate::quantity::Quantity;

/// How much a queue holds.
///
/// The packet in service counts until its last bit has left, as in dummynet and in Linux `tbf` over `bfifo`: a limit of 1,500
/// bytes holds one full-sized packet on the wire and none behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many bytes, with the packet in service.
    Bytes(u64),
    /// At most so many packets, with the one in service.
    Packets(u64),
}

impl Limit {
    /// Whether so much is within the limit.
    pub(super) fn allows(self, packets: usize, bytes: u64) -> bool {
        match self {
            Limit::Bytes(limit) => bytes <= limit,
            Limit::Packets(limit) => packets as u64 <= limit,
        }
    }
}

/// `"75kB"` or `"50 packets"`.
impl Quantity for Limit {
    const EXPECTED: &'static str = "a queue limit such as \"75kB\" or \"50 packets\"";

    fn from_text(text: &str) -> Result<Limit, String> {
        let packets = text.trim().strip_suffix("packets").or_else(|| text.trim().strip_suffix("packet"));
        match packets {
            Some(number) => number
                .trim()
                .parse()
                .map(Limit::Packets)
                .map_err(|_| "this is no number of packets; write for example 50 packets".to_owned()),
            None => u64::from_text(text).map(Limit::Bytes),
        }
    }
}
