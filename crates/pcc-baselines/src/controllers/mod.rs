//! Controllers to compare with, by name, behind [`CongestionControl`].
//!
//! | name | source |
//! |---|---|
//! | `bbr1` | BBR (CACM 2017), draft-cardwell-iccrg-bbr-congestion-control-00, Linux |
//! | `bbr3` | draft-ietf-ccwg-bbr-04 |
//! | `bic` | Xu, Harfoush and Rhee, INFOCOM 2004, with the constants of Linux |
//! | `copa` | Copa (NSDI 2018) |
//! | `cubic`, `cubic-hystart` | RFC 9438; with HyStart++ (RFC 9406) in the first slow start |
//! | `hybla` | Caini and Firrincieli 2004, as in Linux |
//! | `illinois` | Liu, Basar and Srikant 2008 |
//! | `ledbat` | RFC 6817, by round-trip times |
//! | `newreno` | RFC 5681 and 6582, with byte counting, clocked by acknowledgements |
//! | `newreno-paced` | the same, evenly paced over a round trip: the papers' "paced TCP" |
//! | `pcp` | PCP (NSDI 2006) |
//! | `sprout` | Sprout (NSDI 2013) |
//! | `udt` | UDT (Computer Networks 2007), draft-gg-udt-03, UDT4 |
//! | `vegas` | Brakmo and Peterson 1995, as in Linux |
//! | `westwood` | Westwood+: Mascolo et al. 2001, Grieco and Mascolo 2004, as in Linux |
//!
//! The window-based ones but `newreno` and `newreno-paced` are paced as Linux paces. Where Linux differs from a source so
//! that it matters for throughput, the file of the controller says which of them it follows.

mod bbr1;
mod bbr3;
mod bic;
mod copa;
mod cubic;
mod hybla;
mod illinois;
mod ledbat;
mod newreno;
mod pcp;
mod sprout;
mod udt;
mod vegas;
mod westwood;

use crate::parts::window::{Pacing, Rule, Windowed};
use bbr1::Bbr1;
use bbr3::Bbr3;
use bic::Bic;
use copa::Copa;
use cubic::Cubic;
use hybla::Hybla;
use illinois::Illinois;
use ledbat::Ledbat;
use newreno::NewReno;
use pcc::CongestionControl;
use pcp::Pcp;
use sprout::Sprout;
use udt::Udt;
use vegas::Vegas;
use westwood::Westwood;

/// All names that [`build`] knows, sorted.
pub const NAMES: &[&str] = &[
    "bbr1",
    "bbr3",
    "bic",
    "copa",
    "cubic",
    "cubic-hystart",
    "hybla",
    "illinois",
    "ledbat",
    "newreno",
    "newreno-paced",
    "pcp",
    "sprout",
    "udt",
    "vegas",
    "westwood",
];

/// What makes a controller; its random choices, if any, come from the seed that it gets.
pub type Constructor = fn(u64) -> Box<dyn CongestionControl>;

/// A new controller called `name`, `None` for an unknown one; its random choices, if any, come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    constructor(name).map(|build| build(seed))
}

/// What makes the controllers called `name`, `None` for an unknown one.
pub fn constructor(name: &str) -> Option<Constructor> {
    Some(match name {
        "bbr1" => |seed| Box::new(Bbr1::new(seed)),
        "bbr3" => |seed| Box::new(Bbr3::new(seed)),
        "bic" => |_| windowed(Bic::default(), Pacing::Linux),
        "copa" => |_| Box::new(Copa::new()),
        "cubic" => |_| windowed(Cubic::new(), Pacing::Linux),
        "cubic-hystart" => |_| windowed(Cubic::with_hystart(), Pacing::Linux),
        "hybla" => |_| windowed(Hybla::new(), Pacing::Linux),
        "illinois" => |_| windowed(Illinois::new(), Pacing::Linux),
        "ledbat" => |_| windowed(Ledbat::new(), Pacing::Linux),
        "newreno" => |_| windowed(NewReno, Pacing::AckClocked),
        "newreno-paced" => |_| windowed(NewReno, Pacing::Even),
        "pcp" => |seed| Box::new(Pcp::new(seed)),
        "sprout" => |_| Box::new(Sprout::new()),
        "udt" => |seed| Box::new(Udt::new(seed)),
        "vegas" => |_| windowed(Vegas::new(), Pacing::Linux),
        "westwood" => |_| windowed(Westwood::default(), Pacing::Linux),
        _ => return None,
    })
}

fn windowed<R: Rule + 'static>(rule: R, pacing: Pacing) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(rule, pacing))
}
