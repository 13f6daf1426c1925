//! Controllers to compare with, by name, behind [`CongestionControl`].
//!
//! | name | source |
//! |---|---|
//! | `newreno` | RFC 5681 and 6582, with byte counting |
//! | `newreno-paced` | the same, evenly paced over a round trip: the papers' "paced TCP" |
//!
//! Where Linux differs from a source so that it matters for throughput, the file of the controller says so.

mod newreno;
mod persistent;
mod rtt;
mod window;

use newreno::NewReno;
use pcc::CongestionControl;
use window::{Pacing, Rule, Windowed};

/// All names that [`build`] knows, sorted.
pub const NAMES: &[&str] = &["newreno", "newreno-paced"];

/// A new controller called `name`, `None` for an unknown one; its random choices, if any, come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    let _ = seed;
    Some(match name {
        "newreno" => windowed(NewReno, Pacing::Linux),
        "newreno-paced" => windowed(NewReno, Pacing::Even),
        _ => return None,
    })
}

fn windowed<R: Rule + 'static>(rule: R, pacing: Pacing) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(rule, pacing))
}
