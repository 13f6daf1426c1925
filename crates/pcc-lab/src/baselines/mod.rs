//! Controllers to compare with, by name, behind [`CongestionControl`].
//!
//! | name | source |
//! |---|---|
//! | `bbr1` | BBR (CACM 2017), draft-cardwell-iccrg-bbr-congestion-control-00, Linux |
//! | `bbr3` | draft-ietf-ccwg-bbr-04 |
//! | `copa` | Copa (NSDI 2018) |
//! | `pcp` | PCP (NSDI 2006) |
//! | `sprout` | Sprout (NSDI 2013) |
//! | `udt` | UDT (Computer Networks 2007), draft-gg-udt-03, UDT4 |

mod ack_aggregation;
mod bbr1;
mod bbr3;
mod copa;
mod delivery_rate;
mod pcp;
mod rounds;
mod sprout;
mod udt;
mod windowed_filter;

use pcc::CongestionControl;
use std::time::Duration;

/// All names that [`build`] knows, sorted.
pub const NAMES: &[&str] = &["bbr1", "bbr3", "copa", "pcp", "sprout", "udt"];

/// The packet size before the driver tells it, in bytes.
const INITIAL_MTU: u64 = 1200;
/// The initial window in packets (RFC 6928).
const INITIAL_WINDOW: u64 = 10;

/// A new controller called `name`, `None` for an unknown one; its random choices, if any, come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    Some(match name {
        "bbr1" => Box::new(bbr1::Bbr1::new(seed)),
        "bbr3" => Box::new(bbr3::Bbr3::new(seed)),
        "copa" => Box::new(copa::Copa::new()),
        "pcp" => Box::new(pcp::Pcp::new(seed)),
        "sprout" => Box::new(sprout::Sprout::new()),
        "udt" => Box::new(udt::Udt::new(seed)),
        _ => return None,
    })
}

/// A packet size that arithmetic can take: what UDP can carry.
fn usable_mtu(mtu: u64) -> u64 {
    mtu.clamp(1, 65_535)
}

/// A round-trip time that arithmetic can take; more than ten minutes is a clock error.
fn usable_rtt(rtt: Duration) -> Duration {
    rtt.min(Duration::from_secs(600))
}
